/** Words of an attempt that is over, whatever its stream still brings: nobody hears them. */

import { expect, it } from 'vitest'
import type { Delta, Dialect } from '../../../src/agent/model/dialect.ts'
import { newTurn, type Result } from '../../../src/agent/model/turn.ts'
import { noUsage } from '../../../src/agent/model/usage.ts'
import { performer, type World } from '../../../src/durable/turn/effects.ts'

type Call = Dialect['call']

/** Only what a call of a model needs; `cancel` is what stop and redirect do. */
async function attempt(call: Call): Promise<{ readonly heard: string; readonly result: Result | undefined }> {
  const controller = new AbortController()
  let heard = ''
  const silence = { silentMs: 60_000, keptAliveMs: 60_000 }
  const world: Partial<World> = {
    dialects: { 'openai-chat': { call } },
    choose: () => ({ route: { model: 'm', dialect: 'openai-chat' }, endpoint: { id: 'k' } }) as never,
    lease: () => () => {},
    system: () => '',
    transcript: async () => [],
    toolSchemas: () => [],
    references: async () => undefined,
    defaults: () => ({}),
    limits: () => ({ first: silence, next: silence, wholeMs: 60_000, leftMs: Infinity }),
    circumstances: () =>
      ({ promptTokens: 1, contextWindow: 100, messages: 1, now: 0, stalled: false }) as ReturnType<
        World['circumstances']
      >,
    estimate: () => noUsage,
    asides: () => undefined,
    charge: async () => {},
    hear: (delta: Delta) => {
      heard += delta.text
      if (heard === 'one ') controller.abort()
    },
    heardAll: () => {},
    abortable: () => controller,
  }
  let result: Result | undefined
  const step = { do: 'call-model', tools: true } as const
  for await (const one of performer(world as World)(step, newTurn('t', 0, 1))) result = one
  await scheduler.wait(20)
  return { heard, result }
}

it('cancelled: what comes before the stream has noticed is neither heard nor kept', async () => {
  const { heard, result } = await attempt(async (_request, _endpoint, { hear, signal }) => {
    hear({ of: 'text', text: 'one ' })
    hear({ of: 'text', text: 'two' })
    throw Object.assign(new Error('aborted'), { name: 'AbortError', signal })
  })
  expect(heard).toBe('one ')
  expect(result).toMatchObject({ of: 'failure', failure: { kind: 'aborted' }, partial: 'one ' })
})

it('failed: what comes behind the failure is not heard', async () => {
  const { heard, result } = await attempt(async (_request, _endpoint, { hear }) => {
    hear({ of: 'text', text: 'half' })
    setTimeout(() => hear({ of: 'text', text: ' and late' }), 5)
    throw new Error('Network connection lost.')
  })
  expect(heard).toBe('half')
  expect(result).toMatchObject({ of: 'failure', failure: { kind: 'network' }, partial: 'half' })
})

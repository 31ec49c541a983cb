/** Tests that deltas of a cancelled or failed model call are dropped. */

import { expect, it } from 'vitest'
import type { Dialect } from '#agent/core/dialect.ts'
import { newTurn, type Result } from '#agent/core/turn.ts'
import { noUsage } from '#agent/core/usage.ts'
import {
  type BillingEffects,
  createPerform,
  type ModelEffects,
  type StreamEffects,
  type TurnEffects,
} from '#durable/turn/effects.ts'

type Call = Dialect['call']

/** Makes one model call that is aborted after its first delta `one `. */
async function attempt(call: Call): Promise<{ readonly streamed: string; readonly result: Result | undefined }> {
  const controller = new AbortController()
  let streamed = ''
  const silence = { silentMs: 60_000, keptAliveMs: 60_000 }
  const model: Partial<ModelEffects> = {
    dialects: { 'openai-chat': { call } },
    choose: () => ({ route: { model: 'm', dialect: 'openai-chat' }, endpoint: { id: 'k' } }) as never,
    lease: () => () => {},
    abortable: () => controller,
    system: () => '',
    transcript: async () => [],
    references: async () => undefined,
    defaults: () => ({}),
    repairsFor: () => ({}),
    idleLimits: () => ({ first: silence, next: silence, totalMs: 60_000, remainingMs: Infinity }),
    errorContext: () => ({ promptTokens: 1, contextWindow: 100, messages: 1, now: 0, stalled: false }) as never,
  }
  const stream: StreamEffects = {
    generate: () => undefined,
    append: ({ text }) => {
      streamed += text
      if (streamed === 'one ') controller.abort()
    },
    restart: () => {},
    end: () => {},
  }
  const billing: BillingEffects = {
    estimate: () => noUsage,
    takeSideUsage: () => undefined,
    report: () => {},
    reserve: () => ({ ok: true, release: () => {} }),
  }
  const effects = { model, stream, billing, tools: { schemas: () => [] } } as unknown as TurnEffects
  let result: Result | undefined
  const step = { do: 'call-model', tools: true } as const
  for await (const one of createPerform(effects)(step, newTurn('t', 0, 1))) result = one
  await scheduler.wait(20)
  return { streamed, result }
}

it('drops deltas that arrive between the cancel and the end of the stream', async () => {
  const { streamed, result } = await attempt(async (_request, _endpoint, { onDelta: hear, signal }) => {
    hear({ of: 'text', text: 'one ' })
    hear({ of: 'text', text: 'two' })
    throw Object.assign(new Error('aborted'), { name: 'AbortError', signal })
  })
  expect(streamed).toBe('one ')
  expect(result).toMatchObject({ of: 'failure', failure: { kind: 'aborted' }, partial: 'one ' })
})

it('drops deltas that arrive after the failure', async () => {
  const { streamed, result } = await attempt(async (_request, _endpoint, { onDelta: hear }) => {
    hear({ of: 'text', text: 'half' })
    setTimeout(() => hear({ of: 'text', text: ' and late' }), 5)
    throw new Error('Network connection lost.')
  })
  expect(streamed).toBe('half')
  expect(result).toMatchObject({ of: 'failure', failure: { kind: 'network' }, partial: 'half' })
})

/** Tests unusual answers of a provider that must be accepted, and answers that must not be. */

import { beforeAll, describe, expect, it } from 'vitest'
import { getHealth } from '#durable/models/key-pool.ts'
import { Gate, until } from '../../support/scripted-model.ts'
import { call, applyMigrations } from '../../worker/client.ts'
import { subscribe, type Run, joinDeltas } from '../../worker/listen.ts'
import { cut, provider, stream } from './bytes.ts'
import { linesOf, findInvalidCounts, createChaosSession, sendMessage, findTranscriptErrors } from './chaos-session.ts'
import { absurdUsage, done, finish, fragment, openaiChat, text, usage } from './wires/openai-chat.ts'
import { answers as answersOf } from './wire.ts'

beforeAll(applyMigrations)

const answers = (...words: readonly string[]) => answersOf(openaiChat, ...words)

describe('an answer', () => {
  it('whose call was cut off runs nothing of it', async () => {
    const scripted = provider((nth) =>
      nth ? answers('All is well.') : stream(fragment(0, 'c1', 'terminal', '{"command":"echo x >> a.txt"'), 'data: {'),
    )
    const session = await createChaosSession(scripted)
    expect(await sendMessage(session, 'go')).toMatchObject({ output: 'All is well.' })
    expect((await linesOf(session)).map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  it('of 3 MB in one line is taken whole or refused in words, and the session lives', async () => {
    const large = 'x'.repeat(3_000_000)
    const session = await createChaosSession(provider((nth) => (nth ? answers('Back again.') : answers(large))))
    const run = await sendMessage(session, 'go')
    expect(run.output?.trim().length).toBeGreaterThan(20)
    expect(run.exit_reason).not.toBe(null)
    expect(await sendMessage(session, 'still there?')).toMatchObject({ output: 'Back again.' })
    expect(findTranscriptErrors(await linesOf(session))).toEqual([])
  })

  it('whose model is changed by its user in the middle comes from the first, the next one from the second', async () => {
    const second = provider(() => answers('I am the second.'))
    const gate = new Gate()
    const first = provider(() => async (signal) => {
      await gate.waitUntilOpen(signal)
      return answers('I am the first.')(signal)
    })
    const session = await createChaosSession(first)
    const running = sendMessage(session, 'go')
    await gate.waitUntilReached()
    await call('PATCH', `/api/sessions/${session.id}`, { key: session.key, body: { model: second.id } })
    gate.open()
    expect(await running).toMatchObject({ output: 'I am the first.' })
    expect(await sendMessage(session, 'and now?')).toMatchObject({ output: 'I am the second.' })
  })

  it('that never ends, or arrives byte by byte, ends when it is stopped', async () => {
    const words = provider(() => stream({ again: text('more '), everyMs: 20 }))
    const drops = provider(() => stream({ again: ':', everyMs: 50 }))
    const runs = [words, drops].map(async (one) => {
      const session = await createChaosSession(one)
      const listener = await subscribe(session.id, undefined, session.key)
      const running = sendMessage(session, 'go')
      await until(() => (one === words ? joinDeltas(listener.events).startsWith('more more') : one.asked()))
      listener.close()
      await call('POST', `/api/sessions/${session.id}/stop`, { key: session.key })
      const { status: end, output } = await running
      return { end, output, trouble: findTranscriptErrors(await linesOf(session)) }
    })
    expect(await Promise.all(runs)).toEqual([
      { end: 'cancelled', output: expect.stringMatching(/^more more/), trouble: [] },
      { end: 'cancelled', output: expect.stringMatching(/Stopped/), trouble: [] },
    ])
  })
})

describe('counts of tokens that cannot be', () => {
  const taken = async (counts: string) => {
    const strange = stream(text('All is well.'), finish(), counts, done)
    const session = await createChaosSession(provider((nth) => (nth ? answers('Back again.') : strange)))
    const run = await sendMessage(session, 'go')
    const after = await sendMessage(session, 'still there?')
    const { body } = await call<Run>('GET', `/api/sessions/${session.id}`, { key: session.key })
    return {
      outputs: [run.output, after.output],
      odd: [...findInvalidCounts(run), ...findInvalidCounts(after), ...findInvalidCounts(body)],
    }
  }
  const outputs = ['All is well.', 'Back again.']

  it.each(absurdUsage)('change nothing about the answer: %s', async (_name, counts) =>
    expect((await taken(counts)).outputs).toEqual(outputs),
  )
  it.each(absurdUsage)('are not taken into the books: %s', async (_, counts) =>
    expect((await taken(counts)).odd).toEqual([]),
  )
})

describe('a time to wait that is absurd', () => {
  it('does not take the key out of use for years', async () => {
    const limited = openaiChat.error(429, 'Slow down.', () => ({ 'retry-after': '1e9' }))
    const session = await createChaosSession(
      provider(() => limited),
      { fallback_providers: ['demo/agent'] },
    )
    await sendMessage(session, 'go')
    const rests = Object.values(getHealth(session.tenant)).map((health) => health.until - Date.now())
    expect(Math.max(...rests)).toBeLessThanOrEqual(24 * 3_600_000)
  })
})

describe('an answer with a finish reason', () => {
  it.each([
    ['the connection breaks', cut],
    ['the usage is no JSON', 'data: {"choices":[],"usage":{"prompt_tokens":NaN}}\n\n'],
  ] as const)('is complete, though behind it %s', async (_, piece) => {
    const strange = stream(text('All is well.'), finish(), piece, done)
    const scripted = provider((nth) => (nth ? answers('All is well.') : strange))
    const run = await sendMessage(await createChaosSession(scripted), 'go')
    expect([run.output, scripted.asked()]).toEqual(['All is well.', 1])
  })
})

describe('books', () => {
  it('count a plausible usage', async () => {
    const counts = usage({ prompt_tokens: 50, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 20 } })
    const session = await createChaosSession(provider(() => stream(text('All is well.'), finish(), counts, done)))
    expect((await sendMessage(session, 'go'))['usage']).toMatchObject({ input: 30, output: 7, cached_read: 20 })
  })
})

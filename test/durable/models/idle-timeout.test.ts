/** Tests the idle timeout of model calls: its calculation, and the cancellation of the call. */

import { describe, expect, it } from 'vitest'
import { timeoutAt, idleLimits, Stalled, withIdleTimeout } from '#durable/models/idle-timeout.ts'

const usual = { reasoning: false, promptTokens: 1_000, remainingMs: Infinity }
const same = (ms: number) => ({ silentMs: ms, keptAliveMs: ms })

describe('the idle timeout of a call', () => {
  it.each([
    ['a short prompt', usual, 180_000],
    ['a long prompt', { ...usual, promptTokens: 60_000 }, 240_000],
    ['a huge prompt', { ...usual, promptTokens: 120_000 }, 300_000],
    ['a reasoning model', { ...usual, reasoning: true }, 300_000],
  ])('depends on the prompt and the model: %s; keep-alives extend it to ten minutes', (_case, around, silentMs) => {
    const limit = { silentMs, keptAliveMs: 600_000 }
    expect(idleLimits({}, around)).toEqual({ first: limit, next: limit, totalMs: 1_800_000, remainingMs: Infinity })
  })

  it('uses each setting where it is set, also for a reasoning model and under keep-alives', () => {
    const around = { reasoning: true, promptTokens: 200_000, remainingMs: Infinity }
    expect(idleLimits({ first_byte_timeout: 7 }, around).first).toEqual(same(7_000))
    expect(idleLimits({ first_byte_timeout: 7 }, around).next.silentMs).toBe(300_000)
    expect(idleLimits({ idle_timeout: 3_000 }, around).next).toEqual(same(3_000_000))
    expect(idleLimits({ idle_timeout: 3_000 }, around).totalMs).toBe(3_000_000)
  })

  it('is limited by the time of the turn; a closing call gets a minute, or what the settings say', () => {
    expect(idleLimits({}, { ...usual, remainingMs: 5_000 })).toMatchObject({
      first: { silentMs: 180_000 },
      remainingMs: 5_000,
    })
    const late = idleLimits({ idle_timeout: 90 }, { ...usual, reasoning: true, remainingMs: -1 })
    expect(late).toMatchObject({ first: same(60_000), next: same(90_000), remainingMs: Infinity })
  })

  it.each([
    ['nothing arrived', { lastPartAt: 0, lastBytesAt: 0 }, 100],
    ['a keep-alive arrived', { lastPartAt: 0, lastBytesAt: 80 }, 180],
    ['keep-alives arrived for too long', { lastPartAt: 0, lastBytesAt: 290 }, 300],
    ['a delta arrived', { lastPartAt: 290, lastBytesAt: 290 }, 390],
  ])('counts from the last activity when %s', (_case, activity, at) => {
    expect(timeoutAt({ silentMs: 100, keptAliveMs: 300 }, activity)).toBe(at)
  })
})

describe('a call', () => {
  /** Reports the activity `times` times and returns, unless it is cancelled before. */
  const streaming =
    (activity: 'answer' | 'keep-alive' | undefined, times: number) =>
    async (signal: AbortSignal, onActivity: (of?: 'answer' | 'keep-alive') => void) => {
      for (let n = 0; n < times; n++) {
        if (activity) onActivity(activity)
        await scheduler.wait(20)
        signal.throwIfAborted()
      }
      return 'done'
    }
  const endless = { totalMs: Infinity, remainingMs: Infinity }
  const limits = { first: { silentMs: 300, keptAliveMs: 600 }, next: { silentMs: 300, keptAliveMs: 600 }, ...endless }
  const run = (activity: Parameters<typeof streaming>[0], times: number, of = limits) =>
    withIdleTimeout(new AbortController(), of, streaming(activity, times))

  it('is cancelled when nothing arrives', () => expect(run(undefined, 1_000)).rejects.toBeInstanceOf(Stalled))
  it('is cancelled when only keep-alives arrive', () =>
    expect(run('keep-alive', 1_000)).rejects.toBeInstanceOf(Stalled))
  it('continues while parts of the answer arrive', async () => {
    const longLimits = { first: same(5_000), next: same(5_000), ...endless }
    expect(await run('answer', 10, longLimits)).toBe('done')
  })
  it('is cancelled when the time of the turn is over, though parts still arrive', async () => {
    const short = { first: same(60_000), next: same(60_000), totalMs: Infinity, remainingMs: 100 }
    await expect(run('answer', 3_000, short)).rejects.toMatchObject({ name: 'Stalled', isTurnTimeout: true })
    await expect(run(undefined, 1_000)).rejects.toMatchObject({ name: 'Stalled', isTurnTimeout: false })
  })
  it('uses the timeout between parts after the first part', async () => {
    const startedAt = Date.now()
    const once = async (signal: AbortSignal, onActivity: () => void) => {
      onActivity()
      await new Promise((_, fail) => signal.addEventListener('abort', () => fail(new Error('cancelled'))))
    }
    await expect(
      withIdleTimeout(new AbortController(), { first: same(60_000), next: same(50), ...endless }, once),
    ).rejects.toThrow(Stalled)
    expect(Date.now() - startedAt).toBeLessThan(30_000)
  })
})

/** When a call that says nothing is given up: the arithmetic, and that the clock really ends it. */

import { describe, expect, it } from 'vitest'
import { timeoutAt, idleLimits, Stalled, withIdleTimeout } from '../../../src/durable/models/idle-timeout.ts'

const usual = { reasoning: false, promptTokens: 1_000, remainingMs: Infinity }
const same = (ms: number) => ({ silentMs: ms, keptAliveMs: ms })

describe('how long a call may be silent', () => {
  it.each([
    ['a short prompt', usual, 180_000],
    ['a long prompt', { ...usual, promptTokens: 60_000 }, 240_000],
    ['a huge prompt', { ...usual, promptTokens: 120_000 }, 300_000],
    ['a model that thinks', { ...usual, reasoning: true }, 300_000],
  ])('with %s is its own time, and ten minutes under keep-alives', (_name, around, silentMs) => {
    const limit = { silentMs, keptAliveMs: 600_000 }
    expect(idleLimits({}, around)).toEqual({ first: limit, next: limit, totalMs: 1_800_000, remainingMs: Infinity })
  })

  it('is what the settings say, each by itself, even for a model that thinks, and keep-alives change nothing', () => {
    const around = { reasoning: true, promptTokens: 200_000, remainingMs: Infinity }
    expect(idleLimits({ first_byte_timeout: 7 }, around).first).toEqual(same(7_000))
    expect(idleLimits({ first_byte_timeout: 7 }, around).next.silentMs).toBe(300_000)
    expect(idleLimits({ idle_timeout: 3_000 }, around).next).toEqual(same(3_000_000))
    expect(idleLimits({ idle_timeout: 3_000 }, around).totalMs).toBe(3_000_000)
  })

  it('ends with the time of the turn; its last words have a minute, unless the settings say more', () => {
    expect(idleLimits({}, { ...usual, remainingMs: 5_000 })).toMatchObject({ first: { silentMs: 180_000 }, remainingMs: 5_000 })
    const late = idleLimits({ idle_timeout: 90 }, { ...usual, reasoning: true, remainingMs: -1 })
    expect(late).toMatchObject({ first: same(60_000), next: same(90_000), remainingMs: Infinity })
  })

  it.each([
    ['nothing came', { lastPartAt: 0, lastBytesAt: 0 }, 100],
    ['a keep-alive came', { lastPartAt: 0, lastBytesAt: 80 }, 180],
    ['keep-alives have come for too long', { lastPartAt: 0, lastBytesAt: 290 }, 300],
    ['a word came', { lastPartAt: 290, lastBytesAt: 290 }, 390],
  ])('counts from the last sign when %s', (_name, signs, at) => {
    expect(timeoutAt({ silentMs: 100, keptAliveMs: 300 }, signs)).toBe(at)
  })
})

describe('a call', () => {
  /** Gives this sign again and again until it is cancelled, or says after `times` of them that it is done. */
  const speaking =
    (sign: 'answer' | 'keep-alive' | undefined, times: number) =>
    async (signal: AbortSignal, pulse: (of?: 'answer' | 'keep-alive') => void) => {
      for (let n = 0; n < times; n++) {
        if (sign) pulse(sign)
        await scheduler.wait(20)
        signal.throwIfAborted()
      }
      return 'done'
    }
  const endless = { totalMs: Infinity, remainingMs: Infinity }
  const limits = { first: { silentMs: 300, keptAliveMs: 600 }, next: { silentMs: 300, keptAliveMs: 600 }, ...endless }
  const run = (sign: Parameters<typeof speaking>[0], times: number, of = limits) =>
    withIdleTimeout(new AbortController(), of, speaking(sign, times))

  it('is given up when nothing comes', () => expect(run(undefined, 1_000)).rejects.toBeInstanceOf(Stalled))
  it('is given up when only keep-alives come', () => expect(run('keep-alive', 1_000)).rejects.toBeInstanceOf(Stalled))
  it('goes on as long as something of the answer comes', async () => {
    const patient = { first: same(5_000), next: same(5_000), ...endless }
    expect(await run('answer', 10, patient)).toBe('done')
  })
  it('ends when the time of the turn is over, though words still come', async () => {
    const short = { first: same(60_000), next: same(60_000), totalMs: Infinity, remainingMs: 100 }
    await expect(run('answer', 3_000, short)).rejects.toMatchObject({ name: 'Stalled', isLate: true })
    await expect(run(undefined, 1_000)).rejects.toMatchObject({ name: 'Stalled', isLate: false })
  })
  it('has the shorter time of the answer from its first word on', async () => {
    const began = Date.now()
    const once = async (signal: AbortSignal, pulse: () => void) => {
      pulse()
      await new Promise((_, fail) => signal.addEventListener('abort', () => fail(new Error('cancelled'))))
    }
    await expect(
      withIdleTimeout(new AbortController(), { first: same(60_000), next: same(50), ...endless }, once),
    ).rejects.toThrow(Stalled)
    expect(Date.now() - began).toBeLessThan(30_000)
  })
})

/** How requests are taken up: a few at a time, in order, and never not at all. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

beforeEach(() => {
  vi.resetModules()
  vi.useFakeTimers({ now: 1_000_000 })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Requests by number, in the order in which they were taken up. The first `lost` die with their places. */
async function requests(lost = 0) {
  vi.spyOn(scheduler, 'wait').mockImplementation((ms) =>
    ms === 0 && lost-- > 0 ? new Promise(() => {}) : new Promise((resolve) => setTimeout(resolve, ms)),
  )
  const { pace } = await import('../../src/worker/pace.ts')
  const taken: number[] = []
  let count = 0
  const come = (many: number) => {
    for (let n = 0; n < many; n++) {
      const number = count++
      void pace(() => {}).then(() => taken.push(number))
    }
  }
  return { taken, come }
}

/** Milliseconds pass. None at all: what is ready is done, and no connection is looked at. */
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
const ready = async () => {
  for (let n = 0; n < 20; n++) await Promise.resolve()
}

const upTo = (end: number) => Array.from({ length: end }, (_, n) => n)

describe('requests that come in the same moment', () => {
  it('are taken up a few at a time, in order', async () => {
    const { taken, come } = await requests()
    come(10)
    await ready()
    expect(taken).toEqual(upTo(3))
    await pass(5)
    expect(taken).toEqual(upTo(10))
  })

  it('are more at a time when very many wait', async () => {
    const { taken, come } = await requests()
    come(323)
    await vi.advanceTimersToNextTimerAsync()
    // The first has given its place back: a sixteenth of 320 may be under way, and two of them already are.
    expect(taken).toEqual(upTo(3 + 18))
    await pass(50)
    expect(taken).toEqual(upTo(323))
  })

  it('leave their places to those that come later', async () => {
    const { taken, come } = await requests()
    come(10)
    await pass(5)
    come(4)
    await ready()
    expect(taken).toEqual(upTo(13))
    await pass(5)
    expect(taken).toEqual(upTo(14))
  })

  it('do not wait for ever for places that are not given back', async () => {
    const { taken, come } = await requests(3)
    come(8)
    await pass(200)
    expect(taken).toEqual(upTo(3))
    await pass(400)
    expect(taken).toEqual(upTo(8))
  })

  it('do not wait at all for places that were lost long ago', async () => {
    const { taken, come } = await requests(3)
    come(3)
    await pass(300)
    come(1)
    await ready()
    expect(taken).toEqual(upTo(4))
  })
})

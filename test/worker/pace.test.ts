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

const upTo = (end: number) => Array.from({ length: end }, (_, n) => n)

const forEver = () => new Promise<never>(() => {})

/** What is ready has been done. */
const ready = async () => {
  for (let n = 0; n < 50; n++) await Promise.resolve()
}

/** Requests by number, in the order in which they were taken up. Of those that lead, the first `lost` die meanwhile. */
async function requests(lost = 0) {
  let looks: (() => void)[] = []
  vi.spyOn(scheduler, 'wait').mockImplementation((ms) => {
    if (ms > 0) return new Promise((resolve) => setTimeout(resolve, ms))
    return lost-- > 0 ? forEver() : new Promise((resolve) => looks.push(resolve))
  })
  const { paced } = await import('../../src/worker/pace.ts')
  const taken: number[] = []
  let count = 0
  const come = (many: number, work: () => Promise<unknown> = forEver) => {
    for (let n = 0; n < many; n++) {
      const number = count++
      paced(() => {
        taken.push(number)
        return work()
      }).catch(() => undefined)
    }
    return ready()
  }
  /** The thread looks at its connections. */
  const look = async (times = 1) => {
    for (let n = 0; n < times; n++) {
      const now = looks
      looks = []
      for (const seen of now) seen()
      await ready()
    }
  }
  return { taken, come, look }
}

describe('requests that come in the same moment', () => {
  it('are taken up a few at a time, in order', async () => {
    const { taken, come, look } = await requests()
    await come(10)
    expect(taken).toEqual(upTo(3))
    await look()
    expect(taken).toEqual(upTo(6))
    await look(2)
    expect(taken).toEqual(upTo(10))
  })

  it('are more at a time when very many wait', async () => {
    const { taken, come, look } = await requests()
    await come(323)
    await look()
    expect(taken).toEqual(upTo(3 + 20))
    await look(100)
    expect(taken).toEqual(upTo(323))
  })

  it('let those go that come later, however long they take themselves', async () => {
    const { taken, come, look } = await requests()
    await come(3)
    await come(4)
    expect(taken).toEqual(upTo(3))
    await look(2)
    expect(taken).toEqual(upTo(7))
  })

  it('are in nobody’s way once they are answered', async () => {
    const { taken, come } = await requests()
    for (let n = 0; n < 5; n++) await come(2, () => Promise.resolve())
    expect(taken).toEqual(upTo(10))
  })

  it('do not wait for ever for one that has died', async () => {
    const { taken, come, look } = await requests(1)
    await come(20)
    await vi.advanceTimersByTimeAsync(200)
    expect(taken).toEqual(upTo(3))
    await vi.advanceTimersByTimeAsync(400)
    await look(20)
    // The one that died was to lead the others.
    expect(taken).toEqual(upTo(20).filter((number) => number !== 3))
  })

  it('do not wait at all for those that died long ago', async () => {
    const { taken, come } = await requests(1)
    await come(4)
    await vi.advanceTimersByTimeAsync(300)
    await come(1)
    expect(taken).toEqual([0, 1, 2, 4])
  })

  it('fail by themselves, and make room', async () => {
    const { taken, come } = await requests()
    await come(3, () => Promise.reject(new Error('no')))
    await come(3)
    expect(taken).toEqual(upTo(6))
  })
})

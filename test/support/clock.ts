/** A clock that advances only when a test calls `pass`. */

import type { Timers } from '../../src/durable/platform/clock.ts'

/** Waits until all ready promises have settled. */
export const settlePromises = async (): Promise<void> => {
  for (let n = 0; n < 50; n++) await Promise.resolve()
}

export type TestClock = Timers & { readonly pass: (ms: number) => Promise<void> }

export function createTestClock(): TestClock {
  let now = 1_000_000
  let set: { readonly at: number; readonly work: () => void }[] = []
  const later = (ms: number, work: () => void) => {
    const timer = { at: now + ms, work }
    set.push(timer)
    return () => void (set = set.filter((each) => each !== timer))
  }
  /** Also runs timers that are set meanwhile, in the order of their times. */
  const pass = async (ms: number): Promise<void> => {
    const end = now + ms
    await settlePromises()
    for (;;) {
      const [next] = set.filter(({ at }) => at <= end).toSorted((one, other) => one.at - other.at)
      if (!next) break
      set = set.filter((each) => each !== next)
      now = Math.max(now, next.at)
      next.work()
      await settlePromises()
    }
    now = end
  }
  return { now: () => now, later, wait: (ms) => new Promise((resolve) => later(ms, () => resolve(undefined))), pass }
}

/** Time that passes when a test says so. */

import type { Timers } from '../../src/durable/platform/clock.ts'

/** Whatever is ready has been done. */
export const settled = async (): Promise<void> => {
  for (let n = 0; n < 50; n++) await Promise.resolve()
}

export type OwnTime = Timers & { readonly pass: (ms: number) => Promise<void> }

export function ownTime(): OwnTime {
  let now = 1_000_000
  let set: { readonly at: number; readonly work: () => void }[] = []
  const later = (ms: number, work: () => void) => {
    const timer = { at: now + ms, work }
    set.push(timer)
    return () => void (set = set.filter((each) => each !== timer))
  }
  /** Timers that are set meanwhile come due too, in their order. */
  const pass = async (ms: number): Promise<void> => {
    const end = now + ms
    await settled()
    for (;;) {
      const [next] = set.filter(({ at }) => at <= end).toSorted((one, other) => one.at - other.at)
      if (!next) break
      set = set.filter((each) => each !== next)
      now = Math.max(now, next.at)
      next.work()
      await settled()
    }
    now = end
  }
  return { now: () => now, later, wait: (ms) => new Promise((resolve) => later(ms, () => resolve(undefined))), pass }
}

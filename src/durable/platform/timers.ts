/** The platform's clock with its timers, as a port: tests own both. Milliseconds. */

import type { Clock } from '../../agent/model/clock.ts'

export type Timers = Clock & {
  readonly wait: (ms: number) => Promise<unknown>
  /** What it returns takes the timer back. */
  readonly later: (ms: number, work: () => void) => () => void
}

export const platformTimers: Timers = {
  now: Date.now,
  wait: (ms) => scheduler.wait(ms),
  later: (ms, work) => {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  },
}

/** The clock and the timers of the objects, as a port that tests replace. All times are milliseconds. */

import type { Clock, ScheduleTimer } from '#agent/core/clock.ts'

export type Timers = Clock & {
  /** Resolves after `ms`; rejects when `signal` aborts. */
  readonly wait: (ms: number, options?: { readonly signal?: AbortSignal }) => Promise<void>
  readonly schedule: ScheduleTimer
}

const platformTimers: Timers = {
  now: () => Date.now(),
  wait: (ms, options) => scheduler.wait(ms, options),
  schedule: (ms, work) => {
    const timer = setTimeout(work, ms)
    return () => clearTimeout(timer)
  },
}

let current = platformTimers

/** Every reading of the time in `src/durable` goes through here, so that no test has to wait. */
export const clock: Timers = {
  now: () => current.now(),
  wait: (ms, options) => current.wait(ms, options),
  schedule: (ms, work) => current.schedule(ms, work),
}

/** For tests: replaces the clock of this isolate; without an argument the platform's is used again. */
export function replaceClock(timers: Timers = platformTimers): void {
  current = timers
}

/**
 * Creates clocks for tests: one that advances only when a test calls `pass`, and one that `pass` moves ahead of the
 * real time.
 */

import type { Timers } from '#durable/platform/clock.ts'
import { watchFileEnd } from './file-end.ts'

/** A longer one rings at once. */
const longestTimeoutMs = 2 ** 31 - 1

/** Waits until all ready promises have settled. */
export const settlePromises = async (): Promise<void> => {
  for (let n = 0; n < 50; n++) await Promise.resolve()
}

export type TestClock = Timers & {
  readonly pass: (ms: number) => Promise<void>
  /** The number of timers that have neither fired nor been cancelled. */
  readonly pending: () => number
}

export function createTestClock(): TestClock {
  let now = 1_000_000
  let set: { readonly at: number; readonly work: () => void }[] = []
  const schedule = (ms: number, work: () => void) => {
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
  return {
    now: () => now,
    schedule,
    wait: (ms) => new Promise((resolve) => schedule(ms, () => resolve(undefined))),
    pass,
    pending: () => set.length,
  }
}

export type SkippingClock = Timers & {
  /** Moves the clock forward: timers that are due then fire within milliseconds. */
  readonly pass: (ms: number) => void
  /** The lengths of the timers that have neither fired nor been cancelled. */
  readonly pending: () => readonly number[]
}

/**
 * Runs with the real time until `pass` skips some; a frozen one stands still until then. Timers poll, so that they fire in
 * the I/O context that set them.
 */
export function createSkippingClock({ isFrozen = false } = {}): SkippingClock {
  let aheadMs = 0
  const pending = new Set<{ readonly ms: number }>()
  const createdAt = Date.now()
  const now = () => (isFrozen ? createdAt : Date.now()) + aheadMs
  const schedule = (ms: number, work: () => void) => {
    const at = now() + ms
    const timer = { ms }
    const isOver = watchFileEnd()
    let last: ReturnType<typeof setTimeout> | undefined
    const poll = setInterval(() => {
      if (isOver()) {
        // Nobody skips time any more.
        clearInterval(poll)
        last = setTimeout(ring, Math.min(at - now(), longestTimeoutMs))
      } else if (now() >= at) ring()
    }, 5)
    const ring = () => {
      cancel()
      work()
    }
    const cancel = () => {
      clearInterval(poll)
      if (last !== undefined) clearTimeout(last)
      pending.delete(timer)
    }
    pending.add(timer)
    return cancel
  }
  const wait = async (ms: number, { signal }: { readonly signal?: AbortSignal } = {}) => {
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    const cancel = schedule(ms, () => resolve(undefined))
    signal?.addEventListener('abort', () => {
      cancel()
      reject(signal.reason as Error)
    })
    await promise
  }
  return { now, schedule, wait, pass: (ms) => void (aheadMs += ms), pending: () => [...pending].map(({ ms }) => ms) }
}

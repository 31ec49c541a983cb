/**
 * Limits the computing time of a program, at one blockedMs and in total; every loop and function calls `tick`. On the
 * deployed platform the clock stands still while code computes, and the CPU limit ends it. Locally, where all sessions
 * share a thread, this guard does.
 */

import { countMemory } from './limit-built-ins.ts'
import type { ComputeLimits } from '../protocol.ts'

/** An async loop pauses after this time. */
const sliceMs = 15
/** The clock is read once per this number of calls. */
const callsPerCheck = 32
/** Estimated bytes are counted in portions of this size. */
const countedPortionBytes = 1024 * 1024

export type ProgramGuard = {
  /**
   * Returns whether the caller should pause; throws when time or memory are exceeded. `bytes` is the estimated
   * allocation of the surrounding code.
   */
  readonly tick: (bytes: number) => boolean
  readonly pause: () => Promise<void>
  /** Must be called after an await on something outside, which has yielded the thread. */
  readonly markYielded: () => void
  /** Ends the program: from now on `tick` throws. */
  readonly end: (why: string) => void
  /** The reason of the end, if it has ended. */
  readonly endReason: () => string | undefined
}

export function createGuard({ maxBlockingMs, maxTotalMs }: ComputeLimits, onEnd: (why: string) => void): ProgramGuard {
  // Saved, because the program may replace its globals.
  const now = Date.now.bind(Date)
  const later = setTimeout
  let calls = 0
  let bytes = 0
  let open = false
  let start = 0
  let last = 0
  let used = 0
  let reason: string | undefined

  const close = (): void => {
    if (!open) return
    used += last - start
    open = false
  }
  const end = (why: string): void => {
    if (reason !== undefined) return
    reason = why
    onEnd(why)
  }
  const check = (): boolean => {
    last = now()
    if (bytes > countedPortionBytes) {
      const portion = bytes
      bytes = 0
      countMemory(portion)
    }
    if (!open) {
      open = true
      start = last
      // Runs when the thread has been yielded.
      later(close, 0)
      return false
    }
    const blockedMs = last - start
    if (blockedMs > maxBlockingMs) end(blockedMessage(maxBlockingMs))
    else if (used + blockedMs > maxTotalMs)
      end(`The code computed for ${seconds(maxTotalMs)} in total. Is there an endless loop?`)
    if (reason !== undefined) throw new Error(reason)
    return blockedMs > sliceMs
  }
  return {
    tick(estimate) {
      bytes += estimate
      if (reason !== undefined) throw new Error(reason)
      return ++calls % callsPerCheck === 0 && check()
    },
    pause: () => new Promise((resolve) => later(resolve, 0)),
    // When answers arrive in a row, timers may not run between them.
    markYielded: close,
    end,
    endReason: () => reason,
  }
}

const blockedMessage = (ms: number): string =>
  `The code computed for ${seconds(ms)} without a pause. Is there an endless loop? Loops in async code and at the top level pause by themselves.`

const seconds = (ms: number): string => `${ms / 1000} s`

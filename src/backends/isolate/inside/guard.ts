/**
 * What every loop and every function of a program asks. It counts the time that passes without the machine being let
 * go of, and in all. In production the clock stands still while code computes and the platform's limit of CPU time
 * ends it; where all sessions share one thread, this is what ends it.
 */

import { countMemory } from './limit-built-ins.ts'
import type { ComputeLimits } from '../protocol.ts'

/** A loop that may wait lets others have their turn this often. */
const SLICE_MS = 15
/** The clock is asked once in so many calls. */
const EVERY = 32
/** Bytes that are added up before they are counted. */
const PORTION = 1024 * 1024

export type Guard = {
  /**
   * True when it is time to wait for a moment; throws when there is no time or memory left. `bytes` is what the code
   * around it is estimated to take.
   */
  readonly tick: (bytes: number) => boolean
  readonly pause: () => Promise<void>
  /** The machine has been let go of: something has come from outside. */
  readonly markYielded: () => void
  /** Nothing of the program runs on: every loop and function throws this. */
  readonly end: (why: string) => void
  /** Why it has ended. */
  readonly endReason: () => string | undefined
}

export function createGuard({ stretchMs, totalMs }: ComputeLimits, onEnd: (why: string) => void): Guard {
  // What a program does to its globals must not reach these.
  const now = Date.now.bind(Date)
  const later = setTimeout
  let calls = 0
  let bytes = 0
  let open = false
  let start = 0
  let last = 0
  let used = 0
  let over: string | undefined

  const close = (): void => {
    if (!open) return
    used += last - start
    open = false
  }
  const end = (why: string): void => {
    if (over !== undefined) return
    over = why
    onEnd(why)
  }
  const look = (): boolean => {
    last = now()
    if (bytes > PORTION) {
      const portion = bytes
      bytes = 0
      countMemory(portion)
    }
    if (!open) {
      open = true
      start = last
      // Runs when the machine has been let go of.
      later(close, 0)
      return false
    }
    const stretch = last - start
    if (stretch > stretchMs)
      end(
        `The code computed for ${seconds(stretchMs)} without a pause. Is there a loop without an end? In async code and at the top level loops pause by themselves.`,
      )
    else if (used + stretch > totalMs)
      end(`The code computed for ${seconds(totalMs)} in all. Is there a loop without an end?`)
    if (over !== undefined) throw new Error(over)
    return stretch > SLICE_MS
  }
  return {
    tick(estimate) {
      bytes += estimate
      if (over !== undefined) throw new Error(over)
      return ++calls % EVERY === 0 && look()
    },
    pause: () => new Promise((resolve) => later(resolve, 0)),
    // Answers that come one upon the other leave timers no turn.
    markYielded: close,
    end,
    endReason: () => over,
  }
}

const seconds = (ms: number): string => `${ms / 1000} s`

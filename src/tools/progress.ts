/**
 * Reports what a running call prints: the end of it, redacted, at most 2 KB per interval. The interval grows after some
 * events, so that a long command stays cheap for the object and its subscribers.
 */

import type { ScheduleTimer } from '#agent/core/clock.ts'
import type { RedactionStream } from '#agent/core/secrets/redaction.ts'

const intervalMs = 200
/** After `frequentEvents` of one call. */
const slowIntervalMs = 1_000
const frequentEvents = 50
const maxDeltaChars = 2_000
/** Longer than a private key, so that the end of one whose beginning is dropped is not shown. */
const maxBufferedChars = 20_000

type ProgressOptions = {
  readonly schedule: ScheduleTimer
  readonly openRedaction: () => RedactionStream
  readonly emit: (delta: string) => void
}

type Progress = {
  readonly report: (text: string) => void
  /** Drops what is not reported yet: the result of the call has it. */
  readonly end: () => void
}

export function openProgress({ schedule, openRedaction, emit }: ProgressOptions): Progress {
  let redaction = openRedaction()
  let [buffer, omittedChars, events, isOver] = ['', 0, 0, false]
  let cancelTimer: (() => void) | undefined

  const flush = () => {
    cancelTimer = undefined
    const shown = redaction.push(buffer)
    buffer = ''
    if (shown === '') return
    events++
    const omitted = omittedChars + Math.max(0, shown.length - maxDeltaChars)
    omittedChars = 0
    emit((omitted > 0 ? `[... ${omitted} characters left out ...]\n` : '') + shown.slice(-maxDeltaChars))
  }
  const drop = (chars: number) => {
    omittedChars += chars
    buffer = buffer.slice(chars)
    // Text that it keeps does not continue in the buffer.
    redaction = openRedaction()
  }
  return {
    report(text) {
      if (isOver || text === '') return
      buffer += text
      if (buffer.length > 2 * maxBufferedChars) drop(buffer.length - maxBufferedChars)
      cancelTimer ??= schedule(events < frequentEvents ? intervalMs : slowIntervalMs, flush)
    },
    end() {
      isOver = true
      cancelTimer?.()
    },
  }
}

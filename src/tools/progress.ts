/**
 * Reports what a running call prints: the end of it, in whole lines, with secrets masked, at most 2 KB per interval.
 * The interval grows after some events, so that a long command stays cheap for the object and its subscribers.
 */

import type { ScheduleTimer } from '../agent/model/clock.ts'
import { maskSecrets } from '../agent/model/mask-secrets.ts'

const intervalMs = 200
/** After `frequentEvents` of one call. */
const slowIntervalMs = 1_000
const frequentEvents = 50
const maxDeltaChars = 2_000
/** A line without an end, such as a prompt, is reported after this many intervals. */
const maxHeldIntervals = 5
/** More than the longest secret, so that one at the cut is masked as a whole. */
const maxBufferedChars = 32_000

type Progress = {
  readonly report: (text: string) => void
  /** Drops what is not reported yet: the result of the call has it. */
  readonly end: () => void
}

export function openProgress(schedule: ScheduleTimer, emit: (delta: string) => void): Progress {
  let [buffer, omitted, events, held] = ['', 0, 0, 0]
  let cancelTimer: (() => void) | undefined
  let isOver = false

  const startTimer = () => {
    cancelTimer ??= schedule(events < frequentEvents ? intervalMs : slowIntervalMs, () => {
      cancelTimer = undefined
      flush()
    })
  }
  const flush = () => {
    const complete = completeLength(buffer)
    const isHeldTooLong = complete === 0 && ++held >= maxHeldIntervals
    const text = isHeldTooLong ? buffer : buffer.slice(0, complete)
    buffer = buffer.slice(text.length)
    if (text !== '') {
      held = 0
      events++
      emit(shorten(maskSecrets(text), omitted))
      omitted = 0
    }
    if (buffer !== '') startTimer()
  }
  return {
    report(text) {
      if (isOver || text === '') return
      buffer += text
      if (buffer.length > maxBufferedChars) {
        omitted += buffer.length - maxBufferedChars
        buffer = buffer.slice(-maxBufferedChars)
      }
      startTimer()
    },
    end() {
      isOver = true
      cancelTimer?.()
    },
  }
}

/** The characters up to the last line end. A key in several lines is complete when its last line is. */
function completeLength(text: string): number {
  const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1
  const key = text.lastIndexOf('-----BEGIN ')
  return key >= 0 && key < end && !text.slice(key, end).includes('-----END ') ? key : end
}

function shorten(text: string, omittedBefore: number): string {
  const left = omittedBefore + Math.max(0, text.length - maxDeltaChars)
  return left > 0 ? `[... ${left} characters left out ...]\n${text.slice(-maxDeltaChars)}` : text
}

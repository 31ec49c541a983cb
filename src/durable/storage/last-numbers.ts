/** Finds the numbers of the last message and event, from which a session counts on after a restart. */

import type { Turn } from '#agent/core/turn.ts'
import { isDelta } from './event-log.ts'
import type { StepRow } from './journal.ts'
import type { LastNumbers } from './session-metadata.ts'

/** More events than one model call can send: after a crash, numbers continue after all that may have been published. */
export const maxEventsPerCall = 1_000_000

/** Whether events may have been published after the last write. */
export const hasUnwrittenEvents = ({ stage }: Turn): boolean =>
  stage.at === 'calling-model' || (stage.at === 'tools' && stage.calls.some(({ state }) => state === 'running'))

/** `initial`: the last numbers that are not in the rows. */
export function lastNumbers(newest: StepRow | undefined, initial: LastNumbers = { message: 0, event: 0 }): LastNumbers {
  if (!newest) return initial
  return {
    message: Math.max(newest.entries.at(-1)?.seq ?? newest.n - 1, initial.message),
    event: Math.max(newest.events.at(-1)?.[0] ?? 0, initial.event),
  }
}

/**
 * The event through which the messages of a session show everything: of an open row, the messages have the deltas that
 * belong to one, and not what came after them.
 */
export function shownThrough(row: StepRow | undefined, last: number): number {
  const shown = row?.events.findLast((logged) => isDelta(logged) && logged[4] !== 0)?.[0]
  const first = row?.events[0]?.[0]
  return shown ?? (first === undefined ? last : first - 1)
}

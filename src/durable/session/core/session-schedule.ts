/**
 * Holds the times of a session's turn and of sending its history as one value. Every transition is a pure function;
 * `TurnControl` applies them and arms the alarm. All reasons to wake are listed in alarm.ts.
 */

import { type Armed, leaseMs, retryDelayMs } from '#durable/platform/schedule.ts'

export type SessionSchedule = {
  /** The session is being deleted: nothing may start, and only the deletion itself is retried. */
  readonly isClosing: boolean
  /** The tenant is being loaded; the driver starts after that. */
  readonly isStarting: boolean
  /** The open turn backs off until this time. */
  readonly backsOffUntil: number | undefined
  /** Whether D1 and the tenant have received everything, and when to send again if not. */
  readonly projection: { readonly isSent: boolean; readonly retryAt: number | undefined; readonly failures: number }
  readonly armed: Armed
}

/** The current state of the open turn. */
export type TurnFacts = {
  readonly hasOpenTurn: boolean
  /** Every open call waits for a pending request: there is nothing to drive. */
  readonly isSuspended: boolean
  readonly isDriving: boolean
}

export const newSchedule: SessionSchedule = {
  isClosing: false,
  isStarting: false,
  backsOffUntil: undefined,
  projection: { isSent: false, retryAt: undefined, failures: 0 },
  armed: 'unknown',
}

const withProjection = (
  schedule: SessionSchedule,
  change: Partial<SessionSchedule['projection']>,
): SessionSchedule => ({ ...schedule, projection: { ...schedule.projection, ...change } })

export const closed = (schedule: SessionSchedule): SessionSchedule => ({ ...schedule, isClosing: true })

export const starting = (schedule: SessionSchedule, isStarting: boolean): SessionSchedule => ({
  ...schedule,
  isStarting,
})

/** A turn was opened or changed: history is incomplete from now on. */
export const turnChanged = (schedule: SessionSchedule): SessionSchedule => withProjection(schedule, { isSent: false })

/** The open turn was resumed: its back-off is over. */
export const turnResumed = (schedule: SessionSchedule): SessionSchedule =>
  turnChanged({ ...schedule, backsOffUntil: undefined })

/** The driver stopped. With a time the turn backs off; without one it has ended or waits, and history is sent. */
export function driverStopped(
  schedule: SessionSchedule,
  backsOffUntil: number | undefined,
  now: number,
): SessionSchedule {
  const stopped = { ...schedule, backsOffUntil }
  if (backsOffUntil !== undefined) return stopped
  return withProjection(stopped, { retryAt: schedule.projection.retryAt ?? now + leaseMs })
}

/** Sending begins. A retry is armed in advance, in case the object is evicted meanwhile. */
export const projectionStarted = (schedule: SessionSchedule, now: number): SessionSchedule =>
  withProjection(schedule, { isSent: true, retryAt: now + retryDelayMs(schedule.projection.failures + 4) })

/** Everything arrived. A turn that began meanwhile has more to send, so its retry stays. */
export const projectionSucceeded = (schedule: SessionSchedule): SessionSchedule =>
  withProjection(schedule, { failures: 0, ...(schedule.projection.isSent && { retryAt: undefined }) })

export function projectionFailed(schedule: SessionSchedule, now: number): SessionSchedule {
  const failures = schedule.projection.failures + 1
  return withProjection(schedule, { isSent: false, failures, retryAt: now + retryDelayMs(failures) })
}

/** The report of an ended run to the tenant failed: the next projection retries it. */
export const settlementFailed = (schedule: SessionSchedule, now: number): SessionSchedule => {
  const { retryAt, failures } = schedule.projection
  return withProjection(schedule, { retryAt: retryAt ?? now + retryDelayMs(failures) })
}

/** Whether the open turn can be driven now. */
export const canDrive = ({ backsOffUntil }: SessionSchedule, { hasOpenTurn, isSuspended }: TurnFacts): boolean =>
  hasOpenTurn && backsOffUntil === undefined && !isSuspended

/** Whether nothing must be sent and no turn must be resumed. */
export const isSettled = ({ projection }: SessionSchedule, { hasOpenTurn, isSuspended }: TurnFacts): boolean =>
  projection.isSent && projection.retryAt === undefined && (!hasOpenTurn || isSuspended)

/** When a turn that runs or could run is looked at again. */
export const leaseEnd = (schedule: SessionSchedule, facts: TurnFacts, now: number): number | undefined =>
  facts.isDriving || schedule.isStarting || canDrive(schedule, facts) ? now + leaseMs : undefined

/**
 * The schedule of a session as one value: whether its turn rests, whether history is complete, and what is armed.
 * Every transition is a pure function; `Session` applies them and arms the alarm.
 */

import { type Armed, leaseMs, retryDelayMs, type Schedule } from '../platform/schedule.ts'

export type SessionSchedule = {
  /** The session is being deleted: nothing may start, and only the deletion itself is retried. */
  readonly isClosing: boolean
  /** The tenant is being read; the driver starts when it is known. */
  readonly isStarting: boolean
  /** The open turn backs off until this time. */
  readonly restsUntil: number | undefined
  /** Whether D1 and the tenant have received everything, and when to send again if not. */
  readonly projection: { readonly isSent: boolean; readonly retryAt: number | undefined; readonly failures: number }
  readonly armed: Armed
}

/** What the other parts of the session say at the moment of the decision. */
export type SessionFacts = {
  readonly hasOpenTurn: boolean
  /** Every open call waits for a pending request: there is nothing to drive. */
  readonly isSuspended: boolean
  readonly isDriving: boolean
  /** When background processes are polled next. */
  readonly processesAt: number | undefined
  /** When the outbox of the channel sends next. */
  readonly deliveryAt: number | undefined
  /** When an ephemeral session deletes itself. */
  readonly expiresAt: number | undefined
}

export type WakeReason = 'turn' | 'backOff' | 'projection' | 'processes' | 'delivery' | 'expiry'

export const newSchedule: SessionSchedule = {
  isClosing: false,
  isStarting: false,
  restsUntil: undefined,
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

/** A turn was opened or changed: history lacks something from here on. */
export const turnChanged = (schedule: SessionSchedule): SessionSchedule => withProjection(schedule, { isSent: false })

/** The open turn goes on: it does not back off any more. */
export const turnResumed = (schedule: SessionSchedule): SessionSchedule =>
  turnChanged({ ...schedule, restsUntil: undefined })

/** The driver stopped: the turn backs off until a time, or it has ended or waits and history is sent. */
export function turnRested(schedule: SessionSchedule, restsUntil: number | undefined, now: number): SessionSchedule {
  const rested = { ...schedule, restsUntil }
  if (restsUntil !== undefined) return rested
  return withProjection(rested, { retryAt: schedule.projection.retryAt ?? now + leaseMs })
}

/** Sending begins. A retry is armed in advance, for the case that the object dies meanwhile. */
export const projectionStarted = (schedule: SessionSchedule, now: number): SessionSchedule =>
  withProjection(schedule, { isSent: true, retryAt: now + retryDelayMs(schedule.projection.failures + 4) })

/** Everything arrived. A turn that began meanwhile has more to send, so its retry stays. */
export const projectionSucceeded = (schedule: SessionSchedule): SessionSchedule =>
  withProjection(schedule, { failures: 0, ...(schedule.projection.isSent && { retryAt: undefined }) })

export function projectionFailed(schedule: SessionSchedule, now: number): SessionSchedule {
  const failures = schedule.projection.failures + 1
  return withProjection(schedule, { isSent: false, failures, retryAt: now + retryDelayMs(failures) })
}

/** The tenant could not be told about an ended run: the next projection retries it. */
export const settlementFailed = (schedule: SessionSchedule, now: number): SessionSchedule => {
  const { retryAt, failures } = schedule.projection
  return withProjection(schedule, { retryAt: retryAt ?? now + retryDelayMs(failures) })
}

/** The open turn could go on now, although no driver need be running. */
export const canDrive = ({ restsUntil }: SessionSchedule, { hasOpenTurn, isSuspended }: SessionFacts): boolean =>
  hasOpenTurn && restsUntil === undefined && !isSuspended

/** There is nothing to send and no turn to resume. */
export const isSettled = ({ projection }: SessionSchedule, { hasOpenTurn, isSuspended }: SessionFacts): boolean =>
  projection.isSent && projection.retryAt === undefined && (!hasOpenTurn || isSuspended)

/** Combines all reasons to wake. A running or startable turn is looked at after one lease. */
export function wakesOf(schedule: SessionSchedule, facts: SessionFacts, now: number): Schedule<WakeReason> {
  const { isClosing, isStarting, restsUntil, projection, armed } = schedule
  const isActive = facts.isDriving || isStarting || canDrive(schedule, facts)
  const wakes = {
    turn: isActive ? now + leaseMs : undefined,
    backOff: restsUntil,
    projection: projection.retryAt,
    processes: isClosing ? undefined : facts.processesAt,
    delivery: facts.deliveryAt,
    expiry: facts.expiresAt,
  }
  return { wakes, armed }
}

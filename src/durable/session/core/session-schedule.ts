/**
 * Computes the alarm of a session from one value: the back-off of its turn, the state of its projection and the armed
 * time. Every transition is a pure function; `TurnControl` applies them and arms the alarm.
 */

import { type Armed, leaseMs, retryDelayMs, type Schedule } from '#durable/platform/schedule.ts'

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

/** The current state of the other parts of the session. */
export type SessionFacts = {
  readonly hasOpenTurn: boolean
  /** Every open call waits for a pending request: there is nothing to drive. */
  readonly isSuspended: boolean
  readonly isDriving: boolean
  /** The time of the next poll of background processes. */
  readonly processesAt: number | undefined
  /** The time at which subagents are started, asked or stopped next. */
  readonly subagentsAt: number | undefined
  /** The time at which a turn is tried with the messages that were delivered into the session. */
  readonly newsAt: number | undefined
  /** The time at which the goal, the heartbeat or the loop of the session is looked at. */
  readonly selfStartAt: number | undefined
  /** The time at which paid media are stored or followed. */
  readonly mediaAt: number | undefined
  /** The time at which an unused browser is closed. */
  readonly browserAt: number | undefined
  /** The time at which held messages of a chat take effect. */
  readonly heldAt: number | undefined
  /** The time at which the outbox of the channel sends next. */
  readonly deliveryAt: number | undefined
  /** The time at which an ephemeral session is deleted. */
  readonly expiresAt: number | undefined
}

export type WakeReason =
  | 'turn'
  | 'backOff'
  | 'projection'
  | 'processes'
  | 'news'
  | 'subagents'
  | 'selfStart'
  | 'media'
  | 'browser'
  | 'held'
  | 'delivery'
  | 'expiry'

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
export const canDrive = ({ backsOffUntil }: SessionSchedule, { hasOpenTurn, isSuspended }: SessionFacts): boolean =>
  hasOpenTurn && backsOffUntil === undefined && !isSuspended

/** Whether nothing must be sent and no turn must be resumed. */
export const isSettled = ({ projection }: SessionSchedule, { hasOpenTurn, isSuspended }: SessionFacts): boolean =>
  projection.isSent && projection.retryAt === undefined && (!hasOpenTurn || isSuspended)

/** Combines all reasons to wake. A running or startable turn is checked after one lease. */
export function wakesOf(schedule: SessionSchedule, facts: SessionFacts, now: number): Schedule<WakeReason> {
  const { isClosing, isStarting, backsOffUntil, projection, armed } = schedule
  const isActive = facts.isDriving || isStarting || canDrive(schedule, facts)
  const wakes = {
    turn: isActive ? now + leaseMs : undefined,
    backOff: backsOffUntil,
    projection: projection.retryAt,
    processes: isClosing ? undefined : facts.processesAt,
    news: isClosing ? undefined : facts.newsAt,
    subagents: isClosing ? undefined : facts.subagentsAt,
    selfStart: isClosing ? undefined : facts.selfStartAt,
    media: isClosing ? undefined : facts.mediaAt,
    browser: isClosing ? undefined : facts.browserAt,
    held: isClosing ? undefined : facts.heldAt,
    delivery: facts.deliveryAt,
    expiry: facts.expiresAt,
  }
  return { wakes, armed }
}

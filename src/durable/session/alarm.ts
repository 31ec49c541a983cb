/** Lists all reasons for which a session wakes, and handles its alarm. */

import { log } from '#agent/core/log.ts'
import { clock } from '#durable/platform/clock.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import type { ScheduledPart, ScheduledParts } from '#durable/platform/part-schedule.ts'
import { leaseMs, segmentMs } from '#durable/platform/schedule.ts'
import { continueMedia, submitWaiting } from './inject.ts'
import { releaseDue } from './release-held.ts'
import { runSelfStarted } from './self-started/run-self-started.ts'
import type { Session } from './session.ts'
import { withTimeout } from '#durable/platform/timeout.ts'

const giveUp = (): void => undefined

export type WakeReason =
  | 'expiry'
  | 'outbox'
  | 'held'
  | 'turn'
  | 'backOff'
  | 'processes'
  | 'injected'
  | 'media'
  | 'browser'
  | 'subagents'
  | 'selfStart'
  | 'projection'

/**
 * Every reason to wake: `wakeAt` says when, `wake` does what is due. An alarm wakes the parts in this order, whatever it
 * was set for, and a part does nothing before its time. Nothing new begins while the session is being deleted.
 */
export function scheduledParts(session: Session, expire: () => Promise<void>): ScheduledParts<WakeReason> {
  const unlessClosing = (wakeAt: ScheduledPart['wakeAt']) => () => (session.turns.isClosing ? undefined : wakeAt())
  const { toolRuntime } = session
  return {
    // An ephemeral session deletes itself.
    expiry: { wakeAt: () => session.expiresAt, wake: expire },
    // Messages are sent to the chat beside all other work.
    outbox: {
      wakeAt: () => session.chatOutbox.getNextWake(clock.now()),
      wake: () => session.runInBackground(session.chatOutbox.start()),
    },
    held: {
      wakeAt: unlessClosing(() => session.chatOutbox.inboundEvents.getNextWake()),
      wake: () => releaseDue(session),
    },
    // Its time is always ahead: an alarm finds out whether the driver still runs.
    turn: { wakeAt: () => session.turns.leaseEnd, wake: () => session.turns.continue() },
    backOff: { wakeAt: () => session.turns.backsOffUntil, wake: () => session.turns.resumeIfUndriven() },
    processes: {
      wakeAt: unlessClosing(() => toolRuntime.processes.getNextWake(!session.store.hasOpenTurn)),
      wake: () => toolRuntime.processes.pollAll(),
    },
    injected: { wakeAt: unlessClosing(() => session.turns.injectionAt), wake: () => submitWaiting(session) },
    media: { wakeAt: unlessClosing(() => toolRuntime.paidMedia.getNextWake()), wake: () => continueMedia(session) },
    browser: {
      wakeAt: unlessClosing(() => toolRuntime.browser.getNextWake()),
      wake: () => toolRuntime.browser.closeIdle(),
    },
    subagents: {
      wakeAt: unlessClosing(() => session.subagents.getNextWake()),
      wake: () => withTimeout(session.subagents.handleDriverStop(), leaseMs, giveUp),
    },
    selfStart: { wakeAt: unlessClosing(() => session.selfStart.getNextWake()), wake: () => runSelfStarted(session) },
    // History gets the rows of the work before it.
    projection: { wakeAt: () => session.turns.projectionRetryAt, wake: () => projectEnded(session) },
  }
}

/** Reports a failed part. The end of the object is not its failure: the runtime calls the alarm of a fresh one. */
export function reportFailure(reason: WakeReason, error: unknown): void {
  if (isOwnReset(error)) throw error
  log.error('session.work_failed', `The scheduled work of "${reason}" failed; the alarm tries it again.`, { error })
}

/** Nothing is started while the tenant is suspended. Answers still leave while it cannot be reached. */
export async function handleAlarm(session: Session): Promise<void> {
  const { parts } = session
  const now = clock.now()
  if ((session.expiresAt ?? Infinity) <= now) return parts.wake('expiry', now)
  const isTenantKnown = await session.tenant.tryLoad()
  if (isTenantKnown && (await session.access.pausesAlarm())) return
  if (!isTenantKnown) return parts.wake('outbox', now)
  for (const reason of parts.reasons)
    if (reason !== 'expiry' && !parts.isWaiting(reason, now)) await parts.wake(reason, now)
  if (session.driver.isDriving) await session.turns.rearm(clock.now())
  // The storage of a closing session may already belong to a new session.
  else if (!session.turns.isClosing) session.turns.arm()
}

/**
 * Waits for the driver and the outbox, then sends what history lacks. Waiting keeps the object in memory; before the
 * platform's limit a fresh alarm takes over.
 */
async function projectEnded({ driver, chatOutbox, turns, toolRuntime }: Session): Promise<void> {
  const processesAt = toolRuntime.processes.getNextWake(false) ?? Infinity
  const timeoutMs = Math.max(leaseMs, Math.min(segmentMs, processesAt - clock.now()))
  if (driver.isDriving) await withTimeout(driver.start(), timeoutMs, giveUp)
  if (chatOutbox.isSending) await withTimeout(chatOutbox.start(), timeoutMs, giveUp)
  if (!driver.isDriving && !turns.isSettled) await turns.project()
}

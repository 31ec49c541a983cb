/** Lists all reasons for which a session wakes, and handles its alarm. */

import { log } from '#agent/core/log.ts'
import { clock } from '#durable/platform/clock.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import type { ScheduledPart, ScheduledParts } from '#durable/platform/part-schedule.ts'
import { leaseMs, segmentMs } from '#durable/platform/schedule.ts'
import { continueMedia, submitWaiting } from './inject.ts'
import { continueDueCalls, nextServerWake } from '#durable/turn/pending-requests.ts'
import { releaseDue } from './release-held.ts'
import type { Session } from './session.ts'
import { withTimeout } from '#durable/platform/timeout.ts'
import { textIn, type ToolCallPart } from '#agent/core/message.ts'
import { isCancelled } from '#agent/core/turn.ts'
import {
  beginTick,
  endHeartbeatTick,
  endLoopTick,
  hasTasks,
  type Heartbeat,
  heartbeatFile,
  type Loop,
  maxLoopPauseMs,
  pause,
  recurringWake,
  renderHeartbeat,
  renderLoop,
  type TickEnd,
} from '#agent/schedule/recurring/recurring.ts'
import { isUnused } from './core/self-start-timer.ts'
import { refusalFor, startOwnTurn } from './self-started/start-turn.ts'

const giveUp = (): void => undefined

export type WakeReason =
  | 'expiry'
  | 'outbox'
  | 'held'
  | 'turn'
  | 'backOff'
  | 'servers'
  | 'processes'
  | 'injected'
  | 'media'
  | 'browser'
  | 'subagents'
  | 'hooks'
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
    servers: {
      wakeAt: unlessClosing(() => nextServerWake(session)),
      wake: () => continueDueCalls(session, clock.now()),
    },
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
    hooks: { wakeAt: unlessClosing(() => session.hookFeed.getNextWake()), wake: () => session.hookFeed.send() },
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
  else if (!session.turns.isClosing) session.turns.armExactly()
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

// Starts the turns that a session begins by itself while it is idle: for its goal, its loop and its heartbeat, in
// this order. What they are is stored in the metadata of the session, so that a restart changes nothing.

const retryPauseMs = 1_000
const failurePauseMs = 60_000

/** Does what is due. Called by every alarm; an error of the application is logged and tried again later. */
async function runSelfStarted(session: Session): Promise<void> {
  const { selfStart } = session
  const dueAt = selfStart.getNextWake()
  if (selfStart.isWorking || dueAt === undefined || dueAt > clock.now()) return
  selfStart.isWorking = true
  try {
    const isStarted = (await startForGoal(session)) || (await workOnRecurring(session))
    // Changes during a wait are looked at again, but not without a pause.
    if (!isStarted) selfStart.postpone(retryPauseMs)
  } catch (error) {
    if (isOwnReset(error)) throw error
    log.error('session.not_self_started', 'Starting a turn of the session itself failed.', { error })
    selfStart.postpone(failurePauseMs)
  } finally {
    selfStart.isWorking = false
  }
}

/** Its code is loaded with the first goal of an isolate. */
async function startForGoal(session: Session): Promise<boolean> {
  if (!session.meta.goal) return false
  const { workOnGoal } = await import('./self-started/goal-work.ts')
  return workOnGoal(session)
}

/** Returns whether a turn has begun. */
async function workOnRecurring(session: Session): Promise<boolean> {
  await session.ensureTenant()
  readEnds(session)
  const { loop, heartbeat } = session.meta
  if (!isUnused(session)) return false
  if (loop && isDue(loop)) return startTick(session, { kind: 'loop', one: loop })
  return heartbeat && isDue(heartbeat) ? startTick(session, { kind: 'heartbeat', one: heartbeat }) : false
}

const isDue = (one: Heartbeat | Loop): boolean => {
  const now = clock.now()
  return (recurringWake(one, now) ?? Infinity) <= now
}

/** Stores the ends of ticks whose turns are over. */
function readEnds(session: Session): void {
  const { loop, heartbeat } = session.meta
  const loopEnd = loop && endOfRun(session, loop.openRun)
  const heartbeatEnd = heartbeat && endOfRun(session, heartbeat.openRun)
  if (loopEnd || heartbeatEnd)
    session.updateMeta({
      ...(loopEnd && { loop: endLoopTick(loop, loopEnd) }),
      ...(heartbeatEnd && { heartbeat: endHeartbeatTick(heartbeat, heartbeatEnd) }),
    })
  const ended = loopEnd && session.meta.loop
  if (ended && ended.state.at !== 'active') session.chatOutbox.sendNotice(`The loop has ended: ${ended.state.reason}`)
}

function endOfRun({ journal, store }: Session, runId: string | undefined): TickEnd | undefined {
  if (runId === undefined || (store.hasOpenTurn && store.turn().id === runId)) return undefined
  const turn = journal.turnOfRun(runId)
  // Its rows are lost: it counts as failed.
  if (turn?.stage.at !== 'done') return { outcome: 'failed', answer: '', at: clock.now() }
  const { outcome, endedAt } = turn.stage
  const last = journal.entriesOfRun(runId).findLast(({ message }) => message.role === 'assistant')?.message
  return {
    outcome: isCancelled(outcome) ? 'stopped' : outcome === 'failed' ? 'failed' : 'answered',
    answer: last ? textIn(last) : '',
    at: endedAt,
  }
}

type Tick = { readonly kind: 'loop'; readonly one: Loop } | { readonly kind: 'heartbeat'; readonly one: Heartbeat }

async function startTick(session: Session, tick: Tick): Promise<boolean> {
  const { kind, one } = tick
  const refusal = refusalFor(session, one.authority)
  if (refusal !== undefined) {
    session.updateMeta({ [kind]: pause(one, refusal) })
    return false
  }
  const isOfFile = tick.kind === 'heartbeat' && tick.one.isOfFile
  if (isOfFile && !(await hasHeartbeatTasks(session))) {
    if (session.meta.heartbeat === one)
      session.updateMeta({ heartbeat: { ...tick.one, nextAt: clock.now() + tick.one.everyMs } })
    return false
  }
  const begin = (runId: string) => {
    // A person may have changed it during the wait.
    if (session.meta[kind] !== one) return undefined
    session.updateMeta({ [kind]: beginTick(one, runId, clock.now() + (one.everyMs ?? maxLoopPauseMs)) })
    const text = tick.kind === 'loop' ? renderLoop(tick.one) : renderHeartbeat(tick.one)
    return { text, ...(isOfFile && { calls: [readHeartbeatFile] }) }
  }
  return startOwnTurn(session, { authority: one.authority, source: kind, begin })
}

const readHeartbeatFile: ToolCallPart = {
  type: 'call',
  id: 'heartbeat_1',
  name: 'read_file',
  input: { path: heartbeatFile },
}

/** A file that cannot be read is tried by the turn, which sees the error. */
async function hasHeartbeatTasks({ toolRuntime }: Session): Promise<boolean> {
  const { backend } = toolRuntime
  try {
    const bytes = await backend.files.read(backend.resolve(heartbeatFile))
    return bytes !== undefined && hasTasks(new TextDecoder().decode(bytes))
  } catch (error) {
    if (isOwnReset(error)) throw error
    return true
  }
}

/**
 * Starts the turns that a session begins by itself while it is idle: for its goal, its loop and its heartbeat, in this
 * order. What they are is stored in the metadata of the session, so that a restart changes nothing.
 */

import { log } from '#agent/core/log.ts'
import { clock } from '#durable/platform/clock.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import type { Session } from '../session.ts'
import { workOnGoal } from './goal-work.ts'
import { textIn } from '#agent/core/message.ts'
import { isCancelled } from '#agent/core/turn.ts'
import {
  beginTick,
  endHeartbeatTick,
  endLoopTick,
  type Heartbeat,
  type Loop,
  maxLoopPauseMs,
  pause,
  recurringWake,
  renderHeartbeat,
  renderLoop,
  type TickEnd,
} from '#agent/schedule/recurring/recurring.ts'
import { isUnused } from '../core/self-start-timer.ts'
import { refusalFor, startOwnTurn } from './start-turn.ts'

const retryPauseMs = 1_000
const failurePauseMs = 60_000

/** Does what is due. Called by every alarm; an error of the application is logged and tried again later. */
export async function runSelfStarted(session: Session): Promise<void> {
  const { selfStart } = session
  const dueAt = selfStart.getNextWake()
  if (selfStart.isWorking || dueAt === undefined || dueAt > clock.now()) return
  selfStart.isWorking = true
  try {
    const isStarted = (await workOnGoal(session)) || (await workOnRecurring(session))
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
  const begin = (runId: string) => {
    // A person may have changed it during the wait.
    if (session.meta[kind] !== one) return undefined
    session.updateMeta({ [kind]: beginTick(one, runId, clock.now() + (one.everyMs ?? maxLoopPauseMs)) })
    return { text: tick.kind === 'loop' ? renderLoop(tick.one) : renderHeartbeat(tick.one) }
  }
  return startOwnTurn(session, { authority: one.authority, source: kind, begin })
}

/** Starts the turns of the loop and the heartbeat of a session, and reads how they ended. */

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
import { clock } from '#durable/platform/clock.ts'
import type { Session } from '../session.ts'
import { isUnused } from './self-start-timer.ts'
import { refusalFor, startOwnTurn } from './start-turn.ts'

/** Returns whether a turn has begun. */
export async function workOnRecurring(session: Session): Promise<boolean> {
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
  if (ended && ended.state.at !== 'active') session.delivery.sendNotice(`The loop has ended: ${ended.state.reason}`)
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

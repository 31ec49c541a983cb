/** Stores the goal of a session, and tells its subscribers. */

import type { Goal } from '#agent/schedule/goal/goal.ts'
import { describeGoalState } from '#agent/schedule/goal/goal-text.ts'
import { clock } from '#durable/platform/clock.ts'
import { toPlacedEvent } from '#durable/storage/event-log.ts'
import type { Session } from '../session.ts'

/** Undefined removes it. */
export function saveGoal(session: Session, goal: Goal | undefined): void {
  const before = session.meta.goal
  session.updateMeta({ goal })
  session.turns.arm()
  const runId = session.store.current()?.id
  const isNews = goal && (before?.state.at !== goal.state.at || before.turns !== goal.turns)
  if (!isNews || runId === undefined) return
  // It is not stored: who subscribes later reads the goal itself.
  const position = { seq: session.store.lastEventSeq(), at: clock.now(), runId, sessionId: session.sessionId }
  session.streams.publish([toPlacedEvent({ type: 'status', state: 'goal', detail: describeGoalState(goal) }, position)])
  if (goal.state.at === 'paused' || goal.state.at === 'done')
    session.chatOutbox.sendNotice(`Goal: ${describeGoalState(goal)}`)
}

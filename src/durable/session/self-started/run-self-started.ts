/**
 * Starts the turns that a session begins by itself while it is idle: for its goal, its loop and its heartbeat, in this
 * order. What they are is stored in the metadata of the session, so that a restart changes nothing.
 */

import { log } from '#agent/core/log.ts'
import { clock } from '#durable/platform/clock.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import type { Session } from '../session.ts'
import { workOnGoal } from './goal-work.ts'
import { workOnRecurring } from './recurring-work.ts'

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

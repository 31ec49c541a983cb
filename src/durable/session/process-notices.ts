/** Submits what background processes report as a turn of its own, once the session is idle. */

import { newRunId } from '../platform/ids.ts'
import { isOwnReset } from '../platform/object-reset.ts'
import type { Session } from './session.ts'
import { type Intake, submit } from './submit.ts'

export type ProcessNoticeCommand = { readonly kind: 'process-notice'; readonly runId: string }

/** Polls the processes and submits their notices. An unreachable host or a defect of ours is logged: other work goes on. */
export async function pollProcesses(session: Session): Promise<void> {
  try {
    await session.toolRuntime.processes.pollAll()
    await submitNotices(session)
  } catch (error) {
    if (isOwnReset(error)) throw error
    console.error('Polling the background processes failed.', error)
  }
}

/** No request has passed the limits for this turn: while they refuse it, the notices wait. */
async function submitNotices(session: Session): Promise<void> {
  const { processes } = session.toolRuntime
  if (!isIdle(session) || !processes.hasNotice()) return
  const command = { kind: 'process-notice' as const, runId: newRunId() }
  const outcome = await submit(session, command).catch(() => ({ status: 'over-limit' as const }))
  if (outcome?.status === 'over-limit') processes.postponeNotice()
}

export const processNoticeIntake = (session: Session, { runId }: ProcessNoticeCommand): Intake => ({
  runId,
  open: async () => session.exists && 'exists',
  findOutcome: () => undefined,
  // The notices count as delivered with the write that opens the turn: both are in one stretch.
  compose: () => {
    const message = isIdle(session) ? session.toolRuntime.processes.takeNotice() : undefined
    return message && { message, options: session.store.current()?.options ?? {} }
  },
  join: () => ({ runId, status: 'busy' }),
})

/** A driver that is about to stop may still open a queued turn. */
const isIdle = ({ store, driver, turns }: Session): boolean =>
  !store.hasOpenTurn && !driver.isDriving && !turns.isClosing

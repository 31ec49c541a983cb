/** Submits the notices of background processes as a message of the system. */

import type { Authority } from '../../../agent/model/authority.ts'
import type { Session } from '../session.ts'
import type { Intake } from './intake.ts'

export type ProcessNoticeCommand = {
  readonly kind: 'process-notice'
  readonly authority: Authority
  readonly runId: string
}

export const processNoticeIntake = (session: Session, { authority, runId }: ProcessNoticeCommand): Intake => ({
  runId,
  open: async () => session.exists && 'exists',
  findOutcome: () => undefined,
  // The notices count as delivered with the write that opens the turn: no await is between them.
  compose: () => {
    const message = isIdle(session) ? session.toolRuntime.processes.takeNotice() : undefined
    return message && { message, options: { ...session.store.current()?.options, authority } }
  },
  join: () => ({ runId, status: 'busy' }),
})

/** A driver that is about to stop may still open a queued turn. */
export const isIdle = ({ store, driver, turns }: Session): boolean =>
  !store.hasOpenTurn && !driver.isDriving && !turns.isClosing

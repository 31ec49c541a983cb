/** Submits a turn that the session starts by itself: for its goal, its heartbeat or its loop. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { Session } from '../session.ts'
import { isIdle } from './injected.ts'
import type { Composed, Intake } from './intake.ts'

export type SelfStartedSubmission = {
  readonly kind: 'self-started'
  readonly authority: Authority
  readonly runId: string
  /** Called in the stretch that opens the turn. Undefined when the turn is not wanted any more. */
  readonly compose: () => Composed | undefined
}

/** It never joins a turn: a message of a person goes first. */
export const selfStartedIntake = (session: Session, { runId, compose }: SelfStartedSubmission): Intake => ({
  runId,
  open: async () => {
    await session.ensureTenant()
    return session.exists && 'exists'
  },
  findOutcome: () => undefined,
  compose: () => (isIdle(session) ? compose() : undefined),
  join: () => ({ runId, status: 'busy' }),
})

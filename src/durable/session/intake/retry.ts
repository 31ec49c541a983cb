/** Submits the last turn once more: its messages are undone, and its user message starts a new run. */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { runOf } from '../views/read-session.ts'
import type { Session } from '../session.ts'
import type { Intake } from './intake.ts'
import { undoTurns } from '../core/undo.ts'

export type RetrySubmission = {
  readonly kind: 'retry'
  readonly authority: Authority
  readonly runId: string
  readonly tenant: TenantSnapshot
}

export function retryIntake(session: Session, { authority, runId, tenant }: RetrySubmission): Intake {
  return {
    runId,
    open: async () => {
      if (!session.exists && !(await session.load())) return false
      await session.tenant.update(tenant)
      return 'exists'
    },
    // A repeated request finds the run that the first one started.
    findOutcome: () => (runOf(session, runId) ? { runId, status: 'ended' } : undefined),
    compose: () => {
      const [last] = undoTurns(session, 1).turns
      // A retry runs with the rights of its caller, not of the one who began the turn.
      return last && { message: last.message, options: { ...last.options, authority } }
    },
    join: () => ({ runId, status: 'busy' }),
  }
}

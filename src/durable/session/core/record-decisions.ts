/**
 * Writes decisions about tool calls to the audit log when they are made. The tenant's object keeps them while D1 cannot be
 * reached. The last page of the turn has them too (src/db/audit-log.ts).
 */

import { log } from '#agent/core/log.ts'
import type { ApprovalDecision } from '#agent/core/permission/approval.ts'
import { createDecisionEvent } from '#agent/core/permission/audit.ts'
import { writeAuditEvents } from '#db/audit-log.ts'
import type { Session } from '../session.ts'
import { tenantStub } from '#durable/platform/addresses.ts'

type Decided = { readonly runId: string; readonly decisions: readonly ApprovalDecision[] }

export async function recordDecisions(
  { tenantId, sessionId, ownAuthority }: Session,
  env: Env,
  { runId, decisions }: Decided,
): Promise<void> {
  const events = decisions.map((decision) => createDecisionEvent(sessionId, runId, decision))
  try {
    await writeAuditEvents(env.DB, tenantId, events)
  } catch (error) {
    log.warn('audit.unwritten', 'Decisions cannot be written to the audit log; the tenant sends them later.', { error })
    await tenantStub(env, tenantId)
      .audit.record(ownAuthority, events)
      .catch((lost: unknown) => log.warn('audit.unwritten', 'Decisions are written with their turn.', { error: lost }))
  }
}

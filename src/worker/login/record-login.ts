/** Writes to the audit log that a token of an identity provider was accepted or refused. The token is no part of it. */

import { log } from '#agent/core/log.ts'
import { actorOf, createAuditEvent } from '#agent/core/permission/audit.ts'
import { writeAuditEventOnce } from '#db/audit-log.ts'
import { ownerTenant } from '#db/schema.ts'
import { clock } from '#durable/platform/clock.ts'
import type { LoginOutcome } from './verify-login.ts'

/** The same person, rules and reason have one entry in this time, however many requests there are. */
const intervalMs = 3_600_000

/** A refusal is in the log of the operator, because its token belongs to no tenant. Never rejects. */
export async function recordLogin(db: D1Database, outcome: LoginOutcome): Promise<void> {
  const at = clock.now()
  const { tenantId, ...entry } = describe(outcome)
  try {
    await writeAuditEventOnce(db, tenantId, { event: createAuditEvent({ at, ...entry }), since: at - intervalMs })
  } catch (error) {
    log.warn('audit.unwritten', 'A login cannot be written to the audit log.', { error, tenant_id: tenantId })
  }
}

function describe(outcome: LoginOutcome) {
  if (outcome.kind === 'accepted') {
    const { tenantId, principal } = outcome.identity
    const subject = (principal.kind === 'key' && principal.rules) || ''
    return { tenantId, kind: 'login.accepted', actor: actorOf(outcome.identity), subject } as const
  }
  const { reason, issuer, rules, person } = outcome
  const details = { reason, rules, ...(person !== undefined && { person }) }
  return { tenantId: ownerTenant, kind: 'login.refused', actor: '', subject: issuer, details } as const
}

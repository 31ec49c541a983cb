import { actorOf, createAuditEvent } from '#agent/core/permission/audit.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { writeAuditEvents } from '#db/audit-log.ts'
import { ownerTenant } from '#db/schema.ts'

/** Writes the entry of an action of the operator to the logs of the tenant and of the operator, before it takes place. */
export async function recordForTenant(
  env: Env,
  kind: 'tenant.changed' | 'tenant.exported' | 'tenant.restored' | 'tenant.key_rotated',
  subject: string,
  authority: Authority,
): Promise<void> {
  const event = { at: Date.now(), kind, actor: actorOf(authority), subject, details: { tenant: subject } }
  for (const log of new Set([subject, ownerTenant])) await writeAuditEvents(env.DB, log, [createAuditEvent(event)])
}

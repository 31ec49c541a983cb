/**
 * Checks that a call names the tenant of the object that it reached, and that its caller may open the session. The object's own name has the tenant, so a mistake in
 * how a caller builds that name cannot show it the data of another tenant.
 */

import { log } from '#agent/core/log.ts'
import { type Authority, hasScope, holderOf } from '#agent/core/permission/authority.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'

/** Logs a call of another tenant: it is a defect of ours or an attack. The caller answers as for an unknown session. */
export function isForTenant(
  { tenantId, sessionId }: { readonly tenantId: string; readonly sessionId: string },
  authority: Authority,
): boolean {
  if (authority.tenantId === tenantId) return true
  const { tenantId: caller, principal } = authority
  log.error('session.foreign_call', 'A session was called for another tenant.', {
    tenant_id: tenantId,
    session_id: sessionId,
    caller,
    principal,
  })
  return false
}

/**
 * Keys without the scope `read` open only sessions of their own, and people in chats those of their connection. Objects
 * call each other in the name of nobody, for work that was allowed where it began.
 */
export function mayOpen({ meta }: { readonly meta: SessionMetadata }, authority: Authority): boolean {
  const holder = holderOf(authority)
  const [kind, connection] = holder.split(':', 2)
  if (kind === 'person')
    return meta.owner === holder || meta.origin?.connection === connection || hasScope(authority, 'read')
  return kind !== 'key' || hasScope(authority, 'read') || meta.owner === holder
}

/**
 * Checks that a call names the tenant of the object that it reached. The object's own name has the tenant, so a mistake in
 * how a caller builds that name cannot show it the data of another tenant.
 */

import { log } from '#agent/core/log.ts'
import type { Authority } from '#agent/core/permission/authority.ts'

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

/**
 * Checks that a call names the tenant of the object that it reached, and has a scope for what it changes. The routes
 * check scopes too: a mistake there cannot change anything here.
 */

import type { Authority, Scope } from '#agent/core/permission/authority.ts'
import { hasScope } from '#agent/core/permission/authority.ts'
import { log } from '#agent/core/log.ts'
import { ownerTenant } from '#db/schema.ts'

/** `scopes`: one of them is enough; without any, the tenant is. `admin` is the scope of the operator, who acts on all tenants. */
export type ChangeCheck = (authority: Authority, ...scopes: readonly Scope[]) => boolean

/** A refused call is a defect of ours or an attack: it is logged. The caller answers as for an unknown thing. */
export const createChangeCheck =
  (tenantId: string): ChangeCheck =>
  (authority, ...scopes) => {
    const isHeld = (scope: Scope) =>
      hasScope(authority, scope) && authority.tenantId === (scope === 'admin' ? ownerTenant : tenantId)
    const isAllowed = scopes.length ? scopes.some(isHeld) : authority.tenantId === tenantId || isHeld('admin')
    if (isAllowed) return true
    const { tenantId: caller, principal } = authority
    log.error('tenant.refused_call', 'A tenant was called for another one or without the scope.', {
      tenant_id: tenantId,
      request_id: authority.requestId,
      caller,
      principal,
      scopes,
    })
    return false
  }

/** Throws for a call that has no answer for an unknown thing. */
export function requireOwn(mayChange: ChangeCheck, authority: Authority, ...scopes: readonly Scope[]): void {
  if (!mayChange(authority, ...scopes)) throw new Error('The call is not for this tenant.')
}

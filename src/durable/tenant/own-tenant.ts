/**
 * Checks that a call that changes something for somebody names the tenant of the object that it reached, and has a scope
 * for it. The routes check scopes too: a mistake there cannot change anything here.
 */

import type { Authority, Scope } from '../../agent/model/authority.ts'
import { hasScope } from '../../agent/model/authority.ts'
import { log } from '../../agent/model/log.ts'
import { ownerTenant } from '../../db/schema.ts'

/** `scopes`: one of them is enough. `admin` is the scope of the operator, who acts on all tenants. */
export type ChangeCheck = (authority: Authority, ...scopes: readonly Scope[]) => boolean

/** A refused call is a defect of ours or an attack: it is logged. The caller answers as for an unknown thing. */
export const createChangeCheck =
  (tenantId: string): ChangeCheck =>
  (authority, ...scopes) => {
    const isAllowed = scopes.some(
      (scope) => hasScope(authority, scope) && authority.tenantId === (scope === 'admin' ? ownerTenant : tenantId),
    )
    if (isAllowed) return true
    const { tenantId: caller, principal } = authority
    log.error('tenant.refused_call', 'A tenant was called for another one or without the scope.', {
      tenant_id: tenantId,
      caller,
      principal,
      scopes,
    })
    return false
  }

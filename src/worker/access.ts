/**
 * Refuses requests of a suspended or deleted tenant and of revoked keys, whose identity may still be cached. Resolves the
 * roles of the others as the tenant has them now.
 */

import { type Access, findRefusal, fullAccess, keyOf } from '#agent/core/permission/access.ts'
import { type Authority, isLimitedByRole } from '#agent/core/permission/authority.ts'
import { findDeletedRole, type Identity, narrowByRoles, resolveAuthority } from '#agent/core/permission/roles.ts'
import { refusalBody } from '#agent/public-api/access-refusal.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError } from './errors.ts'

export function requireAccess({ access = fullAccess }: TenantSnapshot, identity: Identity): Authority {
  refuseRevoked(access, identity)
  return requireRole(access, identity)
}

/** The authority of a connection as the roles of its tenant are now. */
export function requireLastingAccess({ access = fullAccess }: TenantSnapshot, authority: Authority): Authority {
  refuseRevoked(access, authority)
  return narrowByRoles(authority, access.roles)
}

function refuseRevoked(access: Access, holder: Pick<Identity, 'principal' | 'login'>): void {
  const { login } = holder
  const isSignedOut = login !== undefined && access.revokedKeys.includes(login)
  const refusal = isSignedOut ? 'key-revoked' : findRefusal(access, { keyId: keyOf(holder) })
  if (!refusal) return
  const { code, message } = refusalBody(refusal)
  throw new AppError(code === 'tenant_suspended' ? 403 : 401, code, message)
}

function requireRole({ roles = {} }: Access, identity: Identity): Authority {
  const authority = resolveAuthority(identity, roles)
  const deleted = authority.scopes.length ? undefined : findDeletedRole(identity, roles)
  if (deleted === undefined) return authority
  const message = `The role "${deleted}" of this key does not exist any more, so it may do nothing.`
  throw new AppError(403, 'insufficient_scope', message, { param: 'role' })
}

/** Throws a 403 where a role limits tools or risks: servers, skills and the memory of the tenant act in all sessions. */
export function requireUnlimitedRole(authority: Authority): void {
  if (!isLimitedByRole(authority)) return
  const message = 'The role of this key limits tools or risks, so it may not change this: it acts in all sessions.'
  throw new AppError(403, 'insufficient_scope', message, { param: 'role' })
}

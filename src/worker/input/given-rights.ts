/** Checks roles that requests name, and that nobody with a role gives somebody more rights than it has. */

import { type Authority, type Entitlement, type Scope, scopes } from '#agent/core/permission/authority.ts'
import { resolveRights, type Roles } from '#agent/core/permission/roles.ts'
import { mayGive } from '#agent/policy/settings/role-limits.ts'
import { createTenants } from '#db/tenants.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { expandToolsets } from '#tools/tools-for.ts'
import { AppError, invalid } from '../errors.ts'

type RequestedRights = {
  readonly tenant_id: string
  readonly scopes?: readonly Scope[] | undefined
  readonly role?: string | undefined
}

export const needsScopesOrRole = { message: 'Give scopes, a role or both.', path: ['scopes'] }

/** A role alone gives its own scopes. The scope `admin` is never given without being named. */
const withoutAdmin = scopes.filter((scope) => scope !== 'admin')

/** Returns what a new key or login rule of the tenant gets. */
export async function requireGivable(env: Env, authority: Authority, given: RequestedRights): Promise<Entitlement> {
  const { tenant_id: tenantId, scopes: named = withoutAdmin, role } = given
  const entitlement = { scopes: scopes.filter((scope) => named.includes(scope)), ...(role !== undefined && { role }) }
  if (role === undefined && !authority.entitlements) return entitlement
  const tenant = await createTenants(env.DB).get(tenantId)
  if (!tenant || tenant.status === 'deleting') throw unknownTenant(tenantId)
  const { roles = {} } = await tenantStub(env, tenantId).settings.get()
  requireKnownRole(role, roles, 'role')
  requireMayGive(authority, entitlement, { roles, param: role === undefined ? 'scopes' : 'role' })
  return entitlement
}

export const unknownTenant = (id: string): AppError =>
  new AppError(404, 'not_found', `There is no tenant ${id}.`, { param: 'tenant_id' })

export function requireKnownRole(role: string | null | undefined, roles: Roles, param: string): void {
  if (role == null || Object.hasOwn(roles, role)) return
  throw invalid(`The tenant has no role "${role}". The setting roles has them.`, param)
}

export function requireMayGive(
  authority: Authority,
  entitlement: Entitlement,
  { roles, param }: { readonly roles: Roles; readonly param: string },
): void {
  if (mayGive(authority, resolveRights([entitlement], roles), expandToolsets)) return
  throw new AppError(403, 'policy', 'This would give more rights than the role of this key has.', { param })
}

/** Decides whether a tenant and a key may still act. The tenant's object is the source of both answers. */

import type { Authority, Entitlement, Scope } from './authority.ts'
import { resolveRights, type Roles } from './roles.ts'

export type TenantStatus = 'active' | 'suspended' | 'deleting'

/** `revokedKeys`: the ids of revoked keys. `roles`: those of the settings; absent while they are not known. */
export type Access = {
  readonly status: TenantStatus
  readonly revokedKeys: readonly string[]
  readonly roles?: Roles | undefined
}

export const fullAccess: Access = { status: 'active', revokedKeys: [] }

/** Why nothing may begin any more. It is also the outcome of a turn that was stopped for this reason. */
export type AccessRefusal = 'tenant-suspended' | 'tenant-deleted' | 'key-revoked' | 'role-changed'

/** The key that a turn or a stream belongs to. `scope`: what it needs; a role may take it away. */
export type Holder = {
  /** Undefined for work that no key has started. */
  readonly keyId?: string | undefined
  readonly entitlements?: readonly Entitlement[] | undefined
  readonly scope?: Scope
}

/** The key that an authority comes from. Undefined for people in chats, processes and jobs. */
export function keyOf(authority: Pick<Authority, 'principal' | 'keyId'> | undefined): string | undefined {
  if (authority?.principal.kind !== 'key') return authority?.keyId
  const { id, rules } = authority.principal
  return rules === undefined ? id : `${rules}:${id}`
}

/** The access by an identity provider ends with any of its rules: `login_a+login_b:login:hash`. */
const partsOf = (keyId: string): readonly string[] => (keyId.split(':', 1)[0] ?? '').split('+')

/** The key or person of `keyOf`, without the rules, which the operator may change. */
export const withoutRules = (keyId: string): string => keyId.slice(keyId.indexOf(':') + 1)

export const getHolder = (authority: Authority | undefined, scope: Scope): Holder => ({
  keyId: keyOf(authority),
  entitlements: authority?.entitlements,
  scope,
})

export function findRefusal({ status, revokedKeys, roles }: Access, holder: Holder): AccessRefusal | undefined {
  if (status === 'suspended') return 'tenant-suspended'
  if (status === 'deleting') return 'tenant-deleted'
  const { keyId, entitlements, scope } = holder
  if (keyId !== undefined && partsOf(keyId).some((id) => revokedKeys.includes(id))) return 'key-revoked'
  const isTaken = roles && entitlements && scope && !resolveRights(entitlements, roles).scopes.includes(scope)
  return isTaken ? 'role-changed' : undefined
}

/** Decides whether a tenant and a key may still act. The tenant's object is the source of both answers. */

import type { Authority } from './authority.ts'

export type TenantStatus = 'active' | 'suspended' | 'deleting'

/** `revokedKeys`: the ids of revoked keys. */
export type Access = { readonly status: TenantStatus; readonly revokedKeys: readonly string[] }

export const fullAccess: Access = { status: 'active', revokedKeys: [] }

/** Why nothing may begin any more. It is also the outcome of a turn that was stopped for this reason. */
export type AccessRefusal = 'tenant-suspended' | 'tenant-deleted' | 'key-revoked'

/** The id of the key that an authority comes from. Undefined for people in chats, processes and jobs. */
export const keyOf = (authority: Pick<Authority, 'principal'> | undefined): string | undefined =>
  authority?.principal.kind === 'key' ? authority.principal.id : undefined

/** The access by an identity provider has the ids of all its rules, and the name of the person: `login_a+login_b:name`. */
const partsOf = (keyId: string): readonly string[] => (keyId.split(':', 1)[0] ?? '').split('+')

/** `keyId` is undefined for work that no key has started. */
export function findRefusal({ status, revokedKeys }: Access, keyId: string | undefined): AccessRefusal | undefined {
  if (status === 'suspended') return 'tenant-suspended'
  if (status === 'deleting') return 'tenant-deleted'
  return keyId !== undefined && partsOf(keyId).some((id) => revokedKeys.includes(id)) ? 'key-revoked' : undefined
}

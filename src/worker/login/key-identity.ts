/** Builds the identities of keys, for requests with the key itself and for those with the cookie of a login. */

import { type Entitlement, scopes } from '#agent/core/permission/authority.ts'
import type { Identity } from '#agent/core/permission/roles.ts'
import type { StoredKey } from '#db/api-keys.ts'
import { ownerTenant } from '#db/schema.ts'
import { AppError } from '../errors.ts'

/** `expiresAt`: milliseconds since 1970. */
export type VerifiedKey = { readonly identity: Identity; readonly expiresAt: number | null }

const keyIdentity = (tenantId: string, id: string, entitlement: Entitlement): Identity => ({
  tenantId,
  principal: { kind: 'key', id },
  entitlements: [entitlement],
  taint: 'none',
})

/** The id under which the admin key acts. Keys of tenants have 16 characters. */
export const adminKeyId = 'admin'
export const owner: Identity = keyIdentity(ownerTenant, adminKeyId, { scopes })

export function toVerifiedKey(found: StoredKey): VerifiedKey {
  if (found.status === 'suspended')
    throw new AppError(403, 'tenant_suspended', 'This tenant is suspended. Ask the operator of this deployment.')
  const entitlement = { scopes: found.scopes, ...(found.role !== null && { role: found.role }) }
  return { identity: keyIdentity(found.tenantId, found.keyId, entitlement), expiresAt: found.expiresAt }
}

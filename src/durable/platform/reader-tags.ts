/** Names the reader of a socket in its tags: they are all that is left of it after a hibernation. */

import { type Holder, keyOf } from '#agent/core/permission/access.ts'
import type { Authority } from '#agent/core/permission/authority.ts'

/** A socket has ten tags at most. */
const maxRoleTags = 9

/** The key, and the roles of which one has to let it read. None, if it may read without a role. */
export function listTags(authority: Authority): string[] {
  const reading = (authority.entitlements ?? []).filter(({ scopes }) => scopes.includes('read'))
  const roles = reading.flatMap(({ role }) => (role === undefined ? [] : [role]))
  const isBound = reading.length > 0 && roles.length === reading.length
  return [keyOf(authority) ?? '', ...(isBound ? [...new Set(roles)].slice(0, maxRoleTags) : [])]
}

export const createReader = ([keyId, ...roles]: readonly string[]): Holder => ({
  keyId,
  ...(roles.length > 0 && { entitlements: roles.map((role) => ({ scopes: ['read'], role })), scope: 'read' }),
})

/** The authority of a key with all scopes, for tests that call objects and tools directly. */

import { type Authority, scopes } from '#agent/core/permission/authority.ts'
import { combineAuthorities, type TurnAuthority } from '#agent/core/permission/contribution.ts'

export const ownerAuthority = (tenantId = 'default'): Authority => ({
  tenantId,
  principal: { kind: 'key', id: 'admin' },
  scopes,
  taint: 'none',
})

/** The authority of a turn of that key. */
export const ownerTurn = (tenantId = 'default'): TurnAuthority => combineAuthorities([ownerAuthority(tenantId)])

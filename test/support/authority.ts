/** The authority of a key with all scopes, for tests that call objects and tools directly. */

import { type Authority, scopes } from '#agent/core/permission/authority.ts'

export const ownerAuthority = (tenantId = 'default'): Authority => ({
  tenantId,
  principal: { kind: 'key', id: 'admin' },
  scopes,
  taint: 'none',
})

/** Renders a refused access as the body of an error. A deleted tenant and a revoked key look like an unknown key. */

import type { AccessRefusal } from '#agent/core/permission/access.ts'

export type RefusalBody = {
  readonly message: string
  readonly type: 'authentication_error' | 'permission_error'
  readonly code: 'invalid_api_key' | 'tenant_suspended' | 'insufficient_scope'
  readonly param: null
}

const invalidKey: RefusalBody = {
  message: 'Send a valid key in the header: Authorization: Bearer KEY.',
  type: 'authentication_error',
  code: 'invalid_api_key',
  param: null,
}

const bodies: Readonly<Record<AccessRefusal, RefusalBody>> = {
  'tenant-suspended': {
    message: 'This tenant is suspended. Ask the operator of this deployment.',
    type: 'permission_error',
    code: 'tenant_suspended',
    param: null,
  },
  'tenant-deleted': invalidKey,
  'key-revoked': invalidKey,
  'role-changed': {
    message: 'The role of this key does not allow this any more.',
    type: 'permission_error',
    code: 'insufficient_scope',
    param: null,
  },
}

export const refusalBody = (refusal: AccessRefusal): RefusalBody => bodies[refusal]

/** The last frame of a stream that ends because its reader may not read any more. */
export const renderRefusalEvent = (refusal: AccessRefusal): string =>
  `event: error\ndata: ${JSON.stringify({ error: refusalBody(refusal) })}\n\n`

/** The codes with which WebSockets close: 4000 and the status that a request would get. The reason is the refusal. */
export const closeCodes: Readonly<Record<AccessRefusal, number>> = {
  'tenant-suspended': 4403,
  'tenant-deleted': 4401,
  'key-revoked': 4401,
  'role-changed': 4403,
}

/** Reads the authority of the open or last turn of a session. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import type { TurnSession } from './turn-session.ts'

/**
 * A turn that was stored before there were authorities may speak in its own session and chat, and nothing else: nobody
 * knows any more what its sender might do. A role that has become narrower since the turn began counts as it is now.
 */
export function turnAuthority({ tenantId, sessionId, meta, store, tenant }: TurnSession): Authority {
  const stored = store.current()?.options.authority
  if (stored) return narrowByRoles(stored, tenant.access.roles)
  const { origin } = meta
  return {
    tenantId,
    principal: { kind: 'session', id: sessionId },
    scopes: ['chat'],
    ...(origin && { channel: { connection: origin.connection, chat: origin.chat } }),
    taint: 'none',
  }
}

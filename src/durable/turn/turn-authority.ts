/** Reads the authority of the open or last turn of a session. */

import { combineAuthorities, type TurnAuthority } from '#agent/core/permission/contribution.ts'
import { holderOf } from '#agent/core/permission/authority.ts'
import type { Turn } from '#agent/core/turn.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import type { TurnSession } from './turn-session.ts'

/**
 * A turn that was stored before there were authorities may speak in its own session and chat, and nothing else: nobody
 * knows any more what its sender might do. A role that has become narrower since the turn began counts as it is now.
 */
export function turnAuthority(session: TurnSession): TurnAuthority {
  const stored = session.store.current()?.options.authority
  return stored ? narrowByRoles(stored, session.tenant.access.roles) : leastAuthority(session)
}

/** For work of a session whose contributors are not known. */
export function leastAuthority({ tenantId, sessionId, meta }: TurnSession): TurnAuthority {
  const { origin } = meta
  return combineAuthorities([
    {
      tenantId,
      principal: { kind: 'session', id: sessionId },
      scopes: ['chat'],
      ...(origin && { channel: { connection: origin.connection, chat: origin.chat } }),
      taint: 'none',
    },
  ])
}

/** For whom a call that was allowed for the session may run again: the one who was asked, or this turn when several were. */
export function granteeOf({ id, options: { authority } }: Turn): string {
  return !authority || authority.isShared ? `run:${id}` : holderOf(authority)
}

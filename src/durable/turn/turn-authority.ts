/** Reads the authority of the open or last turn of a session. */

import type { Authority } from '../../agent/model/authority.ts'
import type { SessionMetadata } from '../storage/session-metadata.ts'
import type { SessionStore } from '../storage/store.ts'

type AuthorisedSession = {
  readonly tenantId: string
  readonly sessionId: string
  readonly meta: Pick<SessionMetadata, 'origin'>
  readonly store: Pick<SessionStore, 'current'>
}

/**
 * A turn that was stored before there were authorities may speak in its own session and chat, and nothing else: nobody
 * knows any more what its sender might do.
 */
export function turnAuthority({ tenantId, sessionId, meta, store }: AuthorisedSession): Authority {
  const stored = store.current()?.options.authority
  if (stored) return stored
  const { origin } = meta
  return {
    tenantId,
    principal: { kind: 'session', id: sessionId },
    scopes: ['chat'],
    ...(origin && { channel: { connection: origin.connection, chat: origin.chat } }),
    taint: 'none',
  }
}

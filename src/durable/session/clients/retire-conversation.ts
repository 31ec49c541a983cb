/**
 * Leaves with the tenant what tells the conversation of an expiring session from others with the same words: whoever had
 * it may come back, and must not get the session of somebody else (docs/design/continuity.md).
 */

import { log } from '#agent/core/log.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import type { Session } from '../session.ts'
import { listSaid } from './match-conversation.ts'
import { hashState } from './state-hash.ts'
import { sha256Base64 } from '#durable/platform/hash.ts'

export async function retireConversation(session: Session, env: Env): Promise<void> {
  const { store, meta, tenantId, sessionId } = session
  const turn = store.current()
  if (!meta.oneShot || !turn) return
  const texts = listSaid(session, turn).parts.flatMap(({ text }) => text || [])
  const said = await Promise.all([texts.join(''), texts.at(-1) ?? ''].map((text) => sha256Base64(text)))
  // Files on a host that is gone are never equal to others.
  const state = await hashState(session, turn.id).catch((error: unknown) => {
    log.warn('conversation.unhashed', 'The files of an expiring session cannot be read.', { error })
    return undefined
  })
  const authority = systemAuthority(tenantId, { kind: 'session', id: sessionId })
  const place = { sessionId, runId: turn.id }
  await tenantStub(env, tenantId).conversations.retire(authority, place, { said, state: state ?? '' })
}

/** Applies what a platform reports about a chat or about a message of ours. */

import { systemAuthority } from '../../agent/model/permission/authority.ts'
import type { InboundEvent } from '../../channels/channel.ts'
import { createConnections } from '../../db/channel-connections.ts'
import { forgetConnection, type LoadedConnection } from '../tenant/channels/connection.ts'
import { originOf, sessionIdOf } from './gateway.ts'

type LifecycleEvent = Extract<InboundEvent, { kind: 'lifecycle' }>

export async function acceptLifecycle(env: Env, connection: LoadedConnection, event: LifecycleEvent): Promise<void> {
  const { tenantId, settings } = connection
  if (event.change === 'moved') return moveChat(env, connection, event)
  if (event.change !== 'not-delivered') return
  const sessionId = await sessionIdOf(originOf(connection, event, event.sender.id), settings)
  const authority = systemAuthority(tenantId, { kind: 'job', id: 'delivery' })
  const session = env.SESSION.getByName(`t/${tenantId}/s/${sessionId}`)
  await session.inbound.reportUndelivered(authority, { messageId: event.messageId, outcome: event.outcome })
}

/**
 * Lets the chat go on under its new id: it keeps its sessions, and it is allowed where the old one was. The answers that
 * are on their way learn it from the platform.
 */
async function moveChat(
  env: Env,
  { id, tenantId, settings }: LoadedConnection,
  { address: { chat }, to }: Extract<LifecycleEvent, { change: 'moved' }>,
): Promise<void> {
  const { moved_chats: moved, allow_chats: allowed, free_chats: free } = settings
  if (Object.hasOwn(moved, to)) return
  const withNew = (chats: readonly string[]) => (chats.includes(chat) ? [...new Set([...chats, to])] : chats)
  const change = {
    moved_chats: { ...moved, [to]: moved[chat] ?? chat },
    allow_chats: withNew(allowed),
    free_chats: withNew(free),
  }
  await createConnections(env.DB, tenantId, `channel:${id}`).update(id, { settings: change })
  forgetConnection(id)
}

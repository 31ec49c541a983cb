/** Applies what a platform reports about a chat or about a message of ours. */

import { chatName, systemAuthority } from '#agent/core/permission/authority.ts'
import type { InboundEvent } from '#channels/channel.ts'
import { channelSettings, type ChannelSettings } from '#channels/settings.ts'
import { changeChannelSettings } from '#db/change-channel-settings.ts'
import { hasSessionOfChat } from '#db/session-directory.ts'
import { createTenantDb } from '#db/tenant-db.ts'
import { forgetConnection, type LoadedConnection } from '#durable/tenant/channels/connection.ts'
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

/** The oldest is dropped then: its chat begins a new conversation. */
const maxMovedChats = 1_000

/**
 * Lets the chat go on under its new id: it keeps its sessions, and it is allowed where the old one was. The answers that
 * are on their way learn it from the platform. Anybody can add the bot to a group, so other chats are ignored.
 */
async function moveChat(
  env: Env,
  { id, tenantId, settings }: LoadedConnection,
  { address: { chat }, to }: Extract<LifecycleEvent, { change: 'moved' }>,
): Promise<void> {
  const { moved_chats: moved, allow_chats: allowed, free_chats: free } = settings
  const isNamed = Object.hasOwn(moved, chat) || allowed.includes(chat) || free.includes(chat)
  const name = chatName({ connection: id, chat })
  if (!isNamed && !(await hasSessionOfChat(createTenantDb(env.DB, tenantId), name))) return
  const compute = (stored: object) => settingsAfterMove(channelSettings.parse(stored), chat, to)
  await changeChannelSettings(env.DB, tenantId, { id, actor: `channel:${id}`, compute })
  forgetConnection(id)
}

/** The change of the settings. Undefined when the move is stored already. */
function settingsAfterMove(
  { moved_chats: moved, allow_chats: allowed, free_chats: free }: ChannelSettings,
  chat: string,
  to: string,
): object | undefined {
  if (Object.hasOwn(moved, to)) return undefined
  const withNew = (chats: readonly string[]) => (chats.includes(chat) ? [...new Set([...chats, to])] : chats)
  const oldest = Object.keys(moved).slice(0, Math.max(0, Object.keys(moved).length + 1 - maxMovedChats))
  return {
    // An entry of null is removed.
    moved_chats: { ...Object.fromEntries(oldest.map((one) => [one, null])), [to]: moved[chat] ?? chat },
    allow_chats: withNew(allowed),
    free_chats: withNew(free),
  }
}

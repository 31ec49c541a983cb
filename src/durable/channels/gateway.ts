/**
 * Decides for whom an event of a platform acts and which session it belongs to: the person behind the sender, their
 * authority, the limits of their commands, and the session of the chat or of the person.
 */

import { type Authority, systemAuthority } from '#agent/core/permission/authority.ts'
import { resolveAuthority } from '#agent/core/permission/roles.ts'
import type { ChatOrigin } from '#agent/core/delivery.ts'
import type { InboundEvent, Sender } from '#channels/channel.ts'
import { canonicalPerson, type ChannelSettings, getEntitlement } from '#channels/settings.ts'
import { chatSessionId } from '#durable/tenant/jobs/chat-session.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { tenantStub } from '#durable/platform/addresses.ts'

/** The parts of a connection that decide about people. */
export type GatewayConnection = {
  readonly id: string
  readonly tenantId: string
  readonly channel: { readonly platform: string }
  readonly settings: ChannelSettings
}

/** The limits of the commands of a person (agent/policy/slash-command). */
export type ChatCommands = { readonly allowed: readonly string[] | null; readonly isOperator: boolean }

/**
 * The event with all ids under which the platform knows its sender, first the one that counts. A direct chat keeps its
 * session under all of them. `isStranger`: nobody has let the sender in yet.
 */
export async function resolveSender<E extends Pick<InboundEvent, 'sender' | 'address' | 'isGroup'>>(
  env: Env,
  { tenantId, channel }: GatewayConnection,
  event: E,
  isStranger: boolean,
): Promise<E> {
  const { sender, address, isGroup } = event
  if (!sender.aliases) return event
  const authority = systemAuthority(tenantId, { kind: 'job', id: 'people' })
  const given = [sender.id, ...sender.aliases]
  const { chats } = tenantStub(env, tenantId)
  const [id = sender.id, ...aliases] = await chats.resolvePerson(authority, channel.platform, given, isStranger)
  const isOther = !isGroup && address.chat === sender.id && id !== sender.id
  return { ...event, sender: { ...sender, id, aliases }, ...(isOther && { address: { ...address, chatKey: id } }) }
}

/** The id that counts for a sender, after the settings. */
export function getPerson({ settings }: Pick<GatewayConnection, 'settings'>, { id, aliases = [] }: Sender): string {
  const ids = [id, ...aliases]
  return ids.map((one) => canonicalPerson(settings, one)).find((one, at) => one !== ids[at]) ?? id
}

/** The chat as its session knows it. In a group without threads each person may have a session of their own. */
export function getOrigin(
  { id, channel, settings }: GatewayConnection,
  { isGroup, address }: Pick<InboundEvent, 'isGroup' | 'address'>,
  person: string,
): ChatOrigin {
  const isOwn = isGroup && settings.group_sessions === 'person' && address.thread === undefined
  return { connection: id, platform: channel.platform, isGroup, ...address, ...(isOwn && { person }) }
}

/** A chat that continues under another id keeps its sessions. */
export const getSessionId = (
  origin: ChatOrigin,
  { moved_chats: moved }: Pick<ChannelSettings, 'moved_chats'>,
): Promise<string> => {
  const { chat, chatKey = chat } = origin
  return chatSessionId(origin.connection, { ...origin, chatKey: moved[chatKey] ?? chatKey })
}

/** The group without its people: the place of what is said there to nobody. */
export const groupName = ({ connection, chat, thread }: ChatOrigin): string =>
  JSON.stringify([connection, chat, thread ?? null])

type GatewayPerson = {
  readonly person: string
  readonly chat: string
  readonly tenant: Pick<TenantSnapshot, 'access'>
  readonly requestId: string | undefined
}

/** A person acts in this chat only. */
export function createAuthority(
  connection: GatewayConnection,
  { person, chat, tenant, requestId }: GatewayPerson,
): Authority {
  const { id, tenantId, settings } = connection
  const isAdmin = settings.admins.includes(person)
  const identity = {
    tenantId,
    principal: { kind: 'person', connection: id, person, isAdmin },
    entitlements: [getEntitlement(settings, isAdmin)],
    channel: { connection: id, chat },
    taint: 'none',
    ...(requestId !== undefined && { requestId }),
  } as const
  return resolveAuthority(identity, tenant.access?.roles ?? {})
}

/**
 * Admins may use what operates the channel. Where the owner has named no admins, people whom the owner has named by their
 * ids may: not everybody who is let in by `*` or by a code.
 */
export const listCommands = (
  { settings: { admins, allow_users: users, commands } }: GatewayConnection,
  person: string,
): ChatCommands => ({
  allowed: commands,
  isOperator: admins.length ? admins.includes(person) : users.includes(person),
})

/** Resolves the chat that a job or a webhook names, when it is stored: it must exist on its platform. */

import type { ChatOrigin } from '#agent/core/delivery.ts'
import type { Target } from '#agent/schedule/job/targets.ts'
import { clock } from '#durable/platform/clock.ts'
import type { HomeChat } from './chats.ts'
import { loadConnection } from './connection.ts'
import { findConnection } from './find-connection.ts'
import type { ChatAddress } from '#channels/channel.ts'

export type ResolveContext = {
  readonly env: Env
  readonly tenantId: string
  readonly findHome: (platform: string) => HomeChat | undefined | Promise<HomeChat | undefined>
}

export type ResolvedChat =
  | { readonly kind: 'found'; readonly chat: ChatOrigin }
  | { readonly kind: 'unknown'; readonly detail: string }

type ChatTarget = Extract<Target, { readonly kind: 'chat' | 'home' }>

/** A platform that does not answer refuses nothing: the chat may exist. */
export async function resolveChat(context: ResolveContext, target: ChatTarget): Promise<ResolvedChat> {
  if (target.kind === 'home') return resolveHome(context, target.platform)
  const { chat, thread } = target
  const found = await findConnection(context, target.connection)
  if ('error' in found) return { kind: 'unknown', detail: found.error }
  const connection = await loadConnection(context.env, found.id, clock.now())
  if (!connection || 'refused' in connection)
    return { kind: 'unknown', detail: connection?.refused ?? 'The channel was removed.' }
  const { id, channel } = connection
  if (thread !== undefined && !channel.capabilities.threads)
    return { kind: 'unknown', detail: `${channel.platform} has no threads.` }
  const named = { chat, ...(thread !== undefined && { thread }) }
  const resolved = await channel.resolveTarget(connection, named)
  if (resolved.kind === 'unknown')
    return { kind: 'unknown', detail: `${channel.platform} has no such chat for this channel: ${resolved.detail}` }
  const { isGroup } = resolved
  const address = resolved.kind === 'found' ? resolved.address : named
  return { kind: 'found', chat: { connection: id, platform: channel.platform, ...address, isGroup } }
}

/** Whether others read along in a chat. An unknown one counts as a group, where less is shown. */
export async function isGroupChat(env: Env, connectionId: string, address: ChatAddress): Promise<boolean> {
  const connection = await loadConnection(env, connectionId, clock.now())
  if (!connection || 'refused' in connection) return true
  const resolved = await connection.channel.resolveTarget(connection, address)
  return resolved.kind === 'unknown' || resolved.isGroup
}

async function resolveHome(context: ResolveContext, platform: string): Promise<ResolvedChat> {
  const home = await context.findHome(platform)
  if (!home)
    return { kind: 'unknown', detail: `${platform} has no home chat. Send /sethome in the chat that it should be.` }
  const found = await findConnection(context, home.chat.connection)
  return 'error' in found
    ? { kind: 'unknown', detail: `The channel of the home chat of ${platform} does not exist any more.` }
    : { kind: 'found', chat: home.chat }
}

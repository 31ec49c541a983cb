/** Parses interactions of Discord: the command `/talaria` and presses of buttons. */

import * as z from 'zod'
import type { InboundEvent } from '../channel.ts'

/** The token of an interaction is valid for 15 minutes; the last seconds are left for the request. */
const tokenLifetimeMs = 14.5 * 60_000

export const discordUser = z.object({
  id: z.string(),
  username: z.string().default(''),
  global_name: z.string().nullish(),
  bot: z.boolean().optional(),
})
const option = z.object({ name: z.string(), value: z.unknown().optional() })
const interaction = z.object({
  id: z.string(),
  token: z.string(),
  type: z.int(),
  channel_id: z.string(),
  guild_id: z.string().nullish(),
  channel: z.object({ type: z.int().optional(), parent_id: z.string().nullish() }).optional(),
  member: z.object({ nick: z.string().nullish(), user: discordUser }).optional(),
  user: discordUser.optional(),
  message: z.object({ id: z.string() }).optional(),
  data: z
    .object({ custom_id: z.string().optional(), options: z.array(option).optional(), name: z.string().optional() })
    .optional(),
})
type Interaction = z.infer<typeof interaction>

/** Returns undefined for interactions of other kinds. */
export function parseInteraction(body: unknown, receivedAt: number): InboundEvent | undefined {
  const parsed = interaction.safeParse(body)
  if (!parsed.success) return undefined
  const sender = parseSender(parsed.data)
  if (!sender) return undefined
  const { id, token, type, data, message } = parsed.data
  const event = {
    ...chatOf(parsed.data),
    key: `interaction:${id}`,
    sender,
  }
  if (type === 2) {
    const replyHandle = { token, expiresAt: receivedAt + tokenLifetimeMs, isAwaited: true } as const
    return { ...event, kind: 'command', text: commandText(parsed.data) || '/help', replyHandle }
  }
  if (type !== 3 || !message || data?.custom_id === undefined) return undefined
  return { ...event, kind: 'press', pressId: token, messageId: message.id, data: data.custom_id }
}

function commandText({ data }: Interaction): string {
  const options = data?.options ?? []
  const chosen = options.find(({ name }) => name === 'text') ?? options.find(({ value }) => typeof value === 'string')
  return typeof chosen?.value === 'string' ? chosen.value.trim() : ''
}

function parseSender({ member, user }: Interaction) {
  const person = member?.user ?? user
  if (!person || person.bot) return undefined
  return { id: person.id, name: member?.nick || person.global_name || person.username || person.id }
}

function chatOf({ channel_id: id, channel, guild_id: guild }: Interaction) {
  return { address: parseAddress(id, channel), isGroup: guild !== undefined && guild !== null }
}

/** The part of a channel that tells threads from others. */
export type ChannelKind = { readonly type?: number | undefined; readonly parent_id?: string | null | undefined }

/** Threads are channels of their own. They belong to the chat in which they were begun. */
export function parseAddress(id: string, channel: ChannelKind | undefined) {
  const isThread = channel?.type !== undefined && channel.type >= 10 && channel.type <= 12
  return isThread && channel.parent_id ? { chat: channel.parent_id, thread: id } : { chat: id }
}

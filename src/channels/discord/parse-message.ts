/** Parses messages that Discord's gateway reports. */

import * as z from 'zod'
import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { InboundEvent, Quote } from '../channel.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { pick, pickList, pickText } from '../kit/pick.ts'
import { describeContent, describeForward, unreadable } from '../text/describe-forward.ts'
import { decodeContent } from './discord-markdown.ts'
import { parseAddress, type ChannelKind, discordUser } from './parse-interaction.ts'

const attachment = z.object({
  id: z.string(),
  filename: z.string().optional(),
  content_type: z.string().nullish(),
  size: z.number().optional(),
  url: z.string(),
})
const embed = z.object({
  title: z.string().nullish(),
  description: z.string().nullish(),
  url: z.string().nullish(),
  fields: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
})
/** Content that a message and a forwarded message can have. */
const contentFields = {
  content: z.string().default(''),
  flags: z.int().optional(),
  attachments: z.array(z.unknown()).default([]),
  embeds: z.array(embed).default([]).catch([]),
  components: z.array(z.unknown()).default([]).catch([]),
  sticker_items: z
    .array(z.object({ name: z.string() }))
    .default([])
    .catch([]),
  poll: z
    .object({
      question: z.object({ text: z.string().nullish() }),
      answers: z.array(z.object({ poll_media: z.object({ text: z.string().nullish() }) })).default([]),
    })
    .nullish()
    .catch(undefined),
}
const snapshot = z.object({
  message: z.object({ ...contentFields, mentions: z.array(discordUser).default([]).catch([]) }),
})
const message = z.object({
  ...contentFields,
  /** The forwarded messages. */
  message_snapshots: z.array(snapshot).default([]).catch([]),
  id: z.string(),
  channel_id: z.string(),
  guild_id: z.string().nullish(),
  type: z.int().default(0),
  author: discordUser,
  webhook_id: z.string().nullish(),
  member: z.object({ nick: z.string().nullish() }).nullish(),
  edited_timestamp: z.string().nullish(),
  mentions: z.array(discordUser).default([]),
  mention_roles: z.array(z.string()).default([]),
  referenced_message: z
    .object({
      ...contentFields,
      id: z.string(),
      author: discordUser.optional(),
      mentions: z.array(discordUser).default([]).catch([]),
      message_snapshots: z.array(snapshot).default([]).catch([]),
    })
    .nullish(),
})
type DiscordMessage = z.infer<typeof message>

const voiceMessageFlag = 1 << 13
/** An ordinary message, and an answer to one. */
const written = new Set([0, 19])

/** Returns the id of the channel in which a dispatch stands. */
export const channelIdOf = (data: unknown): string | undefined =>
  z.object({ channel_id: z.string() }).safeParse(data).data?.channel_id

type DispatchSource = {
  /** The ids under which the bot itself appears. */
  readonly bots: readonly string[]
  /** The roles that the bot has in the server. */
  readonly roles: readonly string[]
  readonly channel?: ChannelKind | undefined
}

const gatewayRequest = z.object({
  type: z.string(),
  data: z.unknown(),
  bots: z.array(z.string().regex(/^\d{1,20}$/)),
  roles: z.array(z.string().regex(/^\d{1,20}$/)).default([]),
  channel: z.object({ type: z.int().optional(), parent_id: z.string().nullish() }).optional(),
})
/** A dispatch of the gateway, as the object that keeps the socket passes it on. It never comes from outside. */
export type GatewayRequest = z.input<typeof gatewayRequest>

export function parseGatewayRequest(body: Uint8Array): readonly InboundEvent[] {
  const parsed = gatewayRequest.safeParse(parseJson(body))
  if (!parsed.success) return []
  const { type, data, ...source } = parsed.data
  const event = parseDispatch(type, data, source)
  return event ? [event] : []
}

/** Returns undefined for the bot's own messages, and for everything that is no message of a chat. */
function parseDispatch(type: string, data: unknown, source: DispatchSource): InboundEvent | undefined {
  if (type !== 'MESSAGE_CREATE' && type !== 'MESSAGE_UPDATE') return undefined
  const parsed = message.safeParse(data)
  if (!parsed.success) return undefined
  const sent = parsed.data
  const { id, author, edited_timestamp: edited } = sent
  if (source.bots.includes(author.id) || !written.has(sent.type)) return undefined
  if (type === 'MESSAGE_UPDATE' && !edited) return undefined // only a preview was added
  const content = parseContent(sent, source)
  if (!hasContent(content)) return undefined
  const event = {
    ...content,
    address: parseAddress(sent.channel_id, source.channel),
    isGroup: sent.guild_id !== undefined && sent.guild_id !== null,
    sender: parseSender(sent),
  }
  return type === 'MESSAGE_CREATE'
    ? { ...event, kind: 'message', key: id }
    : { ...event, kind: 'edit', key: `${id}:${edited}` }
}

function parseContent(sent: DiscordMessage, { bots, roles }: DispatchSource) {
  const quote = parseQuote(sent, { bots, roles })
  const hasOwnRole = sent.mention_roles.some((role) => roles.includes(role))
  return {
    messageId: sent.id,
    text: textOf(sent, { bots, roles }),
    media: [...mediaIn(sent), ...sent.message_snapshots.flatMap((one) => mediaIn(one.message))],
    mentions: [...sent.mentions.map((one) => one.id), ...sent.mention_roles, ...(hasOwnRole ? bots : [])],
    ...(quote && { quote }),
  }
}

/** A mention of the bot alone can be about the message that it answers. */
const hasContent = ({ text, media, quote }: ReturnType<typeof parseContent>): boolean =>
  Boolean(text.trim() || media.length || quote)

type OwnIds = Pick<DispatchSource, 'bots' | 'roles'>
type SnapshotMessage = z.infer<typeof snapshot>['message']

function textOf(sent: SnapshotMessage & Pick<DiscordMessage, 'message_snapshots'>, own: OwnIds): string {
  const forwarded = sent.message_snapshots.map((one) => describeForward(describe(one.message, own)))
  return [describe(sent, own), ...forwarded].filter(Boolean).join('\n')
}

/** Embeds of a written message are previews of its links. */
function describe(
  { content, mentions, embeds, components, sticker_items: stickers, poll, attachments }: SnapshotMessage,
  own: OwnIds,
): string {
  const hasOwnContent = content.trim() !== '' || attachments.length > 0 || stickers.length > 0
  return [
    decodeContent(content, mentions, own),
    ...(hasOwnContent || poll ? [] : [...embeds.map(describeEmbed), describeComponents(components)]),
    ...stickers.map(({ name }) => describeContent('sticker', name)),
    poll && describeContent('poll', poll.question.text ?? '', ...poll.answers.map((one) => one.poll_media.text ?? '')),
  ]
    .filter(Boolean)
    .join('\n')
}

/** Texts of a message that another app has laid out. */
function describeComponents(components: readonly unknown[], depth = 0): string {
  const texts = components.slice(0, 40).map((one) => {
    const inner = [...pickList(one, 'components'), pick(one, 'component')].filter((part) => part !== undefined)
    return pickText(one, 'content') ?? (depth < 4 && inner.length ? describeComponents(inner, depth + 1) : '')
  })
  return texts.filter(Boolean).join('\n') || (depth === 0 && components.length ? unreadable : '')
}

const describeEmbed = ({ title, description, url, fields }: z.infer<typeof embed>): string =>
  [title, description, ...fields.map(({ name, value }) => `${name}: ${value}`), url].filter(Boolean).join('\n')

function parseSender({ author, member, webhook_id: webhook }: DiscordMessage) {
  const isBot = author.bot === true || (webhook !== undefined && webhook !== null)
  const name = member?.nick || author.global_name || author.username || author.id
  return { id: author.id, name, ...(isBot && { isBot: true as const }) }
}

function parseQuote({ referenced_message: quoted }: DiscordMessage, own: OwnIds): Quote | undefined {
  if (!quoted) return undefined
  const { id, author, message_snapshots: forwarded } = quoted
  const content = textOf(quoted, own)
  const media = [...mediaIn(quoted), ...forwarded.flatMap((one) => mediaIn(one.message))]
  return {
    messageId: id,
    ...(author && {
      sender: {
        id: author.id,
        name: author.global_name || author.username,
        ...(author.bot && { isBot: true as const }),
      },
    }),
    ...(content && { text: content }),
    ...(media.length > 0 && { media }),
  }
}

const mediaIn = ({
  attachments,
  flags = 0,
}: Pick<DiscordMessage, 'attachments' | 'flags'>): readonly MediaReference[] =>
  attachments.flatMap((one) => parseMedia(one, flags & voiceMessageFlag))

function parseMedia(value: unknown, isVoice: number): readonly MediaReference[] {
  const parsed = attachment.safeParse(value)
  if (!parsed.success) return []
  const { url, filename: name, content_type: mime, size: bytes } = parsed.data
  return [
    {
      kind: isVoice ? 'voice' : mediaKindOf(mime ?? ''),
      reference: url,
      ...(name !== undefined && { name }),
      ...(mime && { mime }),
      ...(bytes !== undefined && { bytes }),
    },
  ]
}

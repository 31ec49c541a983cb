/** Parses the webhooks of LINE: batches of messages, postbacks and changes of membership. */

import type { MediaKind, MediaReference } from '#agent/core/media/media-reference.ts'
import type { InboundEvent, MessageContent } from '../channel.ts'
import { pick, pickList, pickNumber, pickText } from '../kit/pick.ts'
import { describeContent, unreadable } from '../text/describe-forward.ts'

/** LINE guarantees a reply token for one minute after the webhook. */
const replyMs = 50_000

export function parseEvents(body: unknown, receivedAt: number): readonly InboundEvent[] {
  const bot = pickText(body, 'destination') ?? ''
  // In standby another service answers in this chat.
  const events = pickList(body, 'events').filter((event) => pickText(event, 'mode') !== 'standby')
  return events.flatMap((event) => parseEvent(event, { bot, receivedAt }) ?? [])
}

type Delivery = { readonly bot: string; readonly receivedAt: number }

const changes = new Map<string | undefined, 'added' | 'removed'>([
  ['follow', 'added'],
  ['unfollow', 'removed'],
  ['join', 'added'],
  ['leave', 'removed'],
])

function parseEvent(event: unknown, { bot, receivedAt }: Delivery): InboundEvent | undefined {
  const type = pickText(event, 'type')
  const id = pickText(event, 'webhookEventId')
  const group = pickText(event, 'source', 'groupId') ?? pickText(event, 'source', 'roomId')
  // People of a group on a computer have no id.
  const person = pickText(event, 'source', 'userId') ?? group
  if (id === undefined || person === undefined) return undefined
  const token = pickText(event, 'replyToken')
  const source = {
    key: pickText(event, 'message', 'id') ?? id,
    address: { chat: group ?? person },
    isGroup: group !== undefined,
    sender: { id: person, name: person },
    ...(token !== undefined && { replyHandle: { token, expiresAt: receivedAt + replyMs } }),
  }
  const change = changes.get(type)
  if (change) return { ...source, kind: 'lifecycle', change }
  const data = pickText(event, 'postback', 'data')
  if (data !== undefined) return { ...source, kind: 'press', pressId: id, messageId: '', data }
  const content = type === 'message' && parseContent(pick(event, 'message'), bot)
  return content ? { ...source, kind: 'message', ...content } : undefined
}

function parseContent(message: unknown, bot: string): MessageContent | undefined {
  const messageId = pickText(message, 'id')
  if (messageId === undefined) return undefined
  const quoted = pickText(message, 'quotedMessageId')
  const albumId = pickText(message, 'imageSet', 'id')
  return {
    messageId,
    text: parseText(message),
    media: parseMedia(message, messageId),
    mentions: pickList(message, 'mention', 'mentionees').flatMap((one) =>
      isSelf(one) ? bot : (pickText(one, 'userId') ?? []),
    ),
    ...(quoted !== undefined && { quote: { messageId: quoted } }),
    ...(albumId !== undefined && { albumId }),
  }
}

const isSelf = (mentionee: unknown): boolean => pick(mentionee, 'isSelf') === true

/** Content that is neither text nor a file stands in brackets. */
function parseText(message: unknown): string {
  const get = (name: string) => pickText(message, name)
  switch (get('type')) {
    case 'text':
      return withoutOwnMention(message)
    case 'location':
      return describeContent('location', get('title'), get('address'), get('latitude'), get('longitude'))
    case 'sticker':
      return describeContent('sticker', get('text'), ...pickList(message, 'keywords').slice(0, 5).map(String))
    default:
      return mediaKinds.has(get('type')) ? '' : unreadable
  }
}

/** A mention of the bot at the beginning only addresses it. */
function withoutOwnMention(message: unknown): string {
  const text = pickText(message, 'text') ?? ''
  const indexOf = (mentionee: unknown) => pickNumber(mentionee, 'index') ?? 0
  const mentionees = pickList(message, 'mention', 'mentionees')
  const own = mentionees.find((one) => isSelf(one) && !text.slice(0, indexOf(one)).trim())
  return own ? text.slice(indexOf(own) + (pickNumber(own, 'length') ?? 0)).replace(/^[\s,:]{1,20}/, '') : text
}

const mediaKinds = new Map<string | undefined, MediaKind>([
  ['image', 'image'],
  ['video', 'video'],
  ['audio', 'voice'],
  ['file', 'document'],
])

/** The id of the message names its file, unless another server has it. */
function parseMedia(message: unknown, id: string): readonly MediaReference[] {
  const kind = mediaKinds.get(pickText(message, 'type'))
  const reference = pickText(message, 'contentProvider', 'originalContentUrl') ?? id
  const name = pickText(message, 'fileName')
  return kind ? [{ kind, reference, ...(name !== undefined && { name }) }] : []
}

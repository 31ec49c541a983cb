/** Parses the events of a Matrix room: messages, edits, and the reactions that choose a numbered answer. */

import type { MediaKind, MediaReference } from '#agent/core/media/media-reference.ts'
import type { InboundEvent, MessageContent, Quote, Sender } from '../channel.ts'
import { pick, pickList, pickNumber, pickText } from '../kit/pick.ts'
import { chosenNumber } from '../text/chosen-number.ts'
import { describeContent, unreadable } from '../text/describe-forward.ts'
import { addLinkAddresses } from '../text/link-addresses.ts'

export type MatrixRoom = {
  readonly chat: string
  readonly isGroup: boolean
  /** Display names by user. */
  readonly names: ReadonlyMap<string, string>
  /** The user of the bot. */
  readonly own: string
}

const relation = (event: unknown) => pick(event, 'content', 'm.relates_to')
const isFallback = (event: unknown) => pick(relation(event), 'is_falling_back') === true

/** The id of the event that an event edits, answers or reacts to. */
export function relatedIdOf(event: unknown): string | undefined {
  const related = relation(event)
  const type = pickText(related, 'rel_type')
  if (type === 'm.replace' || type === 'm.annotation') return pickText(related, 'event_id')
  return isFallback(event) ? undefined : pickText(related, 'm.in_reply_to', 'event_id')
}

/** `related`: the event with the id of `relatedIdOf`. */
export function parseRoomEvent(event: unknown, room: MatrixRoom, related: unknown): InboundEvent | undefined {
  const source = parseSource(event, room)
  if (!source || source.sender.id === room.own) return undefined
  if (pickText(event, 'type') === 'm.reaction') return parseReaction(event, source, { room, related })
  if (pickText(relation(event), 'rel_type') === 'm.replace') return parseEdit(event, source, { room, related })
  const content = parseContent(event, pick(event, 'content'), { messageId: source.key, room, related })
  return content && { ...source, kind: 'message', ...content }
}

function parseSource(event: unknown, room: MatrixRoom): EventSource | undefined {
  const person = pickText(event, 'sender')
  const key = pickText(event, 'event_id')
  const thread =
    pickText(relation(event), 'rel_type') === 'm.thread' ? pickText(relation(event), 'event_id') : undefined
  if (person === undefined || key === undefined) return undefined
  return {
    key,
    address: { chat: room.chat, ...(thread !== undefined && { thread }) },
    isGroup: room.isGroup,
    sender: senderOf(room, person),
  }
}

/** Homeservers let everybody send an edit of any message. */
function parseEdit(event: unknown, source: EventSource, { room, related }: Related): InboundEvent | undefined {
  const messageId = pickText(relation(event), 'event_id')
  if (messageId === undefined || pickText(related, 'sender') !== source.sender.id) return undefined
  const content = parseContent(event, pick(event, 'content', 'm.new_content'), { messageId, room, related: undefined })
  return content && { ...source, kind: 'edit', ...content }
}

const senderOf = ({ names }: MatrixRoom, id: string): Sender => ({ id, name: names.get(id) ?? id })

type EventSource = Pick<InboundEvent, 'key' | 'address' | 'isGroup' | 'sender'>
type Related = { readonly room: MatrixRoom; readonly related: unknown }

/** `1️⃣` below a question of the bot is its first choice. */
function parseReaction(event: unknown, source: EventSource, { room, related }: Related): InboundEvent | undefined {
  const isOwn = pickText(related, 'sender') === room.own
  const digit = isOwn && chosenNumber(pickText(relation(event), 'key'), pickText(related, 'content', 'body'))
  if (!digit) return undefined
  return { ...source, kind: 'message', messageId: source.key, text: digit, media: [], mentions: [room.own] }
}

type Content = Related & { readonly messageId: string }

function parseContent(
  event: unknown,
  content: unknown,
  { messageId, room, related }: Content,
): MessageContent | undefined {
  if (pickText(content, 'msgtype') === 'm.notice') return undefined
  const media = parseMedia(content)
  const text = parseText(event, content, media.length > 0)
  if (text === undefined || (!text && !media.length)) return undefined
  const html = pickText(content, 'formatted_body') ?? ''
  const named = [...html.matchAll(/https:\/\/matrix\.to\/#\/(@[^"'/?]{1,255})/g)].map(([, id = '']) => decode(id))
  const quote = parseQuote(related, room)
  return {
    messageId,
    text,
    media,
    mentions: [...pickList(content, 'm.mentions', 'user_ids').map(String), ...named],
    ...(quote && { quote }),
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function parseQuote(related: unknown, room: MatrixRoom): Quote | undefined {
  const messageId = pickText(related, 'event_id')
  const sender = pickText(related, 'sender')
  if (messageId === undefined) return undefined
  const body = pickText(related, 'content', 'body')
  return {
    messageId,
    ...(sender !== undefined && { sender: senderOf(room, sender) }),
    ...(body !== undefined && { text: withoutFallback(body) }),
  }
}

/** Older clients repeat the answered message in front of an answer. */
const withoutFallback = (body: string): string => body.replace(/^(?:> [^\n]*\n){1,200}\n?/, '')

const kinds = new Map<string | undefined, MediaKind>([
  ['m.image', 'image'],
  ['m.audio', 'audio'],
  ['m.video', 'video'],
  ['m.file', 'document'],
])

/** Undefined: an event that says nothing to the agent. */
function parseText(event: unknown, content: unknown, hasMedia: boolean): string | undefined {
  const type = pickText(event, 'type')
  const body = pickText(content, 'body') ?? ''
  if (type === 'm.sticker') return describeContent('sticker', body)
  if (type !== 'm.room.message') return isPoll(type) ? parsePoll(content) : undefined
  const msgtype = pickText(content, 'msgtype')
  if (msgtype === 'm.location') return describeContent('location', body, pickText(content, 'geo_uri'))
  if (kinds.has(msgtype)) return hasMedia ? captionOf(content) : describeContent('an encrypted file', body)
  if (msgtype === undefined || !body) return unreadable
  const isAnswer = pickText(relation(event), 'm.in_reply_to', 'event_id') !== undefined
  const html = pickText(content, 'formatted_body') ?? ''
  return addLinkAddresses(isAnswer ? withoutFallback(body) : body, html, isMention)
}

function captionOf(content: unknown): string {
  const name = pickText(content, 'filename')
  const body = pickText(content, 'body') ?? ''
  return name === undefined || name === body ? '' : body
}

const isPoll = (type: string | undefined) => type === 'm.poll.start' || type === 'org.matrix.msc3381.poll.start'

function parsePoll(content: unknown): string {
  const poll = pick(content, 'm.poll') ?? pick(content, 'org.matrix.msc3381.poll.start')
  const textOf = (part: unknown) =>
    pickText(part, 'm.text', 0, 'body') ?? pickText(part, 'm.text') ?? pickText(part, 'org.matrix.msc1767.text')
  return describeContent('poll', textOf(pick(poll, 'question')), ...pickList(poll, 'answers').map(textOf))
}

const isMention = (address: string): boolean => address.startsWith('https://matrix.to/')

function parseMedia(content: unknown): readonly MediaReference[] {
  const kind = kinds.get(pickText(content, 'msgtype'))
  const reference = pickText(content, 'url')
  if (!kind || !reference?.startsWith('mxc://')) return []
  const isVoice = kind === 'audio' && pick(content, 'org.matrix.msc3245.voice') !== undefined
  const mime = pickText(content, 'info', 'mimetype')
  const name = pickText(content, 'filename') ?? pickText(content, 'body')
  const bytes = pickNumber(content, 'info', 'size')
  return [
    {
      kind: isVoice ? 'voice' : kind,
      reference,
      ...(name !== undefined && { name }),
      ...(mime !== undefined && { mime }),
      ...(bytes !== undefined && { bytes }),
    },
  ]
}

/** Parses updates of Telegram's Bot API into inbound events. */

import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { ChatAddress, InboundEvent, MessageContent, Quote, Sender } from '../channel.ts'
import { describeContent, describeForward } from '../text/describe-forward.ts'
import {
  type FileField,
  type TelegramContent,
  type TelegramEntity,
  type TelegramFile,
  type TelegramMember,
  type TelegramMessage,
  type TelegramOrigin,
  type TelegramPress,
  type TelegramUser,
  update,
} from './update-schema.ts'

/** Returns undefined for channel posts, messages of this bot's own chat service, and unknown updates. */
export function parseUpdate(body: unknown): InboundEvent | undefined {
  const parsed = update.safeParse(body)
  if (!parsed.success) return undefined
  const { update_id: key, message: sent, edited_message: edited, callback_query: pressed } = parsed.data
  if (sent) return parseMove(sent) ?? parseMessage(key, 'message', sent)
  if (edited) return parseMessage(key, 'edit', edited)
  if (pressed) return parsePress(key, pressed)
  return parseMembership(key, parsed.data.my_chat_member)
}

function parsePress(key: string, pressed: TelegramPress): InboundEvent | undefined {
  if (!pressed.message || pressed.data === undefined || pressed.from.is_bot) return undefined
  const place = parsePlace(pressed.message)
  return {
    ...place,
    address: withDraftKey(place.address, /:~(\d{1,19})$/.exec(pressed.data)),
    kind: 'press',
    key,
    sender: parseSender(pressed.from),
    pressId: pressed.id,
    messageId: pressed.message.message_id,
    data: pressed.data,
  }
}

/** Both chats report a move; the key is the same. */
function parseMove(sent: TelegramMessage): InboundEvent | undefined {
  const { chat: here, migrate_to_chat_id: to, migrate_from_chat_id: from } = sent
  const [before, after] = to === undefined ? [from, here.id] : [here.id, to]
  if (before === undefined) return undefined
  return {
    kind: 'lifecycle',
    change: 'moved',
    to: after,
    key: `moved:${before}:${after}`,
    address: { chat: before },
    isGroup: true,
    sender: sent.from ? parseSender(sent.from) : { id: before, name: '' },
  }
}

function parseMembership(key: string, changed: TelegramMember | undefined): InboundEvent | undefined {
  if (!changed || changed.chat.type === 'channel') return undefined
  const { status } = changed.new_chat_member
  const isRemoved = status === 'left' || status === 'kicked'
  return {
    ...parsePlace(changed),
    kind: 'lifecycle',
    change: isRemoved ? 'removed' : 'added',
    key,
    sender: parseSender(changed.from),
  }
}

function parseMessage(key: string, kind: 'message' | 'edit', sent: TelegramMessage): InboundEvent | undefined {
  if (!sent.from || sent.chat.type === 'channel') return undefined
  const content = parseContent(sent)
  if (!content.text.trim() && !content.media.length) return undefined
  const place = parsePlace(sent)
  const { quote } = content
  // A reply to a draft is about the chat that the draft is for.
  const draft = !place.isGroup && quote?.sender?.isBot ? draftHeader.exec(quote.text ?? '') : null
  return {
    ...place,
    address: withDraftKey(place.address, draft),
    kind,
    key,
    sender: parseSender(sent.from),
    ...content,
  }
}

/** The first line of a draft names the chat that it is for. */
const draftHeader = /^Draft for [^\n[]{1,100} \[(\d{1,19})\]:/

const withDraftKey = (address: ChatAddress, found: RegExpExecArray | null): ChatAddress =>
  found ? { ...address, chatKey: draftKey(found[1] ?? '') } : address

/** Names the session that drafts answers to a chat. */
export const draftKey = (chat: string): string => `business:${chat}`

export function parseContent(sent: TelegramMessage): MessageContent {
  const { message_id: messageId, media_group_id: albumId } = sent
  const quote = parseQuote(sent)
  return {
    messageId,
    text: renderText(sent),
    media: parseMedia(sent),
    mentions: mentionsIn(sent),
    ...(quote && { quote }),
    ...(albumId !== undefined && { albumId }),
  }
}

type Written = {
  readonly text?: string | undefined
  readonly caption?: string | undefined
  readonly entities?: readonly TelegramEntity[] | undefined
  readonly caption_entities?: readonly TelegramEntity[] | undefined
}

/** The text or the caption, with the addresses of links behind their words. Offsets count UTF-16 units. */
function writtenText({ text, caption, entities: inText, caption_entities: inCaption }: Written): string | undefined {
  const source = text ?? caption
  if (source === undefined) return undefined
  const links = ((text === undefined ? inCaption : inText) ?? [])
    .flatMap(({ type, offset, length, url }) =>
      type === 'text_link' && url !== undefined ? [{ start: offset, end: offset + length, url }] : [],
    )
    .toSorted((one, other) => other.end - one.end)
  return links.reduce(
    (shown, { start, end, url }) =>
      shown.slice(start, end).trim() === url ? shown : `${shown.slice(0, end)} (${url})${shown.slice(end)}`,
    source,
  )
}

/** The text with notes for content that is neither text nor a file. */
function renderText(sent: TelegramMessage): string {
  const text = renderContent(sent)
  const isEmpty = text.trim() === '' && parseMedia(sent).length === 0
  return sent.forward_origin && !isEmpty ? describeForward(text, originOf(sent.forward_origin)) : text
}

function renderContent(sent: TelegramContent & Written): string {
  const { sticker, location, venue, contact, poll, dice, game, invoice, checklist } = sent
  const notes = [
    sticker && `[sticker${sticker.emoji ? ` ${sticker.emoji}` : ''}]`,
    // A venue comes with its location.
    venue
      ? describeContent('location', venue.title, venue.address, venue.location.latitude, venue.location.longitude)
      : location && `[location: ${location.latitude}, ${location.longitude}]`,
    contact && describeContent('contact', contact.first_name, contact.phone_number),
    poll && describeContent('poll', poll.question, ...poll.options.map((option) => option.text)),
    dice && describeContent('dice', dice.emoji, dice.value),
    game && describeContent('game', game.title, game.description),
    invoice && describeContent('invoice', invoice.title, invoice.description),
    checklist && describeContent('checklist', checklist.title, ...checklist.tasks.map((task) => task.text)),
    ...closedKinds.map(
      (kind) => sent[kind] !== undefined && describeContent(`a ${kind.replace('_', ' ')}, which cannot be read here`),
    ),
  ]
  return [writtenText(sent), ...notes].filter(Boolean).join('\n')
}

/** Content that the Bot API names without showing it. */
const closedKinds = ['story', 'paid_media', 'giveaway'] as const

const originOf = (from: TelegramOrigin): string | undefined =>
  (from.sender_user && parseSender(from.sender_user).name) ??
  from.sender_user_name ??
  (from.sender_chat ?? from.chat)?.title

const kinds = {
  document: 'document',
  voice: 'voice',
  audio: 'audio',
  video: 'video',
  video_note: 'video',
} as const satisfies Partial<Record<keyof TelegramMessage, MediaReference['kind']>>

function parseMedia(sent: Pick<TelegramMessage, FileField>): readonly MediaReference[] {
  // Telegram lists one image in several sizes, the largest last. An animation comes as a document too.
  const photo = sent.photo?.at(-1)
  const files = Object.entries(kinds).flatMap(([field, kind]) => {
    const found = sent[field as keyof typeof kinds]
    return found ? [referenceTo(kind, found)] : []
  })
  return photo ? [referenceTo('image', { mime_type: 'image/jpeg', ...photo }), ...files] : files
}

const referenceTo = (kind: MediaReference['kind'], found: TelegramFile): MediaReference => ({
  kind,
  reference: found.file_id,
  ...(found.file_name !== undefined && { name: found.file_name }),
  ...(found.mime_type !== undefined && { mime: found.mime_type }),
  ...(found.file_size !== undefined && { bytes: found.file_size }),
})

/** The first message of a topic is the service message that opened it: every message of the topic replies to it. */
function parseQuote({ reply_to_message: replied, quote, ...sent }: TelegramMessage): Quote | undefined {
  const isTopicStart = sent.is_topic_message === true && replied?.message_id === String(sent.message_thread_id)
  const marked = quote && writtenText(quote)
  if (sent.external_reply) return parseOuterQuote(sent.external_reply, marked)
  if (sent.reply_to_story !== undefined) return { messageId: '', text: describeContent('a story') }
  if (!replied || isTopicStart) return undefined
  const text = marked ?? renderContent(replied)
  const media = parseMedia(replied)
  return {
    messageId: replied.message_id,
    ...(replied.from && { sender: parseSender(replied.from) }),
    ...(text && { text }),
    ...(media.length > 0 && { media }),
  }
}

/** A message of another chat has no id here. */
function parseOuterQuote(
  replied: NonNullable<TelegramMessage['external_reply']>,
  marked: string | undefined,
): Quote | undefined {
  const name = originOf(replied.origin)
  const { sender_user: person } = replied.origin
  const text = [marked, renderContent(replied)].filter(Boolean).join(' ')
  const media = parseMedia(replied)
  const sender = person ? parseSender(person) : name !== undefined && { id: '', name }
  return {
    messageId: '',
    ...(sender && { sender }),
    text: text || (media.length ? '' : describeContent('a message of another chat')),
    isOfOtherChat: true,
    ...(media.length > 0 && { media }),
  }
}

type InChat = Pick<TelegramMessage, 'chat' | 'message_thread_id' | 'is_topic_message'>

/**
 * Only topics count as threads: replies in a group without topics carry a thread id too. The general topic has id 1,
 * which `sendMessage` does not accept.
 */
function parsePlace({ chat: { id: chatId, type }, message_thread_id: thread, is_topic_message: isTopic }: InChat) {
  const isNamedTopic = isTopic === true && thread !== undefined && thread !== 1
  return {
    address: { chat: chatId, ...(isNamedTopic && { thread: String(thread) }) },
    isGroup: type !== 'private',
  }
}

export function parseSender({ id: sender, is_bot: isBot, first_name: first, last_name: last, username }: TelegramUser) {
  const name = [first, last].filter(Boolean).join(' ') || username || sender
  return { id: sender, name, ...(isBot && { isBot }) } satisfies Sender
}

/** Finds `@name`, `/command@name`, and mentions of users without a user name. */
function mentionsIn({ text, caption, entities, caption_entities: captionEntities }: TelegramMessage): string[] {
  const source = text ?? caption ?? ''
  return (text === undefined ? (captionEntities ?? []) : (entities ?? [])).flatMap(
    ({ type, offset, length, user: mentioned }) => {
      if (type === 'text_mention' && mentioned) return [mentioned.id]
      if (type !== 'mention' && type !== 'bot_command') return []
      const [, name] = source.slice(offset, offset + length).split('@')
      return name ? [name.toLowerCase()] : []
    },
  )
}

/** Parses the events of Feishu and Lark: messages of all kinds, and presses of cards. */

import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import type { InboundEvent } from '../channel.ts'
import { isList, pick, pickList, pickText } from '../kit/pick.ts'
import { describeContent, unreadable } from '../text/describe-forward.ts'
import { mimeOfName } from '../text/mime-of-name.ts'

export function parseEvent(body: unknown): InboundEvent | undefined {
  const event = pick(body, 'event')
  switch (pickText(body, 'header', 'event_type')) {
    case 'im.message.receive_v1':
      return parseMessage(event)
    case 'card.action.trigger':
      return parsePress(event, pickText(body, 'header', 'event_id') ?? '')
    case 'im.chat.member.bot.added_v1':
      return parseMembership(body, 'added')
    case 'im.chat.member.bot.deleted_v1':
      return parseMembership(body, 'removed')
    default:
      return undefined
  }
}

function parseMembership(body: unknown, change: 'added' | 'removed'): InboundEvent | undefined {
  const chat = pickText(body, 'event', 'chat_id')
  const id = pickText(body, 'event', 'operator_id', 'open_id')
  const key = pickText(body, 'header', 'event_id')
  if (chat === undefined || id === undefined || key === undefined) return undefined
  return { kind: 'lifecycle', change, key, address: { chat }, isGroup: true, sender: { id, name: id } }
}

/** The value of a button also says in which kind of chat and thread the card stands. */
function parsePress(event: unknown, key: string): InboundEvent | undefined {
  const value = pick(event, 'action', 'value')
  const data = pickText(value, 'data')
  const chat = pickText(event, 'context', 'open_chat_id')
  const id = pickText(event, 'operator', 'open_id')
  const thread = pickText(value, 'thread')
  if (!key || data === undefined || chat === undefined || id === undefined) return undefined
  return {
    kind: 'press',
    key,
    address: { chat, ...(thread !== undefined && { thread }) },
    // Buttons in a person's session of a group end in the id of the person.
    isGroup: thread !== undefined || /^ask:\d+:\d+:/.test(data),
    sender: { id, name: id },
    pressId: key,
    messageId: pickText(event, 'context', 'open_message_id') ?? '',
    data,
  }
}

function parseMessage(event: unknown): InboundEvent | undefined {
  const message = pick(event, 'message')
  const [key, chat] = [pickText(message, 'message_id'), pickText(message, 'chat_id')]
  const id = pickText(event, 'sender', 'sender_id', 'open_id')
  if (key === undefined || chat === undefined || id === undefined) return undefined
  const { text, media } = parseContent(message, key)
  if (!text && !media.length) return undefined
  const thread = pickText(message, 'root_id')
  const quoted = pickText(message, 'parent_id')
  const isBot = pickText(event, 'sender', 'sender_type') !== 'user'
  return {
    kind: 'message',
    key,
    address: { chat, ...(thread !== undefined && { thread }) },
    isGroup: pickText(message, 'chat_type') !== 'p2p',
    // Events have no names.
    sender: { id, name: id, ...(isBot && { isBot: true as const }) },
    messageId: key,
    text,
    media,
    mentions: pickList(message, 'mentions').flatMap((one) => pickText(one, 'id', 'open_id') ?? []),
    ...(quoted !== undefined && { quote: { messageId: quoted } }),
  }
}

type Content = { readonly text: string; readonly media: readonly MediaReference[] }

const noteOf = (text: string): Content => ({ text, media: [] })

function parseContent(message: unknown, id: string): Content {
  const content = parseJson(pickText(message, 'content') ?? '')
  const get = (name: string) => pickText(content, name)
  switch (pickText(message, 'message_type')) {
    case 'text':
      return noteOf(nameMentions(get('text') ?? '', message))
    case 'post':
      return parsePost(content, message, id)
    case 'image':
      return { text: '', media: fileOf(id, get('image_key'), { kind: 'image' }) }
    case 'audio':
      return { text: '', media: fileOf(id, get('file_key'), { kind: 'voice' }) }
    case 'media':
      return { text: '', media: fileOf(id, get('file_key'), { kind: 'video', name: get('file_name') }) }
    case 'file':
      return { text: '', media: fileOf(id, get('file_key'), { name: get('file_name') }) }
    case 'location':
      return noteOf(describeContent('location', get('name'), get('latitude'), get('longitude')))
    default:
      return noteOf(describeOther(pickText(message, 'message_type'), content))
  }
}

const describeOther = (type: string | undefined, content: unknown): string =>
  (Object.hasOwn(notes, type ?? '') ? notes[type ?? '']?.(content) : undefined) ?? unreadable

const describeEvent = (content: unknown) => describeContent('calendar event', pickText(content, 'summary'))

const notes: Readonly<Record<string, (content: unknown) => string>> = {
  sticker: () => describeContent('sticker'),
  share_chat: (content) => describeContent('a shared chat', pickText(content, 'chat_id')),
  share_user: (content) => describeContent('a shared contact', pickText(content, 'user_id')),
  merge_forward: () => describeContent('forwarded messages, which cannot be read here'),
  interactive: (content) => describeContent('a card', pickText(content, 'title'), ...cardTexts(content)),
  vote: (content) => describeContent('poll', pickText(content, 'topic'), ...pickList(content, 'options').map(String)),
  todo: (content) => describeContent('task', ...cardTexts(pick(content, 'summary'))),
  video_chat: (content) => describeContent('video meeting', pickText(content, 'topic')),
  folder: (content) => describeContent('folder', pickText(content, 'file_name')),
  calendar: describeEvent,
  general_calendar: describeEvent,
  share_calendar_event: describeEvent,
}

/** The texts and links of a card, or of a summary of a task: rows of parts. */
const cardTexts = (content: unknown): readonly string[] =>
  [...pickList(content, 'elements'), ...pickList(content, 'content')]
    .flatMap((row) => (isList(row) ? row : [row]))
    .map(renderPart)
    .filter(Boolean)

/** `@_user_1` stands for a mention. */
function nameMentions(text: string, message: unknown): string {
  let out = text
  for (const one of pickList(message, 'mentions')) {
    const [key, name] = [pickText(one, 'key'), pickText(one, 'name')]
    if (key !== undefined && name !== undefined) out = out.replaceAll(key, () => `@${name}`)
  }
  return out.trim()
}

/** Paragraphs of texts, links, mentions and pictures. */
function parsePost(content: unknown, message: unknown, id: string): Content {
  const media: MediaReference[] = []
  const lines = pickList(content, 'content').map((line) =>
    (isList(line) ? line : [])
      .map((part) => {
        if (pickText(part, 'tag') === 'img') media.push(...fileOf(id, pickText(part, 'image_key'), { kind: 'image' }))
        if (pickText(part, 'tag') === 'media') media.push(...fileOf(id, pickText(part, 'file_key'), { kind: 'video' }))
        return renderPart(part)
      })
      .join(''),
  )
  const text = [pickText(content, 'title') ?? '', ...lines].filter(Boolean).join('\n')
  return { text: nameMentions(text, message), media }
}

function renderPart(part: unknown): string {
  const text = pickText(part, 'text') ?? ''
  const address = pickText(part, 'href')
  if (pickText(part, 'tag') === 'emotion') return `:${pickText(part, 'emoji_type') ?? ''}:`
  if (pickText(part, 'tag') === 'at') return pickText(part, 'user_id') ?? `@${pickText(part, 'user_name') ?? ''}`
  return address !== undefined && address !== text ? `${text} (${address})` : text
}

type FileFacts = { readonly kind?: MediaReference['kind']; readonly name?: string | undefined }

/** A file is read by its message, its key and its type. */
function fileOf(message: string, key: string | undefined, { kind, name }: FileFacts): readonly MediaReference[] {
  if (key === undefined) return []
  const mime = name === undefined ? undefined : mimeOfName(name)
  const reference = `${message}/${key}/${kind === 'image' ? 'image' : 'file'}`
  return [
    { kind: kind ?? mediaKindOf(mime ?? ''), reference, ...(name !== undefined && { name }), ...(mime && { mime }) },
  ]
}

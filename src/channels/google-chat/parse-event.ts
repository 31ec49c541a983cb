/** Parses the events of Google Chat in both of its forms: those of Chat apps, and those of Workspace add-ons. */

import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { InboundEvent, Quote } from '../channel.ts'
import { pick, pickList, pickText } from '../kit/pick.ts'
import { describeContent, describeForward, unreadable } from '../text/describe-forward.ts'

/** Names the app in mentions: an app is told of messages in spaces only when they mention it. */
export const ownId = 'app'

type ChatEvent = {
  readonly type: string
  readonly payload: unknown
  readonly user: unknown
  readonly data: string | undefined
  readonly time: string
}

const addOnPayloads = {
  messagePayload: 'MESSAGE',
  appCommandPayload: 'MESSAGE',
  buttonClickedPayload: 'CARD_CLICKED',
  addedToSpacePayload: 'ADDED_TO_SPACE',
  removedFromSpacePayload: 'REMOVED_FROM_SPACE',
}

function readEvent(body: unknown): ChatEvent {
  const chat = pick(body, 'chat')
  return chat === undefined ? readAppEvent(body) : readAddOnEvent(body, chat)
}

function readAppEvent(body: unknown): ChatEvent {
  const pressed = pickList(body, 'action', 'parameters').find((one) => pickText(one, 'key') === 'data')
  return {
    type: pickText(body, 'type') ?? '',
    payload: body,
    user: pick(body, 'user'),
    data: pickText(pressed, 'value') ?? pickText(body, 'common', 'parameters', 'data'),
    time: pickText(body, 'eventTime') ?? '',
  }
}

function readAddOnEvent(body: unknown, chat: unknown): ChatEvent {
  const [name = '', type = ''] = Object.entries(addOnPayloads).find(([one]) => pick(chat, one) !== undefined) ?? []
  return {
    type,
    payload: pick(chat, name),
    user: pick(chat, 'user'),
    data: pickText(body, 'commonEventObject', 'parameters', 'data'),
    time: pickText(chat, 'eventTime') ?? '',
  }
}

export function parseEvent(body: unknown): InboundEvent | undefined {
  const event = readEvent(body)
  const message = pick(event.payload, 'message')
  const space = pick(event.payload, 'space') ?? pick(message, 'space')
  const person = pickText(event.user, 'name')
  const chat = pickText(space, 'name')
  if (chat === undefined || person === undefined) return undefined
  const isGroup = !isDirect(space)
  const thread = isGroup ? pickText(message, 'thread', 'name')?.split('/').at(-1) : undefined
  const source = {
    key: `${event.type}:${chat}:${person}:${event.time}`,
    address: { chat, ...(thread !== undefined && { thread }) },
    isGroup,
    sender: parseSender(event.user, person),
  }
  const change = changes.get(event.type)
  if (change) return { ...source, kind: 'lifecycle', change }
  const id = pickText(message, 'name')
  return id === undefined ? undefined : parseContent(event, message, { ...source, id })
}

const changes = new Map<string, 'added' | 'removed'>([
  ['ADDED_TO_SPACE', 'added'],
  ['REMOVED_FROM_SPACE', 'removed'],
])

const parseSender = (user: unknown, id: string) => ({
  id,
  name: pickText(user, 'displayName') ?? id,
  ...(pickText(user, 'type') === 'BOT' && { isBot: true as const }),
})

/** `id`: the message that was sent, or that contains the button. */
function parseContent(
  { type, data }: ChatEvent,
  message: unknown,
  { id, ...source }: ChatSource & { readonly id: string },
): InboundEvent | undefined {
  if (type === 'CARD_CLICKED' && data !== undefined)
    return { ...source, kind: 'press', key: `${source.key}:${data}`, pressId: id, messageId: id, data }
  return type === 'MESSAGE' ? parseMessage(message, { ...source, key: id }) : undefined
}

const isDirect = (space: unknown): boolean =>
  pickText(space, 'spaceType') === 'DIRECT_MESSAGE' || pickText(space, 'type') === 'DM'

type ChatSource = Pick<InboundEvent, 'key' | 'address' | 'isGroup' | 'sender'>

function parseMessage(message: unknown, source: ChatSource): InboundEvent | undefined {
  const quoted = pick(message, 'quotedMessageMetadata')
  const passed = pickText(quoted, 'quoteType') === 'FORWARD' ? pick(quoted, 'quotedMessageSnapshot') : undefined
  const attachments = [...pickList(message, 'attachment'), ...pickList(passed, 'attachments')]
  const media = attachments.flatMap((one) => parseMedia(one) ?? [])
  const text = renderText(message, { quoted, passed })
  const quote = passed === undefined ? parseQuote(quoted) : undefined
  // A mention of the app alone has a text.
  const hasContent = Boolean(text || media.length || quote || (pickText(message, 'text') ?? '').trim())
  return {
    ...source,
    kind: 'message',
    messageId: source.key,
    text: hasContent ? text : unreadable,
    media,
    mentions: source.isGroup ? [ownId] : [],
    ...(quote && { quote }),
  }
}

type Passed = { readonly quoted: unknown; readonly passed: unknown }

function renderText(message: unknown, { quoted, passed }: Passed): string {
  // Without the mention of the app.
  const written = pickText(message, 'argumentText') ?? pickText(message, 'text') ?? ''
  return [
    addAddresses(written.trim(), message),
    ...pickList(message, 'attachment').flatMap(describeDriveFile),
    ...pickList(message, 'attachedGifs').map((one) => describeContent('GIF', pickText(one, 'uri'))),
    ...(passed === undefined ? [] : [describePassed(quoted, passed)]),
  ]
    .filter(Boolean)
    .join('\n')
}

const describeDriveFile = (attachment: unknown): readonly string[] =>
  pickText(attachment, 'attachmentDataRef', 'resourceName') === undefined
    ? [describeContent('a file in Google Drive', pickText(attachment, 'contentName'))]
    : []

/** A message of another space or thread. */
function describePassed(quoted: unknown, passed: unknown): string {
  const from = [pickText(passed, 'sender'), pickText(quoted, 'forwardedMetadata', 'spaceDisplayName')]
  const files = pickList(passed, 'attachments').flatMap(describeDriveFile)
  const text = [addAddresses(pickText(passed, 'text') ?? '', passed), ...files].filter(Boolean).join('\n')
  return describeForward(text, from.filter(Boolean).join(' in '))
}

function parseQuote(quoted: unknown): Quote | undefined {
  const messageId = pickText(quoted, 'name')
  const [name, text] = ['sender', 'text'].map((field) => pickText(quoted, 'quotedMessageSnapshot', field))
  if (messageId === undefined) return undefined
  // The snapshot has the name of its author, no id.
  return { messageId, ...(name !== undefined && { sender: { id: '', name } }), ...(text !== undefined && { text }) }
}

/** The formatted text has the addresses behind words: `<https://…|words>`. */
function addAddresses(plain: string, message: unknown): string {
  let text = plain
  for (const [, url = '', label = ''] of (pickText(message, 'formattedText') ?? '').matchAll(links))
    if (label !== url && !text.includes(url)) text = text.replace(label, () => `${label} (${url})`)
  return text
}

const links = /<(https?:\/\/[^|<>\s]{1,2000})\|([^<>\n]{1,500})>/g

function parseMedia(attachment: unknown): MediaReference | undefined {
  const reference = pickText(attachment, 'attachmentDataRef', 'resourceName')
  const mime = pickText(attachment, 'contentType')
  const name = pickText(attachment, 'contentName')
  if (reference === undefined) return undefined
  return { kind: mediaKindOf(mime ?? ''), reference, ...(mime && { mime }), ...(name && { name }) }
}

/** Parses the activities of Microsoft Teams: messages, edits, presses of cards, and changes of membership. */

import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { InboundEvent, MessageContent, Quote } from '../channel.ts'
import { pick, pickList, pickText } from '../kit/pick.ts'
import { describeContent, describeForward, unreadable } from '../text/describe-forward.ts'
import { addLinkAddresses, unescapeHtml } from '../text/link-addresses.ts'

const replyMs = 7 * 86_400_000

type EventSource = Pick<InboundEvent, 'key' | 'address' | 'isGroup' | 'sender' | 'replyHandle'>

/** `conversation.id` names the thread behind a semicolon. */
function parseSource(activity: unknown, receivedAt: number): EventSource | undefined {
  const [chat, thread] = (pickText(activity, 'conversation', 'id') ?? '').split(';messageid=')
  const person = pickText(activity, 'from', 'aadObjectId') ?? pickText(activity, 'from', 'id')
  const service = pickText(activity, 'serviceUrl')
  const key = pickText(activity, 'id')
  if (!chat || person === undefined || service === undefined || key === undefined) return undefined
  return {
    key,
    address: { chat, ...(thread && { thread }) },
    isGroup: pickText(activity, 'conversation', 'conversationType') !== 'personal',
    sender: {
      id: person,
      name: pickText(activity, 'from', 'name') ?? person,
      ...(pickText(activity, 'from', 'id')?.startsWith('28:') && { isBot: true as const }),
    },
    replyHandle: { token: service, expiresAt: receivedAt + replyMs },
  }
}

export function parseActivity(activity: unknown, receivedAt: number): InboundEvent | undefined {
  const source = parseSource(activity, receivedAt)
  const bot = pickText(activity, 'recipient', 'id')
  if (!source || pickText(activity, 'from', 'id') === bot) return undefined
  switch (pickText(activity, 'type')) {
    case 'message':
      return readMessage(activity, source, 'message')
    case 'messageUpdate': {
      const isEdit = pickText(activity, 'channelData', 'eventType') === 'editMessage'
      const time = pickText(activity, 'timestamp') ?? ''
      return isEdit ? readMessage(activity, { ...source, key: `${source.key}:${time}` }, 'edit') : undefined
    }
    case 'invoke':
      return readPress(activity, source)
    case 'installationUpdate':
      return readInstallation(activity, source)
    default:
      return undefined
  }
}

function readInstallation(activity: unknown, source: EventSource): InboundEvent {
  const isRemoved = pickText(activity, 'action')?.startsWith('remove') === true
  return { ...source, kind: 'lifecycle', change: isRemoved ? 'removed' : 'added' }
}

function readPress(activity: unknown, source: EventSource): InboundEvent | undefined {
  const data = pickText(activity, 'value', 'action', 'data', 'data')
  if (pickText(activity, 'name') !== 'adaptiveCard/action' || data === undefined) return undefined
  const messageId = pickText(activity, 'replyToId') ?? ''
  return { ...source, kind: 'press', pressId: source.key, messageId, data }
}

function readMessage(activity: unknown, source: EventSource, kind: 'message' | 'edit'): InboundEvent | undefined {
  const attachments = pickList(activity, 'attachments')
  const html = attachments.flatMap((one) =>
    pickText(one, 'contentType') === 'text/html' ? (pickText(one, 'content') ?? []) : [],
  )
  const media = attachments.flatMap(parseFile)
  const notes = attachments.flatMap(describeCard)
  const all = html.join('\n')
  const passed = parsePassedOn(all)
  const written = withoutPassedOn(readText(activity, all), passed)
  const text = [written, ...passed.map((one) => describeForward(one)), ...notes].filter(Boolean).join('\n')
  const quote = parseQuote(all)
  // A mention of the bot alone has a text.
  const isEmpty = !text && !media.length && !quote && !(pickText(activity, 'text') ?? '').trim()
  const content: MessageContent = {
    messageId: pickText(activity, 'id') ?? '',
    text: isEmpty ? unreadable : text,
    media,
    mentions: pickList(activity, 'entities').flatMap((one) => pickText(one, 'mentioned', 'id') ?? []),
    ...(quote && { quote }),
  }
  return { ...source, kind, ...content }
}

/** The messages that a person passes on. Teams does not say who wrote them. */
const parsePassedOn = (html: string): readonly string[] =>
  [...html.matchAll(/<blockquote[^>]{0,500}schema\.skype\.com\/Forward[^>]{0,500}>(.{0,20000}?)<\/blockquote>/gs)].map(
    ([, inner = '']) => addLinkAddresses(textOfHtml(inner), inner),
  )

const textOfHtml = (html: string): string =>
  unescapeHtml(html.replace(/<\/p>|<br ?\/?>/g, '\n').replace(/<[^<>]{1,500}>/g, ''))
    .replace(/\n{2,100}/g, '\n')
    .trim()

/** The plain text ends with the messages that were passed on, as if the person had written them. */
function withoutPassedOn(text: string, passed: readonly string[]): string {
  const words = (one: string) => one.replace(/\s+/g, '')
  const end = words(passed.join(''))
  if (!end || !words(text).endsWith(end)) return text
  let left = words(text).length - end.length
  let at = 0
  for (; left > 0; at++) if (!/\s/.test(text[at] ?? ' ')) left--
  return text.slice(0, at).trim()
}

/** A mention of the bot only addresses it. Others are names. */
function readText(activity: unknown, html: string): string {
  const bot = pickText(activity, 'recipient', 'id')
  let text = pickText(activity, 'text') ?? ''
  for (const entity of pickList(activity, 'entities')) {
    const mark = pickText(entity, 'text')
    if (pickText(entity, 'type') !== 'mention' || mark === undefined) continue
    const isOwn = pickText(entity, 'mentioned', 'id') === bot
    text = text.replace(mark, () => (isOwn ? '' : `@${pickText(entity, 'mentioned', 'name') ?? ''}`))
  }
  const plain = unescapeHtml(text.replace(/<[^<>]{1,500}>/g, ''))
    .replaceAll('\r\n', '\n')
    .trim()
  return addLinkAddresses(plain, html)
}

/** Teams quotes a message in front of an answer, with the beginning of its text. */
function parseQuote(html: string): Quote | undefined {
  const [, attributes = '', inner = ''] =
    /<blockquote([^>]{0,500}schema\.skype\.com\/Reply[^>]{0,500})>(.{0,4000}?)<\/blockquote>/s.exec(html) ?? []
  const messageId = /itemid="(\d{1,30})"/.exec(attributes)?.[1]
  if (messageId === undefined) return undefined
  const preview = /itemprop="(?:preview|copy)"[^>]{0,200}>(.{0,2000}?)<\/p>/s.exec(inner)?.[1]
  const text = preview && unescapeHtml(preview.replace(/<[^<>]{1,500}>/g, '')).trim()
  return { messageId, ...(text && { text }) }
}

const fileType = 'application/vnd.microsoft.teams.file.download.info'

function parseFile(attachment: unknown): readonly MediaReference[] {
  const type = pickText(attachment, 'contentType') ?? ''
  const isImage = type.startsWith('image/')
  const reference =
    type === fileType
      ? pickText(attachment, 'content', 'downloadUrl')
      : isImage
        ? pickText(attachment, 'contentUrl')
        : undefined
  const name = pickText(attachment, 'name')
  if (reference === undefined) return []
  const extension = pickText(attachment, 'content', 'fileType') ?? ''
  const isPicture = isImage || /^(?:png|jpe?g|gif|webp|bmp)$/i.test(extension)
  const kind = isPicture ? 'image' : mediaKindOf('')
  return [
    { kind, reference, ...(name !== undefined && { name }), ...(isImage && type !== 'image/*' && { mime: type }) },
  ]
}

/** Cards of other apps, and files of channels, whose content needs rights that a bot does not have. */
function describeCard(attachment: unknown): readonly string[] {
  const type = pickText(attachment, 'contentType') ?? ''
  if (type === fileType || type.startsWith('image/') || type === 'text/html' || type === 'messageReference') return []
  const title =
    pickText(attachment, 'name') ??
    pickText(attachment, 'content', 'title') ??
    pickText(pick(attachment, 'content'), 'text')
  return [
    describeContent(
      type === 'reference' ? 'a file in SharePoint' : 'a card',
      title,
      pickText(attachment, 'contentUrl'),
    ),
  ]
}

/** Parses the webhooks of Messenger and of Instagram, which have the same form: entries of accounts with their events. */

import type { MediaKind, MediaReference } from '#agent/core/media/media-reference.ts'
import type { InboundEvent, MessageContent } from '../channel.ts'
import { pick, pickList, pickNumber, pickText } from '../kit/pick.ts'
import { describeContent, unreadable } from '../text/describe-forward.ts'

/** The events of one page or Instagram account. */
export type AccountEvents = { readonly account: string; readonly events: readonly InboundEvent[] }

export const parseMessaging = (body: unknown, object: 'page' | 'instagram'): readonly AccountEvents[] =>
  pickText(body, 'object') === object
    ? pickList(body, 'entry').flatMap((entry) => {
        const account = pickText(entry, 'id')
        // In standby another app answers.
        const events = pickList(entry, 'messaging').flatMap((one) => parseEvent(one, account) ?? [])
        return account !== undefined && events.length ? [{ account, events }] : []
      })
    : []

type MetaSource = Pick<InboundEvent, 'address' | 'isGroup' | 'sender'>

function parseEvent(sent: unknown, account: string | undefined): InboundEvent | undefined {
  const person = pickText(sent, 'sender', 'id')
  const isOwn = person === account || pick(sent, 'message', 'is_echo') === true
  if (person === undefined || isOwn || pick(sent, 'message', 'is_deleted') === true) return undefined
  const source = { address: { chat: person }, isGroup: false, sender: { id: person, name: person } }
  return parseEdit(sent, source) ?? parsePostback(sent, source) ?? parseMessage(sent, source)
}

function parseEdit(sent: unknown, source: MetaSource): InboundEvent | undefined {
  const edit = pick(sent, 'message_edit')
  const messageId = pickText(edit, 'mid')
  if (messageId === undefined) return undefined
  const key = `${messageId}:edit:${pickText(edit, 'num_edit') ?? pickText(sent, 'timestamp') ?? ''}`
  return { ...source, kind: 'edit', key, messageId, text: pickText(edit, 'text') ?? '', media: [], mentions: [] }
}

/** A button that is not ours says what its label says. */
function parsePostback(sent: unknown, source: MetaSource): InboundEvent | undefined {
  const postback = pick(sent, 'postback')
  const data = pickText(postback, 'payload')
  if (data === undefined) return undefined
  const key = pickText(postback, 'mid') ?? `${source.sender.id}:${pickText(sent, 'timestamp') ?? ''}`
  const text = pickText(postback, 'title') ?? ''
  if (isOurs(data)) return { ...source, kind: 'press', key, pressId: key, messageId: '', data }
  return text ? { ...source, kind: 'message', key, messageId: key, text, media: [], mentions: [] } : undefined
}

const isOurs = (data: string): boolean => data.startsWith('ask:')

function parseMessage(sent: unknown, source: MetaSource): InboundEvent | undefined {
  const key = pickText(sent, 'message', 'mid')
  if (key === undefined) return undefined
  const data = pickText(sent, 'message', 'quick_reply', 'payload')
  if (data !== undefined && isOurs(data)) return { ...source, kind: 'press', key, pressId: key, messageId: '', data }
  const content = parseContent(sent, key)
  return content.text.trim() || content.media.length ? { ...source, kind: 'message', key, ...content } : undefined
}

function parseContent(sent: unknown, messageId: string): MessageContent {
  const message = pick(sent, 'message')
  const attachments = pickList(message, 'attachments')
  const media = attachments.flatMap((one) => parseMedia(one) ?? [])
  const notes = attachments.map(describeAttachment)
  const isUnsupported = pick(message, 'is_unsupported') === true
  const story = pickText(message, 'reply_to', 'story', 'url')
  const text = [
    pickText(message, 'text'),
    ...notes,
    story && describeContent('about the story', story),
    isUnsupported ? unreadable : undefined,
    referralOf(pick(message, 'referral') ?? pick(sent, 'referral')),
  ]
  const quoted = pickText(message, 'reply_to', 'mid')
  return {
    messageId,
    text: text.filter(Boolean).join('\n'),
    media,
    mentions: [],
    ...(quoted !== undefined && { quote: { messageId: quoted } }),
  }
}

const mediaKinds = new Map<string | undefined, MediaKind>([
  ['image', 'image'],
  ['sticker', 'image'],
  ['video', 'video'],
  ['audio', 'audio'],
  ['file', 'document'],
])

function parseMedia(attachment: unknown): MediaReference | undefined {
  const kind = mediaKinds.get(pickText(attachment, 'type'))
  const reference = pickText(attachment, 'payload', 'url')
  return kind && reference !== undefined ? { kind, reference } : undefined
}

/** Content that is neither text nor a file, in brackets. */
function describeAttachment(attachment: unknown): string | undefined {
  const type = pickText(attachment, 'type') ?? ''
  const url = pickText(attachment, 'payload', 'url') ?? pickText(attachment, 'url')
  if (mediaKinds.has(type)) return url === undefined ? unreadable : undefined
  const title = pickText(attachment, 'title') ?? pickText(attachment, 'payload', 'title')
  const at = (name: string) => pickNumber(attachment, 'payload', 'coordinates', name)
  const products = pickList(attachment, 'payload', 'product', 'elements')
  if (products.length) return describeContent('product', ...products.flatMap(describeProduct))
  if (type === 'location') return describeContent('location', title, at('lat'), at('long'), url)
  return url === undefined && title === undefined
    ? unreadable
    : describeContent(type === 'fallback' ? 'link' : type.replaceAll('_', ' '), title, url)
}

const describeProduct = (product: unknown) =>
  ['title', 'subtitle', 'retailer_id'].map((field) => pickText(product, field))

/** The advertisement or the link from which the person came. */
function referralOf(referral: unknown): string | undefined {
  const title = pickText(referral, 'ads_context_data', 'ad_title')
  const ref = pickText(referral, 'ref')
  return title === undefined && ref === undefined ? undefined : describeContent('from the advertisement', title, ref)
}

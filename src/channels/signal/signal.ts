/** Implements the channel port for Signal by its bridge `signal-cli-rest-api`: webhooks in, REST calls out. */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { joinUrl } from '../call-api.ts'
import type { Channel, ChannelConnection, InboundEvent, MessageContent, OutboundMessage, Quote } from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { defineApi, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick, pickList, pickNumber, pickText } from '../kit/pick.ts'
import { token, verified } from '../kit/proof.ts'
import { describeContent, unreadable } from '../text/describe-forward.ts'
import { whatsappMarks } from '../whatsapp/whatsapp-marks.ts'

/** Signal's own apps stop at 2000 characters and send the rest as a file; longer texts arrive from the bridge. */
const { encode, render, textLimit } = defineDialect({
  max: 7_900,
  unit: 'utf16',
  marks: { ...whatsappMarks, marks: { bold: '**', italic: '*', strikethrough: '~' } },
})

const headersOf = ({ secrets: { token: bearer } }: ChannelConnection): Record<string, string> =>
  bearer ? { authorization: `Bearer ${bearer}` } : {}

const callBridge = defineApi({
  prefix: () => '',
  headers: headersOf,
  readFailure: ({ error }) => ({ message: typeof error === 'string' ? error : '' }),
  outcomes: [
    { words: /rate limit|too many/i, is: 'busy' },
    { words: /unregistered|not registered|unknown group|no longer a member|untrusted/i, is: 'forbidden' },
    { words: /too long|too large/i, is: 'too_long' },
  ],
})

const typingMs = 12_000

export const signal: Channel = {
  platform: 'signal',
  name: 'Signal',
  apiBase: { url: 'https://signal.invalid' },
  needsUrl: true,
  hasPathSecret: true,
  secrets: {
    number: { shape: /^\+\d{5,20}$/, hint: 'The number of the bot with its country code, like +15550001111.' },
    webhook_secret: {
      shape: /^[\w-]{20,200}$/,
      hint: 'At least 20 letters and digits, which end the address of the webhook.',
      isGenerated: true,
    },
    token: { shape: /^[\x21-\x7e]{1,2000}$/, hint: 'The bearer token of the tunnel to the bridge.', isOptional: true },
  },
  capabilities: { typing: { durationMs: typingMs }, files: { maxBytes: 20 * 1024 * 1024 } },
  textLimit,
  receive: verified(
    token({ secret: 'webhook_secret', from: ({ url }) => url.pathname.split('/').at(-1) }),
    ({ body }, { secrets }) => {
      const content = parseJson(body)
      const event = parseEnvelope(
        pick(content, 'params', 'envelope') ?? pick(content, 'envelope'),
        secrets['number'] ?? '',
      )
      return { events: event ? [event] : [] }
    },
  ),
  render,
  send,
  showTyping: async (connection, { chat }) => {
    const path = `v1/typing-indicator/${encodeURIComponent(connection.secrets['number'] ?? '')}`
    return sentOutcome(await callBridge(connection, { method: 'PUT', path, body: { recipient: chat } }))
  },
  getAccount: async (connection) => {
    const answer = await callBridge(connection, { method: 'GET', path: 'v1/about' })
    const { number: id = '' } = connection.secrets
    return answer.kind === 'failed' ? { refused: answer.outcome.detail } : { id, name: id }
  },
  fetchMedia: (connection, { reference, mime, name }: MediaReference, maxBytes) => {
    const url = joinUrl(connection.apiBase, `v1/attachments/${encodeURIComponent(reference)}`)
    return fetchMediaFrom(connection, { url, headers: headersOf(connection), mime, name }, maxBytes)
  },
  resolveTarget: async (connection, address) => {
    const { chat } = address
    if (/^(?:\+\d{5,20}|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i.test(chat))
      return { kind: 'found', address: { chat }, isGroup: false }
    if (!/^group\.[\w+/=]{1,200}$/.test(chat))
      return { kind: 'unknown', detail: 'Signal names people by numbers like +15550001111, and groups like group.….' }
    const path = `v1/groups/${encodeURIComponent(connection.secrets['number'] ?? '')}/${encodeURIComponent(chat)}`
    return resolveBy(await callBridge(connection, { method: 'GET', path }), { address, isGroup: true })
  },
}

async function send(connection: ChannelConnection, { address, chunk, file }: OutboundMessage): Promise<SendOutcome> {
  const name = file?.name.replaceAll(/[;,]/g, '_')
  const attachment = file && `data:${file.mime};filename=${name};base64,${encodeBase64Bytes(file.bytes)}`
  const body = {
    number: connection.secrets['number'],
    recipients: [address.chat],
    message: file ? chunk.text.trim() : encode(chunk),
    text_mode: 'styled',
    ...(attachment && { base64_attachments: [attachment] }),
  }
  return sentOutcome(await callBridge(connection, { method: 'POST', path: 'v2/send', body }), ({ timestamp }) =>
    timestamp === undefined ? undefined : String(timestamp),
  )
}

/** An id of a group begins like this for the bridge, and goes on with its internal id in base64. */
const groupOf = (internal: string): string => `group.${encodeBase64Bytes(new TextEncoder().encode(internal))}`

function parseEnvelope(envelope: unknown, own: string): InboundEvent | undefined {
  const edited = pick(envelope, 'editMessage')
  const message = pick(edited, 'dataMessage') ?? pick(envelope, 'dataMessage')
  const source = parseSource(envelope, message)
  if (!source || source.sender.id === own) return undefined
  const messageId = pickText(edited, 'targetSentTimestamp') ?? pickText(message, 'timestamp') ?? ''
  const reaction = pick(message, 'reaction')
  if (reaction !== undefined) return parseReaction(reaction, source, own)
  const content = parseContent(message, messageId)
  return content && { ...source, kind: edited === undefined ? 'message' : 'edit', ...content }
}

type EventSource = Pick<InboundEvent, 'key' | 'address' | 'isGroup' | 'sender'>

/** People may hide their numbers. Both ids are one person. */
function parseSource(envelope: unknown, message: unknown): EventSource | undefined {
  const [number, uuid] = [pickText(envelope, 'sourceNumber'), pickText(envelope, 'sourceUuid')]
  const id = number ?? uuid
  const time = pickText(envelope, 'timestamp') ?? pickText(message, 'timestamp')
  if (id === undefined || message === undefined || time === undefined) return undefined
  const group = pickText(message, 'groupInfo', 'groupId')
  const aliases = [number, uuid].flatMap((one) => (one === undefined || one === id ? [] : [one]))
  return {
    key: `${uuid ?? id}:${time}`,
    address: { chat: group === undefined ? id : groupOf(group) },
    isGroup: group !== undefined,
    sender: { id, name: pickText(envelope, 'sourceName') ?? id, aliases },
  }
}

/** `1️⃣` below a message of the bot is its first choice. */
function parseReaction(reaction: unknown, source: EventSource, own: string): InboundEvent | undefined {
  const author = pickText(reaction, 'targetAuthorNumber') ?? pickText(reaction, 'targetAuthor')
  const text = /^([1-9])\uFE0F?\u20E3$/u.exec(pickText(reaction, 'emoji') ?? '')?.[1]
  if (author !== own || text === undefined || pick(reaction, 'isRemove') === true) return undefined
  return { ...source, kind: 'message', messageId: source.key, text, media: [], mentions: [own] }
}

function parseContent(message: unknown, messageId: string): MessageContent | undefined {
  const media = pickList(message, 'attachments').flatMap(parseAttachment)
  const mentions = pickList(message, 'mentions')
  const notes = [
    ...(pick(message, 'sticker') === undefined
      ? []
      : [describeContent('sticker', pickText(message, 'sticker', 'emoji'))]),
    ...pickList(message, 'contacts').map(describeContact),
    ...(pick(message, 'pollCreate') === undefined
      ? []
      : [
          describeContent(
            'poll',
            pickText(message, 'pollCreate', 'question'),
            ...pickList(message, 'pollCreate', 'options').map(String),
          ),
        ]),
    ...(pick(message, 'payment') === undefined
      ? []
      : [describeContent('payment', pickText(message, 'payment', 'note'))]),
    ...(pick(message, 'storyContext') === undefined ? [] : [describeContent('about a story')]),
  ]
  const text = [nameMentions(pickText(message, 'message') ?? '', mentions), ...notes].filter(Boolean).join('\n')
  const isEmpty = !text && !media.length
  if (isEmpty && isService(message)) return undefined
  const quote = parseQuote(pick(message, 'quote'))
  return {
    messageId,
    text: isEmpty ? unreadable : text,
    media,
    mentions: mentions.flatMap((one) => [pickText(one, 'number') ?? [], pickText(one, 'uuid') ?? []].flat()),
    ...(quote && { quote }),
  }
}

/** Changes of a group, of a timer or of a vote, and deleted messages say nothing to the agent. */
const isService = (message: unknown): boolean =>
  pickText(message, 'groupInfo', 'type') === 'UPDATE' ||
  pick(message, 'isExpirationUpdate') === true ||
  serviceParts.some((part) => pick(message, part) !== undefined)

const serviceParts = ['remoteDelete', 'groupCallUpdate', 'pollVote', 'pollTerminate', 'pinMessage', 'unpinMessage']

const describeContact = (contact: unknown): string =>
  describeContent(
    'contact',
    pickText(contact, 'name', 'display'),
    ...pickList(contact, 'phone').map((one) => pickText(one, 'value')),
    ...pickList(contact, 'email').map((one) => pickText(one, 'value')),
    pickText(contact, 'organization'),
  )

/** A character without meaning stands where a person is mentioned. */
function nameMentions(text: string, mentions: readonly unknown[]): string {
  const ordered = mentions.toSorted((a, b) => (pickNumber(b, 'start') ?? 0) - (pickNumber(a, 'start') ?? 0))
  let out = text
  for (const one of ordered) {
    const [start, length] = [pickNumber(one, 'start') ?? 0, pickNumber(one, 'length') ?? 1]
    out = `${out.slice(0, start)}@${pickText(one, 'name') ?? pickText(one, 'number') ?? ''}${out.slice(start + length)}`
  }
  return out
}

function parseQuote(quote: unknown): Quote | undefined {
  const messageId = pickText(quote, 'id')
  const author = pickText(quote, 'authorNumber') ?? pickText(quote, 'authorUuid') ?? pickText(quote, 'author')
  const files = pickList(quote, 'attachments').map((one) =>
    describeContent('a file', pickText(one, 'filename') ?? pickText(one, 'contentType')),
  )
  const text = [pickText(quote, 'text'), ...files].filter(Boolean).join(' ')
  if (messageId === undefined) return undefined
  return {
    messageId,
    ...(author !== undefined && { sender: { id: author, name: author } }),
    ...(text && { text }),
  }
}

function parseAttachment(attachment: unknown): readonly MediaReference[] {
  const reference = pickText(attachment, 'id')
  const mime = pickText(attachment, 'contentType')
  const name = pickText(attachment, 'filename')
  const bytes = pickNumber(attachment, 'size')
  if (reference === undefined) return []
  const kind = pick(attachment, 'voiceNote') === true ? 'voice' : mediaKindOf(mime ?? '')
  return [{ kind, reference, ...(mime && { mime }), ...(name && { name }), ...(bytes !== undefined && { bytes }) }]
}

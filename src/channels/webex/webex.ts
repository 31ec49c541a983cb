/**
 * Implements the channel port for Webex: webhooks that name a message, which is then read by the API, and messages of a bot
 * with Adaptive Cards.
 */

import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { MessageChunk, SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import {
  type Channel,
  type ChannelConnection,
  type ChatAddress,
  type InboundEvent,
  type InboundRequest,
  type OutboundMessage,
  type Received,
  refused,
  type Registration,
  type ResolvedTarget,
} from '../channel.ts'
import { fetchMediaFrom, isSameOrigin } from '../fetch-media.ts'
import { type ApiResult, defineApi, editedOutcome, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { defineOwnAccount } from '../kit/own-account.ts'
import { pick, pickList, pickText } from '../kit/pick.ts'
import { hmac } from '../kit/proof.ts'
import { unreadable } from '../text/describe-forward.ts'
import { addLinkAddresses } from '../text/link-addresses.ts'
import { markdownMarks } from '../text/markdown-marks.ts'

/** Webex accepts 7 439 bytes. */
const { encode, render, textLimit } = defineDialect({ max: 7_000, unit: 'utf8', marks: markdownMarks })

const authorizationOf = ({ secrets }: ChannelConnection) => ({ authorization: `Bearer ${secrets['bot_token'] ?? ''}` })

const callWebex = defineApi({
  prefix: () => 'v1/',
  headers: authorizationOf,
  readFailure: (body) => ({ message: pickText(body, 'errors', 0, 'description') ?? pickText(body, 'message') }),
  outcomes: [
    { words: /too long|length limit|limited to \d{1,6}|exceed.{0,40}(?:length|size|bytes)/i, is: 'too_long' },
    { status: 423, is: 'retry' },
    { words: /not a (?:participant|member)|room.{0,20}not found/i, is: 'forbidden' },
  ],
})

/** A secret of the webhooks that nobody has to enter. */
const secretOf = ({ secrets, webhookUrl }: ChannelConnection): Promise<string> =>
  sha256Hex(`webex ${webhookUrl} ${secrets['bot_token'] ?? ''}`)

const isSigned = hmac({ hash: 'SHA-1', secret: 'webhook_secret', header: 'x-spark-signature', encoding: 'hex' })

async function isFromWebex(request: InboundRequest, connection: ChannelConnection): Promise<boolean> {
  if (!connection.secrets['bot_token']) return false
  return isSigned(request, { ...connection, secrets: { webhook_secret: await secretOf(connection) } })
}

export const webex: Channel = {
  platform: 'webex',
  name: 'Webex',
  apiBase: { variable: 'WEBEX_API_BASE', url: 'https://webexapis.com' },
  secrets: { bot_token: { shape: /^[\x21-\x7e]{1,300}$/, hint: 'The access token of the bot.' } },
  capabilities: {
    // A message can be edited ten times.
    edit: { intervalMs: () => 10_000 },
    buttons: { maxRows: 10, maxPerRow: 1, maxLabelChars: 40, maxDataBytes: 500 },
    threads: true,
    files: { maxBytes: 50_000_000 },
  },
  textLimit,
  receive,
  render,
  send,
  remove: async (connection, _address, id) =>
    sentOutcome(await callWebex(connection, { method: 'DELETE', path: `messages/${encodeURIComponent(id)}` })),
  probe: async (connection) => sentOutcome(await callWebex(connection, { method: 'GET', path: 'people/me' })),
  getAccount,
  fetchMedia: (connection, { reference, mime, name }: MediaReference, maxBytes) => {
    const headers = isSameOrigin(reference, connection.apiBase) ? authorizationOf(connection) : {}
    return fetchMediaFrom(connection, { url: reference, headers, mime, name }, maxBytes)
  },
  register,
  resolveTarget,
}

async function getAccount(connection: ChannelConnection): ReturnType<Channel['getAccount']> {
  const answer = await callWebex(connection, { method: 'GET', path: 'people/me' })
  if (answer.kind === 'failed') return { refused: answer.outcome.detail }
  return { id: pickText(answer.result, 'id') ?? '', name: pickText(answer.result, 'displayName') ?? '' }
}

const getOwnAccount = defineOwnAccount(getAccount)

/** Rejects while the message cannot be read, so that the webhook comes again. */
async function receive(request: InboundRequest, connection: ChannelConnection): Promise<Received> {
  if (!(await isFromWebex(request, connection))) return refused()
  const body = parseJson(request.body)
  const id = pickText(body, 'data', 'id')
  const kind = pickText(body, 'resource')
  const own = await getOwnAccount(connection)
  if (id === undefined || (own && pickText(body, 'data', 'personId') === own.id)) return { events: [] }
  const event =
    kind === 'messages'
      ? await readMessage(connection, id)
      : kind === 'attachmentActions'
        ? await readPress(connection, id)
        : undefined
  return { events: event ? [event] : [] }
}

/** Undefined for what is gone or was never for the bot. */
function readResult(answer: ApiResult): object | undefined {
  if (answer.kind === 'done') return answer.result
  const { kind, detail } = answer.outcome
  if (kind === 'retry' || kind === 'ambiguous') throw new Error(`A message of Webex could not be read: ${detail}`)
  return undefined
}

async function readMessage(connection: ChannelConnection, id: string): Promise<InboundEvent | undefined> {
  const message = readResult(await callWebex(connection, { method: 'GET', path: `messages/${encodeURIComponent(id)}` }))
  const [chat, person] = [pickText(message, 'roomId'), pickText(message, 'personId')]
  const html = pickText(message, 'html') ?? ''
  const text = addLinkAddresses(pickText(message, 'text') ?? '', html)
  const media = pickList(message, 'files').flatMap((url) => (typeof url === 'string' ? referenceTo(url) : []))
  if (chat === undefined || person === undefined) return undefined
  const thread = pickText(message, 'parentId')
  const name = pickText(message, 'personEmail') ?? person
  return {
    kind: 'message',
    key: id,
    address: { chat, ...(thread !== undefined && { thread }) },
    isGroup: pickText(message, 'roomType') !== 'direct',
    // Bots have addresses of their own.
    sender: { id: person, name, ...(name.endsWith('@webex.bot') && { isBot: true as const }) },
    messageId: id,
    text: text || media.length ? await withoutOwnName(connection, text) : unreadable,
    media,
    mentions: pickList(message, 'mentionedPeople').flatMap((one) => (typeof one === 'string' ? one : [])),
  }
}

/** The text of a group begins with the name of the bot that it mentions, without a mark. */
async function withoutOwnName(connection: ChannelConnection, text: string): Promise<string> {
  const name = (await getOwnAccount(connection))?.name ?? ''
  return name && text.startsWith(`${name} `) ? text.slice(name.length).trim() : text
}

const referenceTo = (url: string): readonly MediaReference[] =>
  URL.canParse(url) && url.length < 2_000 ? [{ kind: mediaKindOf(''), reference: url }] : []

async function readPress(connection: ChannelConnection, id: string): Promise<InboundEvent | undefined> {
  const path = `attachment/actions/${encodeURIComponent(id)}`
  const action = readResult(await callWebex(connection, { method: 'GET', path }))
  const [chat, person] = [pickText(action, 'roomId'), pickText(action, 'personId')]
  const data = pickText(action, 'inputs', 'data')
  if (chat === undefined || person === undefined || data === undefined) return undefined
  const thread = pickText(action, 'inputs', 'thread')
  return {
    kind: 'press',
    key: id,
    address: { chat, ...(thread !== undefined && { thread }) },
    isGroup: pick(action, 'inputs', 'isGroup') === true,
    sender: { id: person, name: person },
    pressId: id,
    messageId: pickText(action, 'messageId') ?? '',
    data,
  }
}

async function send(connection: ChannelConnection, message: OutboundMessage): Promise<SendOutcome> {
  const { address, chunk, file, editedMessageId, replyToMessageId } = message
  const content = { roomId: address.chat, markdown: encode(chunk) }
  if (editedMessageId !== undefined) {
    const path = `messages/${encodeURIComponent(editedMessageId)}`
    return editedOutcome(await callWebex(connection, { method: 'PUT', path, body: content }), editedMessageId)
  }
  if (file) return sendFile(connection, message, file)
  const body = {
    ...content,
    ...(address.thread !== undefined && { parentId: address.thread }),
    // Answers are quoted in groups alone.
    ...renderCard(chunk, address, replyToMessageId !== undefined),
  }
  return sentOutcome(await callWebex(connection, { method: 'POST', path: 'messages', body }), ({ id }) => id)
}

async function sendFile(
  connection: ChannelConnection,
  { address, chunk }: OutboundMessage,
  file: NonNullable<OutboundMessage['file']>,
): Promise<SendOutcome> {
  const form = new FormData()
  form.set('roomId', address.chat)
  if (address.thread !== undefined) form.set('parentId', address.thread)
  if (chunk.text.trim()) form.set('text', chunk.text.trim())
  form.set('files', new File([file.bytes], file.name, { type: file.mime }))
  return sentOutcome(await callWebex(connection, { method: 'POST', path: 'messages', body: form }), ({ id }) => id)
}

/** A press comes back without the kind of its room, so the button has it. */
function renderCard(chunk: MessageChunk, { thread }: ChatAddress, isGroup: boolean): object {
  const actions = (chunk.buttons?.flat() ?? []).map(({ label, data }) => ({
    type: 'Action.Submit',
    title: label,
    data: { data, isGroup, ...(thread !== undefined && { thread }) },
  }))
  if (!actions.length) return {}
  const content = {
    type: 'AdaptiveCard',
    version: '1.2',
    body: [{ type: 'TextBlock', text: encode(chunk), wrap: true }],
    actions,
  }
  return { attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', content }] }
}

/** One webhook for messages, one for presses. Those of an earlier address are removed. */
async function register(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const listed = await callWebex(connection, { method: 'GET', path: 'webhooks?max=100' })
  if (listed.kind === 'failed') return { ok: false, detail: listed.outcome.detail }
  for (const one of pickList(listed.result, 'items')) {
    const id = pickText(one, 'id')
    if (id === undefined || pickText(one, 'targetUrl') !== connection.webhookUrl) continue
    await callWebex(connection, { method: 'DELETE', path: `webhooks/${encodeURIComponent(id)}` })
  }
  if (!isOn) return { ok: true, detail: 'Webex forgot the address.' }
  const secret = await secretOf(connection)
  for (const resource of ['messages', 'attachmentActions']) {
    const body = { name: `Talaria ${resource}`, targetUrl: connection.webhookUrl, resource, event: 'created', secret }
    const made = await callWebex(connection, { method: 'POST', path: 'webhooks', body })
    if (made.kind === 'failed') return { ok: false, detail: made.outcome.detail }
  }
  return { ok: true, detail: 'Webex sends its events here.' }
}

async function resolveTarget(connection: ChannelConnection, address: ChatAddress): Promise<ResolvedTarget> {
  if (!/^[\w=-]{10,200}$/.test(address.chat))
    return { kind: 'unknown', detail: 'Webex names rooms by long ids, like Y2lzY29z….' }
  const answer = await callWebex(connection, { method: 'GET', path: `rooms/${encodeURIComponent(address.chat)}` })
  return resolveBy(answer, { address, isGroup: answer.kind === 'failed' || pick(answer.result, 'type') !== 'direct' })
}

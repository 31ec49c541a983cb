/** Implements the channel port for LINE: answers take the reply token of a message first, then the push API. */

import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { MessageChunk, SendOutcome } from '#agent/core/delivery.ts'
import { type JsonObject, parseJson } from '#agent/core/parse-json.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import type {
  Channel,
  ChannelConnection,
  ChatAddress,
  FetchedMedia,
  OutboundMessage,
  Registration,
  ResolvedTarget,
} from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { type ApiResult, defineApi, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick } from '../kit/pick.ts'
import { hmac, verified } from '../kit/proof.ts'
import { parseEvents } from './parse-events.ts'

const apiUrl = 'https://api.line.me'
const dataUrl = 'https://api-data.line.me'

/** LINE accepts 5000 UTF-16 units. The rest is room for a line in front. */
const { render, textLimit } = defineDialect({ max: 4_900, unit: 'utf16' })

const authorizationOf = ({ secrets }: ChannelConnection): string => `Bearer ${secrets['channel_access_token'] ?? ''}`

const callLine = defineApi({
  prefix: () => 'v2/bot/',
  headers: (connection) => ({ authorization: authorizationOf(connection) }),
  readFailure: ({ message, details }) => ({
    message: typeof message === 'string' ? message : '',
    details: JSON.stringify(details ?? ''),
  }),
  outcomes: [
    { status: 429, words: /monthly limit/i, is: 'fatal' },
    { words: /invalid reply token/i, is: 'gone' },
    { words: /length must be|too long/i, is: 'too_long' },
    { words: /property, 'to'|user id|group id|not found/i, is: 'forbidden' },
  ],
})

const loadingSeconds = 20

export const line: Channel = {
  platform: 'line',
  name: 'LINE',
  apiBase: { variable: 'LINE_API_BASE', url: apiUrl },
  secrets: {
    channel_access_token: {
      shape: /^[\x21-\x7e]{1,1000}$/,
      hint: 'The long-lived channel access token, from the page Messaging API of the channel.',
    },
    channel_secret: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The channel secret, from the basic settings.' },
  },
  capabilities: {
    buttons: { maxRows: 13, maxPerRow: 1, maxLabelChars: 20, maxDataBytes: 300 },
    typing: { durationMs: loadingSeconds * 1_000 },
    // Replies have no key: a token that was used is refused, whichever attempt used it.
    idempotencyKeys: 'without-reply-handle',
  },
  textLimit,
  receive: verified(
    hmac({ hash: 'SHA-256', secret: 'channel_secret', header: 'x-line-signature', encoding: 'base64' }),
    ({ body, receivedAt }) => ({ events: parseEvents(parseJson(body), receivedAt) }),
  ),
  render,
  send,
  showTyping: async (connection, { chat }) =>
    sentOutcome(
      await (chat.startsWith('U')
        ? callLine(connection, {
            method: 'POST',
            path: 'chat/loading/start',
            body: { chatId: chat, loadingSeconds },
          })
        : callLine(connection, { method: 'GET', path: 'info' })),
    ),
  getAccount: async (connection) => {
    const answer = await callLine(connection, { method: 'GET', path: 'info' })
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    return { id: String(answer.result['userId'] ?? ''), name: String(answer.result['displayName'] ?? '') }
  },
  fetchMedia,
  register,
  resolveTarget,
}

async function send(connection: ChannelConnection, message: OutboundMessage, key: string): Promise<SendOutcome> {
  const { address, replyHandle, chunk, repeated = chunk } = message
  if (replyHandle) {
    const body = { replyToken: replyHandle.token, messages: [renderChunk(chunk)] }
    const replied = getOutcome(await callLine(connection, { method: 'POST', path: 'message/reply', body }))
    // An earlier part of the answer used the token, or an attempt whose outcome is not known.
    if (replied.kind !== 'gone') return replied
  }
  const headers = { 'x-line-retry-key': await retryKeyOf(key) }
  const body = { to: address.chat, messages: [renderChunk(repeated)] }
  const pushed = await callLine(connection, { method: 'POST', path: 'message/push', body, headers })
  // The message was accepted under this key before.
  return pushed.kind === 'failed' && pushed.status === 409 ? { kind: 'sent' } : getOutcome(pushed)
}

const getOutcome = (answer: ApiResult): SendOutcome =>
  sentOutcome(answer, (result) => pick(result, 'sentMessages', 0, 'id'))

/** LINE takes UUIDs. */
async function retryKeyOf(key: string): Promise<string> {
  const hash = await sha256Hex(key, 16)
  return [hash.slice(0, 8), hash.slice(8, 12), hash.slice(12, 16), hash.slice(16, 20), hash.slice(20)].join('-')
}

function renderChunk(chunk: MessageChunk): object {
  const buttons = chunk.buttons?.flat() ?? []
  const items = buttons.map(({ label, data }) => ({
    type: 'action',
    action: { type: 'postback', label, data, displayText: label },
  }))
  return { type: 'text', text: chunk.text, ...(items.length > 0 && { quickReply: { items } }) }
}

async function fetchMedia(
  connection: ChannelConnection,
  { reference, mime, name }: MediaReference,
  maxBytes: number,
): Promise<FetchedMedia> {
  if (URL.canParse(reference)) return fetchMediaFrom(connection, { url: reference, mime, name }, maxBytes)
  const base = connection.apiBase === apiUrl ? dataUrl : connection.apiBase
  const url = `${base}/v2/bot/message/${encodeURIComponent(reference)}/content`
  const headers = { authorization: authorizationOf(connection) }
  const fetched = await fetchMediaFrom(connection, { url, headers, mime, name }, maxBytes)
  // LINE answers 202 without content while it prepares a long video.
  return fetched.kind === 'fetched' && !fetched.bytes.length
    ? { kind: 'failed', detail: 'LINE still prepares the file', canRetry: true }
    : fetched
}

/** LINE keeps one address for each channel, and a switch that only a person can turn on. */
async function register(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const { webhookUrl: url } = connection
  const path = 'channel/webhook/endpoint'
  const byHand = `Enter the address in the LINE Developers console, under Messaging API: ${url}`
  if (isOn && !url.startsWith('https://')) return { ok: true, detail: byHand }
  if (!isOn && (await getEndpoint(connection))?.endpoint !== url)
    return { ok: true, detail: 'LINE has another address.' }
  const changed = await callLine(connection, { method: 'PUT', path, body: { endpoint: isOn ? url : '' } })
  if (changed.kind === 'failed') return { ok: false, detail: `${byHand} (${changed.outcome.detail})` }
  if (!isOn) return { ok: true, detail: 'LINE forgot the address.' }
  return (await getEndpoint(connection))?.active === false
    ? { ok: false, detail: 'LINE has the address. Switch on "Use webhook" in the LINE Developers console.' }
    : { ok: true, detail: 'LINE sends the messages here.' }
}

/** Undefined: LINE has no address, or did not say. */
async function getEndpoint(connection: ChannelConnection): Promise<JsonObject | undefined> {
  const answer = await callLine(connection, { method: 'GET', path: 'channel/webhook/endpoint' })
  return answer.kind === 'done' ? answer.result : undefined
}

async function resolveTarget(connection: ChannelConnection, address: ChatAddress): Promise<ResolvedTarget> {
  const { chat } = address
  if (!/^[UCR][0-9A-Za-z]{1,64}$/.test(chat))
    return { kind: 'unknown', detail: 'LINE names people by U…, groups by C… and rooms by R…' }
  const paths = { U: `profile/${chat}`, C: `group/${chat}/summary`, R: `room/${chat}/members/count` }
  return resolveBy(await callLine(connection, { method: 'GET', path: paths[chat[0] as keyof typeof paths] }), {
    address: { chat },
    isGroup: !chat.startsWith('U'),
  })
}

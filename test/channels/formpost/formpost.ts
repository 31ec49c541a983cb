/**
 * Implements the channel port for Formpost, a platform that exists only in tests. It needs what Telegram does not: a GET
 * challenge, an immediate answer to a ping, several events in one form body, a signature over time and raw bytes, a
 * response body, and idempotency keys.
 */

import type { SendOutcome } from '#agent/core/delivery.ts'
import {
  type Channel,
  type ChannelConnection,
  type InboundEvent,
  type InboundRequest,
  type Received,
  refused,
} from '#channels/channel.ts'
import { isSameSecret } from '#channels/is-same-secret.ts'
import { splitText } from '#channels/text/split-text.ts'

const signatureWindowMs = 300_000
const shape = /^\S{1,200}$/

const textLimit = { max: 500, unit: 'utf8' } as const

export const formpost: Channel = {
  platform: 'formpost',
  name: 'Formpost',
  apiBase: { variable: 'FORMPOST_API_BASE', url: 'https://formpost.test' },
  secrets: {
    access_token: { shape, hint: 'Opens the API.' },
    signing_secret: { shape, hint: 'Signs the events.' },
    verify_token: { shape, hint: 'Proves the challenge.' },
  },
  capabilities: {
    edit: { intervalMs: () => 1_000 },
    typing: { durationMs: 5_000 },
    buttons: { maxRows: 3, maxPerRow: 1, maxLabelChars: 60, maxDataBytes: 64 },
    replyWindowMs: 86_400_000,
    idempotencyKeys: true,
  },
  textLimit,
  receive: (request, connection) =>
    request.method === 'GET' ? answerChallenge(request, connection) : receiveEvents(request, connection),
  render: (text) => splitText(text, [], { ...textLimit, maxSpans: 0 }),
  send: async (connection, { address, chunk, editedMessageId }, key) =>
    call(connection, 'messages', {
      key,
      chat: address.chat,
      text: chunk.text,
      buttons: chunk.buttons,
      editedMessageId,
    }),
  showTyping: (connection, { chat }) => call(connection, 'typing', { chat }),
  answerPress: (connection, pressId, text) => call(connection, 'presses', { pressId, text }),
  getAccount: async (connection) => {
    const outcome = await call(connection, 'account', {})
    return outcome.kind === 'sent'
      ? { id: outcome.id ?? '', name: 'FormpostBot' }
      : { refused: 'detail' in outcome ? outcome.detail : '' }
  },
  resolveTarget: async (_connection, address) =>
    address.chat.startsWith('c')
      ? { kind: 'found', address, isGroup: false }
      : { kind: 'unknown', detail: 'A chat of Formpost begins with c.' },
}

async function answerChallenge({ url }: InboundRequest, { secrets }: ChannelConnection): Promise<Received> {
  const isProven = isSameSecret(url.searchParams.get('verify_token'), secrets['verify_token'])
  return isProven ? { response: new Response(url.searchParams.get('challenge')), events: [] } : refused(403)
}

async function receiveEvents(request: InboundRequest, { secrets }: ChannelConnection): Promise<Received> {
  const { headers, body, receivedAt } = request
  const timestamp = headers.get('x-formpost-timestamp') ?? ''
  const isFresh = Math.abs(receivedAt - Number(timestamp) * 1_000) <= signatureWindowMs
  const secret = secrets['signing_secret']
  if (!isFresh || !secret) return refused()
  const expected = await signatureOf(secret, timestamp, body)
  if (!isSameSecret(headers.get('x-formpost-signature'), expected)) return refused()
  const form = new URLSearchParams(new TextDecoder().decode(body))
  if (form.get('type') === 'ping') return { response: Response.json({ type: 'pong' }), events: [] }
  const response = new Response('<Response/>', { headers: { 'content-type': 'text/xml' } })
  return { response, events: form.getAll('event').flatMap(parseEvent) }
}

export async function signatureOf(secret: string, timestamp: string, body: Uint8Array): Promise<string> {
  const encode = (text: string) => new TextEncoder().encode(text)
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encode(secret), algorithm, false, ['sign'])
  const signed = new Uint8Array(
    await crypto.subtle.sign('HMAC', key, new Uint8Array([...encode(`${timestamp}.`), ...body])),
  )
  return [...signed].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** An event as Formpost writes it: a query string in a field of the form. */
function parseEvent(source: string): readonly InboundEvent[] {
  const fields = new URLSearchParams(source)
  const get = (name: string) => fields.get(name) ?? ''
  if (!get('id') || !get('chat') || !get('from')) return []
  const event = {
    key: get('id'),
    address: { chat: get('chat') },
    isGroup: get('group') === '1',
    sender: { id: get('from'), name: get('name') },
    messageId: get('message'),
  }
  const failed = get('failed')
  if (failed) {
    const outcome = { kind: 'window', detail: failed } as const
    return [{ ...event, kind: 'lifecycle', change: 'not-delivered', outcome }]
  }
  if (fields.has('press')) return [{ ...event, kind: 'press', pressId: get('press'), data: get('data') }]
  return [{ ...event, kind: 'message', text: get('text'), media: [], mentions: fields.getAll('mention') }]
}

async function call({ apiBase, secrets }: ChannelConnection, method: string, body: object): Promise<SendOutcome> {
  let response: Response
  try {
    const headers = { authorization: `Bearer ${secrets['access_token']}` }
    response = await fetch(`${apiBase}/${method}`, { method: 'POST', headers, body: JSON.stringify(body) })
  } catch {
    return { kind: 'ambiguous', detail: 'the connection broke' }
  }
  const detail = `HTTP ${response.status}`
  if (response.ok) return { kind: 'sent', ...(await response.json<{ id?: string }>()) }
  if (response.status === 429)
    return { kind: 'retry', detail, waitMs: Number(response.headers.get('retry-after')) * 1_000 }
  if (response.status >= 500) return { kind: 'retry', detail }
  return { kind: refusals[response.status] ?? 'fatal', detail }
}

const refusals: Readonly<Record<number, 'forbidden' | 'gone' | 'format' | 'too_long' | 'window'>> = {
  401: 'forbidden',
  403: 'forbidden',
  410: 'gone',
  413: 'too_long',
  415: 'format',
  470: 'window',
}

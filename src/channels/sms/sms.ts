/** Implements the channel port for SMS through Twilio. */

import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { SendOutcome } from '#agent/core/delivery.ts'
import {
  type Channel,
  type ChannelConnection,
  type InboundEvent,
  type InboundRequest,
  type OutboundMessage,
  type Received,
  refused,
} from '../channel.ts'
import { fetchMediaFrom, isOnDomain, isSameOrigin } from '../fetch-media.ts'
import { computeHmac } from '../hmac.ts'
import { isPhoneNumber } from '../is-phone-number.ts'
import { isSameSecret } from '../is-same-secret.ts'
import { registerNumber } from './register-number.ts'
import { maxTextChars, renderSms } from './sms-text.ts'
import { authorizationOf, callTwilio, unreachable } from './twilio-api.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'

const maxMedia = 10

export const sms: Channel = {
  platform: 'sms',
  apiBase: { variable: 'TWILIO_API_BASE', url: 'https://api.twilio.com' },
  secrets: {
    account_sid: { shape: /^AC[A-Za-z0-9]{1,64}$/, hint: 'The account SID of Twilio: AC and 32 characters.' },
    auth_token: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The auth token of the account. It also signs the webhooks.' },
    from: {
      shape: /^(\+\d{5,20}|\d{3,8}|MG[A-Za-z0-9]{1,64})$/,
      hint: 'The number that sends, like +15550001111, or the SID of a messaging service.',
    },
  },
  // Short numbers have no country code.
  normalizeId: (id) => (isPhoneNumber(id) ? `+${id.replace(/\D/g, '')}` : id),
  capabilities: {},
  textLimit: { max: maxTextChars, unit: 'utf16' },
  receive,
  render: renderSms,
  send,
  probe: async (connection) => {
    const answer = await callTwilio(connection, 'GET', '.json')
    return answer.kind === 'done' ? { kind: 'sent' } : answer.outcome
  },
  getAccount: async (connection) => {
    const answer = await callTwilio(connection, 'GET', '.json')
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    const { friendly_name: name } = answer.result
    return { id: connection.secrets['from'] ?? '', name: typeof name === 'string' ? name : '' }
  },
  register: registerNumber,
  fetchMedia: (connection, { reference, mime, name }: MediaReference, maxBytes) => {
    const isOwn = isSameOrigin(reference, connection.apiBase) || isOnDomain(reference, ['twilio.com'])
    const headers = isOwn ? { authorization: authorizationOf(connection) } : {}
    return fetchMediaFrom(connection, { url: reference, headers, mime, name }, maxBytes)
  },
  // Twilio looks a number up for money only.
  resolveTarget: async (_connection, { chat }) =>
    /^\+\d{5,20}$/.test(chat)
      ? { kind: 'found', address: { chat }, isGroup: false }
      : { kind: 'unknown', detail: 'SMS needs a number with the country code, like +15550002222.' },
}

async function receive(request: InboundRequest, connection: ChannelConnection): Promise<Received> {
  const form = new URLSearchParams(new TextDecoder().decode(request.body))
  if (!(await isSigned(request, form, connection))) return refused()
  const response = new Response('<?xml version="1.0" encoding="UTF-8"?><Response/>', {
    headers: { 'content-type': 'text/xml' },
  })
  const event = parseForm(form)
  return { response, events: event ? [event] : [] }
}

/** Twilio signs the address as it was registered, and then each field in the order of the names. */
async function isSigned(
  { headers, url }: InboundRequest,
  form: URLSearchParams,
  { secrets, webhookUrl }: ChannelConnection,
): Promise<boolean> {
  const token = secrets['auth_token']
  const signature = headers.get('x-twilio-signature')
  if (!token || !signature) return false
  const names = [...new Set(form.keys())].toSorted()
  // Fields with several values count each value once, in order.
  const fields = names.flatMap((name) => [...new Set(form.getAll(name))].toSorted().map((value) => name + value))
  const signed = new TextEncoder().encode(webhookUrl + url.search + fields.join(''))
  const expected = encodeBase64Bytes(await computeHmac('SHA-1', token, signed))
  return isSameSecret(signature, expected)
}

/**
 * Words with which people subscribe and unsubscribe. Twilio answers them itself, and delivers nothing to who unsubscribed.
 * It names the word only with its advanced opt-out. YES is left out, because it also answers questions.
 */
const subscriptions: Readonly<Record<string, 'added' | 'removed'>> = {
  ...Object.fromEntries(
    ['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'REVOKE', 'OPTOUT'].map((word) => [word, 'removed']),
  ),
  START: 'added',
  UNSTOP: 'added',
}

function parseForm(form: URLSearchParams): InboundEvent | undefined {
  const get = (name: string) => form.get(name) ?? ''
  const sid = get('MessageSid') || get('SmsSid')
  const state = get('MessageStatus')
  if (!sid) return undefined
  if (state && state !== 'received') return parseStatus(form, sid)
  const from = get('From')
  const text = get('Body')
  const media = getMedia(form)
  if (!from) return undefined
  const source = {
    key: sid,
    address: { chat: from },
    isGroup: false,
    sender: { id: from, name: get('ProfileName') || from },
  }
  const change = subscriptions[(get('OptOutType') || text).trim().toUpperCase()]
  if (change) return { ...source, kind: 'lifecycle', change }
  if (get('OptOutType') || (!text.trim() && !media.length)) return undefined
  return { ...source, kind: 'message', messageId: sid, text, media, mentions: [] }
}

function parseStatus(form: URLSearchParams, sid: string): InboundEvent | undefined {
  const state = form.get('MessageStatus') ?? ''
  const to = form.get('To')
  if (!['failed', 'undelivered'].includes(state) || !to) return undefined
  const code = Number(form.get('ErrorCode') ?? 0)
  const detail = `${state}${code ? `: error ${code} of Twilio` : ''}`
  return {
    key: `${sid}:${state}`,
    address: { chat: to },
    isGroup: false,
    sender: { id: to, name: to },
    kind: 'lifecycle',
    change: 'not-delivered',
    messageId: sid,
    outcome: { kind: unreachable.has(code) ? 'forbidden' : 'fatal', detail },
  }
}

function getMedia(form: URLSearchParams): readonly MediaReference[] {
  const count = Math.min(Number(form.get('NumMedia')) || 0, maxMedia)
  return Array.from({ length: count }, (_, n) => n).flatMap((n) => {
    const reference = form.get(`MediaUrl${n}`)
    const mime = form.get(`MediaContentType${n}`)
    return reference ? [{ kind: mediaKindOf(mime ?? ''), reference, ...(mime && { mime }) }] : []
  })
}

async function send(connection: ChannelConnection, { address, chunk }: OutboundMessage): Promise<SendOutcome> {
  const { secrets, webhookUrl } = connection
  const from = secrets['from'] ?? ''
  const answer = await callTwilio(connection, 'POST', '/Messages.json', {
    To: address.chat,
    ...(from.startsWith('MG') ? { MessagingServiceSid: from } : { From: from }),
    Body: chunk.text,
    // Twilio rejects an address that it cannot reach.
    ...(webhookUrl.startsWith('https://') && { StatusCallback: webhookUrl }),
  })
  if (answer.kind === 'failed') return answer.outcome
  const { sid } = answer.result
  return { kind: 'sent', ...(typeof sid === 'string' && { id: sid }) }
}

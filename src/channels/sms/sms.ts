/** Implements the channel port for SMS through Twilio. */

import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { MessageChunk, SendOutcome } from '#agent/core/delivery.ts'
import {
  type Channel,
  type ChannelConnection,
  type InboundEvent,
  type InboundRequest,
  type OutboundMessage,
  type Received,
  refused,
  type Registration,
} from '../channel.ts'
import { fetchMediaFrom, isOnDomain, isSameOrigin } from '../fetch-media.ts'
import { computeHmac } from '../hmac.ts'
import { isPhoneNumber } from '../is-phone-number.ts'
import { isSameSecret } from '../is-same-secret.ts'
import { authorizationOf, callTwilio, unreachable } from './twilio-api.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { parseMarkdown } from '../text/parse-markdown.ts'
import { writeLinkAddresses } from '../text/plain-links.ts'
import { splitEncoded } from '../text/split-encoded.ts'

// Writes plain text for SMS and counts its segments. A text of the GSM alphabet has 153 characters in each segment of
// a long message; any other character makes it UCS-2 with 67.

/** Twilio accepts 1600 characters. Many carriers join no more than ten segments. */
const maxTextChars = 1_600
const maxSegments = 10
/** Room for a line in front of a message, in UCS-2 units. */
const prefixUnits = 80

const gsm = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
)
/** Characters that take two places of the GSM alphabet. */
const gsmPairs = new Set('^{}\\[~]|€\f')

const isGsm = (text: string): boolean => {
  for (const char of text) if (!gsm.has(char) && !gsmPairs.has(char)) return false
  return true
}

/** The places that a text takes: septets of the GSM alphabet, or units of UCS-2. */
function countUnits(text: string): number {
  let units = 0
  for (const char of text) units += gsmPairs.has(char) ? 2 : 1
  return units
}

export function countSegments(text: string): number {
  if (!isGsm(text)) return text.length <= 70 ? 1 : Math.ceil(text.length / 67)
  const units = countUnits(text)
  return units <= 160 ? 1 : Math.ceil(units / 153)
}

/**
 * The size in GSM places. One that needs UCS-2 counts 153/67 for each unit, so that one limit serves both. A pair that
 * does not fit into a segment moves to the next one; the room in front covers that.
 */
const sizeOf = ({ text }: MessageChunk): number =>
  isGsm(text) ? countUnits(text) : Math.ceil((text.length * 153) / 67)

const maxUnits = 153 * maxSegments - Math.ceil((prefixUnits * 153) / 67)

/** Typographic characters of models and of our own parser, which would more than double the price of a message. */
const replacements: Readonly<Record<string, string>> = {
  '‘': "'",
  '’': "'",
  '‚': "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '–': '-',
  '—': '-',
  '−': '-',
  '…': '...',
  '•': '-',
  '·': '-',
  '☐': '[ ]',
  '☑': '[x]',
  '→': '->',
  '←': '<-',
  '\u00a0': ' ',
  '\u202f': ' ',
  '\u2009': ' ',
}
const replaceable = new RegExp(`[${Object.keys(replacements).join('')}]`, 'g')

export const renderSms = (source: string, format: 'markdown' | 'plain'): readonly MessageChunk[] => {
  const text = format === 'plain' ? source : writeLinkAddresses(parseMarkdown(source, { hasColumns: false })).text
  const simple = format === 'plain' ? text : text.replace(replaceable, (char) => replacements[char] ?? char)
  return splitEncoded({ text: simple, spans: [] }, { max: maxUnits, size: sizeOf })
}

type TwilioNumber = { readonly sid?: string; readonly sms_url?: string }

/**
 * Services (`MG…`) and short codes have other APIs, a number may belong to another account, and Twilio takes https alone. Then a person enters the
 * address, which is no failure of the channel.
 */
const byHand = (url: string): Registration => ({
  ok: true,
  detail: `Enter the address at Twilio, as the webhook for incoming messages (HTTP POST): ${url}`,
})

/** Names the webhook of a channel at Twilio, as the address for incoming messages of its number. */
async function registerNumber(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const { webhookUrl: url } = connection
  const number = url.startsWith('https://') ? await findNumber(connection) : undefined
  if (number?.sid === undefined) return byHand(url)
  // An address that somebody else entered stays.
  if (!isOn && number.sms_url !== url) return { ok: true, detail: 'Twilio has another address.' }
  const changed = await callTwilio(connection, 'POST', `/IncomingPhoneNumbers/${encodeURIComponent(number.sid)}.json`, {
    SmsUrl: isOn ? url : '',
    SmsMethod: 'POST',
  })
  if (changed.kind === 'failed') return { ok: false, detail: changed.outcome.detail }
  return { ok: true, detail: isOn ? 'Twilio sends the messages of the number here.' : 'Twilio forgot the address.' }
}

async function findNumber(connection: ChannelConnection): Promise<TwilioNumber | undefined> {
  const from = connection.secrets['from'] ?? ''
  if (!from.startsWith('+')) return undefined
  const query = new URLSearchParams({ PhoneNumber: from })
  const found = await callTwilio(connection, 'GET', `/IncomingPhoneNumbers.json?${query.toString()}`)
  if (found.kind === 'failed') return undefined
  const { incoming_phone_numbers: numbers } = found.result as {
    readonly incoming_phone_numbers?: readonly TwilioNumber[]
  }
  return numbers?.[0]
}

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

/** Creates a channel over Twilio's Messages API. SMS, WhatsApp and RCS differ in the prefix of addresses and in the text. */

import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { MessageChunk, SendOutcome } from '#agent/core/delivery.ts'
import type {
  Channel,
  ChannelCapabilities,
  ChannelConnection,
  InboundEvent,
  OutboundMessage,
  Registration,
  SecretShape,
  TextLimit,
} from '../channel.ts'
import { fetchMediaFrom, isOnDomain, isSameOrigin } from '../fetch-media.ts'
import { isPhoneNumber } from '../is-phone-number.ts'
import { classifyReport, sentOutcome } from '../kit/api.ts'
import { verified } from '../kit/proof.ts'
import { describeContent, describeForward, unreadable } from '../text/describe-forward.ts'
import { authorizationOf, callTwilio, isSignedByTwilio, twilioOutcomes } from './twilio-api.ts'

/** Twilio accepts 1600 characters. */
export const maxTextChars = 1_600
/** With room for a line in front. */
export const roomyTextChars = 1_500
const maxMedia = 10

export type TwilioPlatform = {
  readonly platform: string
  readonly name: string
  /** Stands in front of the numbers and of the sender. */
  readonly prefix: '' | 'whatsapp:' | 'rcs:'
  /** The prefixes of people whose messages belong to this channel. */
  readonly accepts: readonly string[]
  readonly from: SecretShape
  /** Words like STOP unsubscribe, without a field that says so. */
  readonly hasSubscriptions: boolean
  /** Twilio's API names the webhook of the number. */
  readonly isRegistered: boolean
  readonly capabilities: ChannelCapabilities
  readonly textLimit: TextLimit
  readonly render: Channel['render']
  /** Absent: chunks are sent as they are. */
  readonly encode?: (chunk: MessageChunk) => string
}

export const createTwilioChannel = (twilio: TwilioPlatform): Channel => ({
  platform: twilio.platform,
  name: twilio.name,
  apiBase: { variable: 'TWILIO_API_BASE', url: 'https://api.twilio.com' },
  secrets: {
    account_sid: { shape: /^AC[A-Za-z0-9]{1,64}$/, hint: 'The account SID of Twilio: AC and 32 characters.' },
    auth_token: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The auth token of the account. It also signs the webhooks.' },
    from: twilio.from,
  },
  // Short numbers have no country code.
  normalizeId: (id) => {
    const number = id.slice(twilio.prefix.length * Number(id.startsWith(twilio.prefix)))
    return isPhoneNumber(number) ? `+${number.replace(/\D/g, '')}` : number
  },
  capabilities: twilio.capabilities,
  textLimit: twilio.textLimit,
  receive: verified(isSignedByTwilio, ({ body }) => {
    const response = new Response('<?xml version="1.0" encoding="UTF-8"?><Response/>', {
      headers: { 'content-type': 'text/xml' },
    })
    const event = parseForm(twilio, new URLSearchParams(new TextDecoder().decode(body)))
    return { response, events: event ? [event] : [] }
  }),
  render: twilio.render,
  send: (connection, message) => send(twilio, connection, message),
  probe: async (connection) => sentOutcome(await callTwilio(connection, { method: 'GET', path: '.json' })),
  getAccount: async (connection) => {
    const answer = await callTwilio(connection, { method: 'GET', path: '.json' })
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    const { friendly_name: name } = answer.result
    return { id: connection.secrets['from'] ?? '', name: typeof name === 'string' ? name : '' }
  },
  register: (connection, isOn) => registerSender(twilio, connection, isOn),
  fetchMedia: (connection, { reference, mime, name }: MediaReference, maxBytes) => {
    const isOwn = isSameOrigin(reference, connection.apiBase) || isOnDomain(reference, ['twilio.com'])
    const headers = isOwn ? { authorization: authorizationOf(connection) } : {}
    return fetchMediaFrom(connection, { url: reference, headers, mime, name }, maxBytes)
  },
  // Twilio looks a number up for money only.
  resolveTarget: async (_connection, { chat }) =>
    /^\+\d{5,20}$/.test(chat)
      ? { kind: 'found', address: { chat }, isGroup: false }
      : { kind: 'unknown', detail: `${twilio.name} needs a number with the country code, like +15550002222.` },
})

type TwilioNumber = { readonly sid?: string; readonly sms_url?: string }

/**
 * Services (`MG…`), short codes and senders of other kinds have other APIs, a number may belong to another account, and
 * Twilio takes https alone. Then a person enters the address, which is no failure of the channel.
 */
const byHand = (url: string): Registration => ({
  ok: true,
  detail: `Enter the address at Twilio, as the webhook for incoming messages (HTTP POST): ${url}`,
})

/** Names the webhook of a channel at Twilio, as the address for incoming messages of its number. */
async function registerSender(
  { isRegistered }: TwilioPlatform,
  connection: ChannelConnection,
  isOn: boolean,
): Promise<Registration> {
  const { webhookUrl: url } = connection
  const number = isRegistered && url.startsWith('https://') ? await findNumber(connection) : undefined
  if (number?.sid === undefined) return byHand(url)
  // An address that somebody else entered stays.
  if (!isOn && number.sms_url !== url) return { ok: true, detail: 'Twilio has another address.' }
  const changed = await callTwilio(connection, {
    method: 'POST',
    path: `/IncomingPhoneNumbers/${encodeURIComponent(number.sid)}.json`,
    body: new URLSearchParams({ SmsUrl: isOn ? url : '', SmsMethod: 'POST' }),
  })
  if (changed.kind === 'failed') return { ok: false, detail: changed.outcome.detail }
  return { ok: true, detail: isOn ? 'Twilio sends the messages of the number here.' : 'Twilio forgot the address.' }
}

async function findNumber(connection: ChannelConnection): Promise<TwilioNumber | undefined> {
  const from = connection.secrets['from'] ?? ''
  if (!from.startsWith('+')) return undefined
  const query = new URLSearchParams({ PhoneNumber: from })
  const found = await callTwilio(connection, { method: 'GET', path: `/IncomingPhoneNumbers.json?${query.toString()}` })
  if (found.kind === 'failed') return undefined
  const { incoming_phone_numbers: numbers } = found.result as {
    readonly incoming_phone_numbers?: readonly TwilioNumber[]
  }
  return numbers?.[0]
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

function parseForm(twilio: TwilioPlatform, form: URLSearchParams): InboundEvent | undefined {
  const get = (name: string) => form.get(name) ?? ''
  const sid = get('MessageSid') || get('SmsSid')
  const state = get('MessageStatus')
  if (!sid) return undefined
  if (state && state !== 'received') return parseStatus(form, sid)
  const [, prefix = '', from] = /^([a-z]+:)?(.{1,100})$/s.exec(get('From')) ?? []
  if (from === undefined || !twilio.accepts.includes(prefix)) return undefined
  const sender = { id: from, name: get('ProfileName') || from }
  return parseMessage(twilio, form, { key: sid, address: { chat: from }, isGroup: false, sender })
}

type TwilioSource = Pick<InboundEvent, 'key' | 'address' | 'isGroup' | 'sender'>

function parseMessage(
  { hasSubscriptions }: TwilioPlatform,
  form: URLSearchParams,
  source: TwilioSource,
): InboundEvent | undefined {
  const optOut = form.get('OptOutType')
  const word = optOut || (hasSubscriptions && form.get('Body')) || ''
  const change = subscriptions[word.trim().toUpperCase()]
  if (change) return { ...source, kind: 'lifecycle', change }
  const media = getMedia(form)
  const text = parseText(form, media.length > 0)
  if (optOut) return undefined
  const quoted = form.get('OriginalRepliedMessageSid')
  const isEmpty = !text.trim() && !media.length
  const content = { messageId: source.key, text: isEmpty ? unreadable : text, media, mentions: [] }
  return { ...source, kind: 'message', ...content, ...(quoted && { quote: { messageId: quoted } }) }
}

/** Content that is neither text nor a file stands in brackets. */
function parseText(form: URLSearchParams, hasMedia: boolean): string {
  const get = (name: string) => form.get(name) ?? ''
  const place = get('Latitude')
    ? describeContent('location', get('Label'), get('Address'), get('Latitude'), get('Longitude'))
    : ''
  const advertisement = get('ReferralSourceUrl')
    ? describeContent('from the advertisement', get('ReferralHeadline'), get('ReferralBody'), get('ReferralSourceUrl'))
    : ''
  const text = [get('Body'), place, advertisement].filter(Boolean).join('\n')
  const isForwarded = get('Forwarded') === 'true' || get('FrequentlyForwarded') === 'true'
  return isForwarded && (text || hasMedia) ? describeForward(text) : text
}

function parseStatus(form: URLSearchParams, sid: string): InboundEvent | undefined {
  const state = form.get('MessageStatus') ?? ''
  const to = form.get('To')?.replace(/^[a-z]+:/, '')
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
    outcome: classifyReport(twilioOutcomes, { code }, detail),
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

async function send(
  { prefix, encode }: TwilioPlatform,
  connection: ChannelConnection,
  { address, chunk }: OutboundMessage,
): Promise<SendOutcome> {
  const { secrets, webhookUrl } = connection
  const from = secrets['from'] ?? ''
  const isService = from.startsWith('MG')
  // With a service, a number without prefix lets Twilio fall back from RCS to SMS.
  const to = isService && prefix === 'rcs:' ? address.chat : prefix + address.chat
  const body = new URLSearchParams({
    To: to,
    ...(isService ? { MessagingServiceSid: from } : { From: prefix + from }),
    Body: encode?.(chunk) ?? chunk.text,
    // Twilio rejects an address that it cannot reach.
    ...(webhookUrl.startsWith('https://') && { StatusCallback: webhookUrl }),
  })
  return sentOutcome(await callTwilio(connection, { method: 'POST', path: '/Messages.json', body }), ({ sid }) => sid)
}

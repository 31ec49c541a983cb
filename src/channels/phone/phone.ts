/**
 * Implements telephone calls by ConversationRelay: the carrier asks by webhook what to do with a call, and opens a socket
 * with text. The socket belongs to an object of the call (durable/channels/phone-call.ts).
 */

import { decodeBase64Bytes, decodeBase64Url, encodeBase64Bytes, encodeBase64Url } from '#agent/core/base64.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { toHex } from '#durable/platform/hash.ts'
import {
  type CallIdentity,
  type Channel,
  type ChannelConnection,
  type InboundRequest,
  type PlacedCall,
  type Received,
  refused,
  type Registration,
  type SecretShape,
  type Speech,
} from '../channel.ts'
import { computeHmac } from '../hmac.ts'
import { isPhoneNumber } from '../is-phone-number.ts'
import { isSameSecret } from '../is-same-secret.ts'
import { type ApiResult, defineApi, type PlatformCall, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pickNumber, pickText } from '../kit/pick.ts'
import { ed25519, type Proof } from '../kit/proof.ts'
import { callTwilio, isSignedByTwilio } from '../sms/twilio-api.ts'

/** A call is over after this time. */
const maxCallMs = 4 * 3_600_000
const { render, textLimit } = defineDialect({ max: 4_000, unit: 'utf16' })
const shape = /^[\x21-\x7e]{1,200}$/

type Carrier = {
  readonly platform: string
  readonly name: string
  readonly apiBase: Channel['apiBase']
  readonly secrets: Readonly<Record<string, SecretShape>>
  /** The secret with which we prove our own addresses. */
  readonly ownSecret: string
  readonly isSigned: Proof
  readonly isHandshakeSigned: (request: InboundRequest, connection: ChannelConnection, url: string) => Promise<boolean>
  readonly callAccount: (connection: ChannelConnection) => ReturnType<PlatformCall>
  readonly register: (connection: ChannelConnection, isOn: boolean) => Promise<Registration>
  readonly placeCall?: Channel['placeCall']
}

const createPhoneChannel = (carrier: Carrier): Channel => ({
  platform: carrier.platform,
  name: carrier.name,
  apiBase: carrier.apiBase,
  secrets: carrier.secrets,
  ownSettings: ['greeting', 'language', 'voice', 'chats_of'],
  normalizeId: (id) => (isPhoneNumber(id) ? `+${id.replace(/\D/g, '')}` : id),
  capabilities: {},
  textLimit,
  receive: async (request, connection) =>
    (await carrier.isSigned(request, connection)) ? readCall(carrier, request, connection) : refused(),
  openRelay: (request, connection) => openRelay(carrier, request, connection),
  ...(carrier.placeCall && { placeCall: carrier.placeCall }),
  render,
  // The object of the call speaks answers while they come, and hands on what comes after the call.
  send: async () => ({ kind: 'sent' }),
  getAccount: async (connection) => {
    const answer = await carrier.callAccount(connection)
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    return { id: connection.secrets['from'] ?? '', name: connection.secrets['from'] ?? '' }
  },
  probe: async (connection) => sentOutcome(await carrier.callAccount(connection)),
  register: carrier.register,
  resolveTarget: async () => ({ kind: 'unknown', detail: 'A telephone is no target: name a chat.' }),
})

const xmlOf = (content: string): Response =>
  new Response(`<?xml version="1.0" encoding="UTF-8"?><Response>${content}</Response>`, {
    headers: { 'content-type': 'text/xml' },
  })

/** The caller asks to be let in, or a person whom we called has answered. Nobody else gets an answer of the agent. */
async function readCall(
  carrier: Carrier,
  { body, receivedAt: at }: InboundRequest,
  connection: ChannelConnection,
): Promise<Received> {
  const form = new URLSearchParams(new TextDecoder().decode(body))
  const isOurs = form.get('Direction')?.startsWith('outbound') === true
  const [callSid, from] = [form.get('CallSid') ?? '', form.get(isOurs ? 'To' : 'From') ?? '']
  if (!callSid || !from) return { events: [] }
  // The carrier reports the end of the socket here. One that broke is opened again, without another greeting.
  const ended = form.get('SessionStatus')
  if (ended !== null && ended !== 'failed') return { events: [], response: xmlOf('<Hangup/>') }
  const { greeting: _greeting, ...speech } = connection.speech ?? {}
  const url = await urlOf(carrier, connection, { callSid, from, at })
  // The object of a call that we began speaks its first words.
  const attributes = renderAttributes(url, ended === null && !isOurs ? connection.speech : speech)
  const sender = { id: from, name: from }
  const source = { key: `call:${callSid}`, address: { chat: from }, isGroup: false, sender }
  return {
    events: [{ ...source, kind: 'lifecycle', change: 'invited' }],
    response: xmlOf(
      `<Connect action="${escapeXml(connection.webhookUrl)}"><ConversationRelay ${attributes}/></Connect>`,
    ),
    ignoredResponse: xmlOf('<Reject/>'),
  }
}

function renderAttributes(url: string, { greeting, language, voice }: Speech = {}): string {
  const attributes = { url, welcomeGreeting: greeting, language, voice, interruptible: 'any', dtmfDetection: 'true' }
  return Object.entries(attributes)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${escapeXml(value)}"`]))
    .join(' ')
}

const escapeXml = (text: string): string =>
  text.replace(/[<>&"]/g, (char) => `&#${char.codePointAt(0)};`).replace(/[\p{Cc}\uFFFE\uFFFF]/gu, ' ')

/** The address names call and caller, with a proof that it is ours. */
async function urlOf({ ownSecret }: Carrier, connection: ChannelConnection, call: CallIdentity): Promise<string> {
  const { webhookUrl, secrets } = connection
  const part = encodeBase64Url(new TextEncoder().encode(JSON.stringify([call.callSid, call.from, call.at])))
  const signed = new TextEncoder().encode(`${webhookUrl} ${part}`)
  const proof = toHex(await computeHmac('SHA-256', secrets[ownSecret] ?? '', signed))
  return `${webhookUrl.replace(/^http/, 'ws')}/relay/${part}.${proof}`
}

/** Undefined for a handshake that is not signed for exactly the address that the call got. */
async function openRelay(
  carrier: Carrier,
  request: InboundRequest,
  connection: ChannelConnection,
): Promise<CallIdentity | undefined> {
  const [, part = ''] = /\/relay\/([\w-]{1,1000})\.[\da-f]{64}$/.exec(request.url.pathname) ?? []
  const call = readPart(part)
  if (!call || !connection.secrets[carrier.ownSecret] || request.receivedAt > call.at + maxCallMs) return undefined
  const url = await urlOf(carrier, connection, call)
  const isOurs = isSameSecret(request.url.pathname.split('/').at(-1), url.split('/').at(-1))
  return isOurs && (await carrier.isHandshakeSigned(request, connection, url)) ? call : undefined
}

function readPart(part: string): CallIdentity | undefined {
  try {
    const named: unknown = parseJson(decodeBase64Url(part))
    const [callSid, from, at] = [pickText(named, 0), pickText(named, 1), pickNumber(named, 2)]
    return callSid !== undefined && from !== undefined && at !== undefined ? { callSid, from, at } : undefined
  } catch {
    return undefined
  }
}

const byHand = ({ webhookUrl }: ChannelConnection, isOn: boolean): Registration => ({
  ok: true,
  detail: isOn ? `Enter this address at the number, for incoming calls (HTTP POST): ${webhookUrl}` : '',
})

export const phone = createPhoneChannel({
  platform: 'phone',
  name: 'Telephone (Twilio)',
  apiBase: { variable: 'TWILIO_API_BASE', url: 'https://api.twilio.com' },
  secrets: {
    account_sid: { shape: /^AC[A-Za-z0-9]{1,64}$/, hint: 'The account SID of Twilio: AC and 32 characters.' },
    auth_token: { shape, hint: 'The auth token of the account. It also signs the calls.' },
    from: { shape: /^\+\d{5,20}$/, hint: 'The number that is called, like +15550001111.' },
  },
  ownSecret: 'auth_token',
  isSigned: isSignedByTwilio,
  // Twilio signs the handshake as it signs a webhook without a form.
  isHandshakeSigned: async ({ headers }, { secrets }, url) => {
    const expected = await computeHmac('SHA-1', secrets['auth_token'] ?? '', new TextEncoder().encode(url))
    return isSameSecret(headers.get('x-twilio-signature'), encodeBase64Bytes(expected))
  },
  callAccount: (connection) => callTwilio(connection, { method: 'GET', path: '.json' }),
  register: registerNumber,
  placeCall,
})

const ringSeconds = 40

async function placeCall(connection: ChannelConnection, number: string): Promise<PlacedCall> {
  const { webhookUrl, secrets } = connection
  const answer = await callTwilio(connection, {
    method: 'POST',
    path: '/Calls.json',
    body: new URLSearchParams({
      To: number,
      From: secrets['from'] ?? '',
      Url: webhookUrl,
      Method: 'POST',
      Timeout: String(ringSeconds),
    }),
  })
  return readPlaced(answer, 'sid')
}

/** A lost answer refuses nothing: the telephone may ring. */
function readPlaced(answer: ApiResult, ...fields: readonly string[]): PlacedCall {
  if (answer.kind === 'failed') return answer.outcome.kind === 'ambiguous' ? {} : { refused: answer.outcome.detail }
  const callSid = fields.map((field) => pickText(answer.result, field)).find((one) => one !== undefined)
  return callSid === undefined ? {} : { callSid }
}

/** Names the webhook as the address for calls of the number. */
async function registerNumber(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const { webhookUrl: url, secrets } = connection
  const query = new URLSearchParams({ PhoneNumber: secrets['from'] ?? '' })
  const path = `/IncomingPhoneNumbers.json?${query.toString()}`
  const found = url.startsWith('https://') ? await callTwilio(connection, { method: 'GET', path }) : undefined
  const number = found?.kind === 'done' ? found.result['incoming_phone_numbers'] : undefined
  const sid = pickText(number, 0, 'sid')
  if (sid === undefined) return byHand(connection, isOn)
  // An address that somebody else entered stays.
  if (!isOn && pickText(number, 0, 'voice_url') !== url) return { ok: true, detail: 'Twilio has another address.' }
  const changed = await callTwilio(connection, {
    method: 'POST',
    path: `/IncomingPhoneNumbers/${encodeURIComponent(sid)}.json`,
    body: new URLSearchParams({ VoiceUrl: isOn ? url : '', VoiceMethod: 'POST' }),
  })
  if (changed.kind === 'failed') return { ok: false, detail: changed.outcome.detail }
  return { ok: true, detail: isOn ? 'Twilio sends the calls of the number here.' : 'Twilio forgot the address.' }
}

const callTelnyx = defineApi({
  prefix: () => 'v2/',
  headers: ({ secrets }) => ({ authorization: `Bearer ${secrets['api_key'] ?? ''}` }),
  readFailure: ({ errors }) => ({ code: pickText(errors, 0, 'code'), message: pickText(errors, 0, 'title') }),
  outcomes: [],
})

/** Telnyx shows its key as base64, the kit reads hexadecimal digits. */
function hexKey(connection: ChannelConnection): ChannelConnection {
  try {
    const public_key = toHex(decodeBase64Bytes(connection.secrets['public_key'] ?? ''))
    return { ...connection, secrets: { ...connection.secrets, public_key } }
  } catch {
    return { ...connection, secrets: {} }
  }
}

const hexSignature = (request: InboundRequest): InboundRequest => {
  const headers = new Headers(request.headers)
  try {
    headers.set('telnyx-signature-ed25519', toHex(decodeBase64Bytes(headers.get('telnyx-signature-ed25519') ?? '')))
  } catch {
    headers.delete('telnyx-signature-ed25519')
  }
  return { ...request, headers }
}

const isSignedByKey = ed25519({
  publicKey: 'public_key',
  header: 'telnyx-signature-ed25519',
  signed: ({ headers, body, receivedAt }) => {
    const time = headers.get('telnyx-timestamp') ?? ''
    if (!/^\d{1,12}$/.test(time) || Math.abs(receivedAt - Number(time) * 1_000) > 300_000) return undefined
    return new TextEncoder().encode(`${time}|${new TextDecoder().decode(body)}`)
  },
})

/** Calls through the TeXML application, which has an outbound profile. */
async function placeTelnyxCall(connection: ChannelConnection, number: string): Promise<PlacedCall> {
  const { webhookUrl: url, secrets } = connection
  const application = secrets['application_id']
  if (!application) return { refused: 'Calls need the secret application_id: the id of the TeXML application.' }
  const path = `texml/calls/${encodeURIComponent(application)}`
  const body = { To: number, From: secrets['from'], Url: url, UrlMethod: 'POST', Timeout: ringSeconds }
  return readPlaced(await callTelnyx(connection, { method: 'POST', path, body }), 'call_sid', 'sid')
}

export const telnyxPhone = createPhoneChannel({
  platform: 'telnyx_phone',
  name: 'Telephone (Telnyx)',
  apiBase: { variable: 'TELNYX_API_BASE', url: 'https://api.telnyx.com' },
  secrets: {
    api_key: { shape, hint: 'An API key of the account: KEY….' },
    public_key: { shape: /^[A-Za-z0-9+/]{43}=$/, hint: 'The public key of the account, with which it signs.' },
    from: { shape: /^\+\d{5,20}$/, hint: 'The number that is called, like +15550001111.' },
    application_id: {
      shape: /^\d{1,30}$/,
      hint: 'The id of the TeXML application, where the agent makes calls.',
      isOptional: true,
    },
    relay_secret: { shape: /^[\x21-\x7e]{32,200}$/, hint: 'Proves the address of the socket.', isGenerated: true },
  },
  placeCall: placeTelnyxCall,
  ownSecret: 'relay_secret',
  isSigned: (request, connection) => isSignedByKey(hexSignature(request), hexKey(connection)),
  // Telnyx documents no signature of the handshake: the address itself is the proof.
  isHandshakeSigned: async () => true,
  callAccount: (connection) => callTelnyx(connection, { method: 'GET', path: 'balance' }),
  register: async (connection, isOn) => byHand(connection, isOn),
})

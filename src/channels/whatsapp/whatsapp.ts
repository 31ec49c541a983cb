/** Implements the channel port for the WhatsApp Cloud API. */

import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { SendOutcome } from '#agent/core/delivery.ts'
import type {
  Channel,
  ChannelConnection,
  ChatAddress,
  FetchedMedia,
  OutboundFile,
  OutboundMessage,
  Registration,
} from '../channel.ts'
import { fetchMediaFrom, isOnDomain, isSameOrigin } from '../fetch-media.ts'
import { isPhoneNumber } from '../is-phone-number.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { type ApiResult, failedMedia, repeatable, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { verified } from '../kit/proof.ts'
import { answerChallenge, defineGraph, isSignedByMeta, mediaDomains } from '../meta/graph-api.ts'
import { parseWebhook, whatsappOutcomes } from './parse-webhook.ts'
import { whatsappMarks } from './whatsapp-marks.ts'

/** WhatsApp accepts 4096 characters. The rest is room for a line in front. */
const maxTextChars = 4_000

export const {
  encode: encodeWhatsapp,
  render: renderWhatsapp,
  textLimit,
} = defineDialect({ max: maxTextChars, unit: 'utf16', marks: whatsappMarks })

const callGraph = defineGraph('access_token', whatsappOutcomes)

const maxButtons = 3
const buttonLabelChars = 20
/** The text above buttons. */
const maxBodyChars = 1_024

export const whatsapp: Channel = {
  platform: 'whatsapp',
  name: 'WhatsApp',
  apiBase: { variable: 'WHATSAPP_API_BASE', url: 'https://graph.facebook.com' },
  secrets: {
    access_token: { shape: /^[\x21-\x7e]{1,1000}$/, hint: 'A permanent access token of a system user.' },
    app_secret: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The secret of the app, from its basic settings.' },
    verify_token: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The token that you enter with the webhook.' },
    phone_number_id: { shape: /^[A-Za-z0-9]{1,50}$/, hint: 'The id of the phone number (not the number itself).' },
  },
  // Events name a number by its digits.
  normalizeId: (id) => (isPhoneNumber(id) ? id.replace(/\D/g, '') : id),
  capabilities: {
    buttons: { maxRows: 10, maxPerRow: 1, maxLabelChars: buttonLabelChars, maxDataBytes: 200 },
    files: { maxBytes: 16_000_000 },
    typing: { durationMs: 25_000 },
    replyWindowMs: 24 * 3_600_000,
  },
  textLimit,
  receive: (request, connection) =>
    request.method === 'GET' ? answerChallenge(request, connection) : receiveEvents(request, connection),
  render: renderWhatsapp,
  send: async (connection, message) => {
    if (message.file) return sendFile(connection, message, message.file)
    const content = renderContent(message)
    if (!content) return { kind: 'too_long', detail: `The text above buttons has at most ${maxBodyChars} characters.` }
    return sendOutcome(await callGraph(connection, messageRequest(connection, message, content)))
  },
  getAccount: async (connection) => {
    const answer = await callGraph(connection, {
      method: 'GET',
      path: `${numberOf(connection)}?fields=display_phone_number,verified_name`,
    })
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    const { display_phone_number: number, verified_name: name } = answer.result
    // Messages name our number without blanks and signs.
    return { id: String(number ?? '').replace(/\D/g, ''), name: typeof name === 'string' ? name : '' }
  },
  register,
  showTyping,
  fetchMedia,
  // The API has no call that tells whether a number uses WhatsApp.
  resolveTarget: async (_connection, address) =>
    addressPattern.test(address.chat)
      ? { kind: 'found', address: { chat: address.chat.replace(/^\+/, '') }, isGroup: isGroupId(address.chat) }
      : { kind: 'unknown', detail: 'WhatsApp names chats by numbers with the country code, like 15550002222.' },
}

const addressPattern = /^(\+?\d{5,20}|[A-Z]{2}\.\w{1,100}|[\w=-]{20,200})$/
const isGroupId = (chat: string): boolean => !/^\+?\d{5,20}$/.test(chat) && !/^[A-Z]{2}\.\w{1,100}$/.test(chat)
const numberOf = ({ secrets }: ChannelConnection): string => secrets['phone_number_id'] ?? ''

/**
 * Names the address as the one of this number, before that of the app. Meta asks it for the challenge at once. Where
 * that fails (the app has no webhook yet, or the address is not public), a person enters it.
 */
async function register(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const { webhookUrl: url, secrets } = connection
  const byHand = `Enter the address and the verify token in the app, under WhatsApp, Configuration: ${url}`
  if (isOn && !url.startsWith('https://')) return { ok: true, detail: byHand }
  const override = { override_callback_uri: isOn ? url : '', ...(isOn && { verify_token: secrets['verify_token'] }) }
  const body = { webhook_configuration: override }
  const changed = await callGraph(connection, { method: 'POST', path: numberOf(connection), body })
  if (changed.kind === 'failed') return { ok: true, detail: `${byHand} (${changed.outcome.detail})` }
  return { ok: true, detail: isOn ? 'WhatsApp sends the messages of the number here.' : 'WhatsApp forgot the address.' }
}

const receiveEvents = verified(isSignedByMeta, ({ body }, connection) => ({
  events: parseWebhook(parseJson(body), numberOf(connection)),
}))

function messageRequest(connection: ChannelConnection, message: OutboundMessage, content: object) {
  const { address, replyToMessageId } = message
  const body = {
    messaging_product: 'whatsapp',
    ...renderRecipient(address.chat),
    ...(replyToMessageId !== undefined && { context: { message_id: replyToMessageId } }),
    ...content,
  }
  return { method: 'POST', path: `${numberOf(connection)}/messages`, body } as const
}

/** People without a visible number have an id within the business. */
function renderRecipient(chat: string): object {
  if (/^[A-Z]{2}\.\w{1,100}$/.test(chat)) return { recipient_type: 'individual', recipient: chat }
  return { recipient_type: isGroupId(chat) ? 'group' : 'individual', to: chat }
}

/** Undefined: the text is too long for buttons. No part of it may be left out, because a person approves it. */
function renderContent({ chunk }: OutboundMessage): object | undefined {
  const text = encodeWhatsapp(chunk)
  const buttons = chunk.buttons?.flat() ?? []
  // A preview makes WhatsApp fetch the address, which could leak what the conversation contains.
  if (!buttons.length) return { type: 'text', text: { body: text, preview_url: false } }
  if (text.length > maxBodyChars) return undefined
  const interactive = { body: { text } }
  if (buttons.length <= maxButtons) {
    const replies = buttons.map(({ label, data }) => ({ type: 'reply', reply: { id: data, title: label } }))
    return { type: 'interactive', interactive: { type: 'button', ...interactive, action: { buttons: replies } } }
  }
  const rows = buttons.map(({ label, data }) => ({ id: data, title: label }))
  const action = { button: 'Choose', sections: [{ title: 'Choose', rows }] }
  return { type: 'interactive', interactive: { type: 'list', ...interactive, action } }
}

/** Meta returns the ids of all messages of a call, which is one. */
function sendOutcome(answer: ApiResult): SendOutcome {
  return sentOutcome(answer, ({ messages }) => (messages as readonly { readonly id?: string }[] | undefined)?.[0]?.id)
}

/** Typing belongs to a message of the person, and also marks it as read. */
async function showTyping(
  connection: ChannelConnection,
  _address: ChatAddress,
  messageId?: string,
): Promise<SendOutcome> {
  const number = numberOf(connection)
  const body = {
    messaging_product: 'whatsapp',
    status: 'read',
    message_id: messageId,
    typing_indicator: { type: 'text' },
  }
  const answer = await (messageId === undefined
    ? callGraph(connection, { method: 'GET', path: number })
    : callGraph(connection, { method: 'POST', path: `${number}/messages`, body }))
  return sentOutcome(answer)
}

const fileTypes = { image: 'image', audio: 'audio', voice: 'audio', video: 'video', document: 'document' } as const

async function sendFile(
  connection: ChannelConnection,
  message: OutboundMessage,
  file: OutboundFile,
): Promise<SendOutcome> {
  const form = new FormData()
  form.set('messaging_product', 'whatsapp')
  form.set('type', file.mime)
  form.set('file', new File([file.bytes], file.name, { type: file.mime }))
  const uploaded = await callGraph(connection, { method: 'POST', path: `${numberOf(connection)}/media`, body: form })
  if (uploaded.kind === 'failed') return repeatable(uploaded.outcome)
  // The text of a file is the note that it may have arrived before. Sounds have no room for it.
  const caption = message.chunk.text.trim()
  const type = caption && fileTypes[file.kind] === 'audio' ? 'document' : fileTypes[file.kind]
  const media = {
    id: uploaded.result['id'],
    ...(type === 'document' && { filename: file.name }),
    ...(caption && { caption }),
  }
  return sendOutcome(await callGraph(connection, messageRequest(connection, message, { type, [type]: media })))
}

async function fetchMedia(
  connection: ChannelConnection,
  { reference, mime, name }: MediaReference,
  maxBytes: number,
): Promise<FetchedMedia> {
  const answer = await callGraph(connection, { method: 'GET', path: encodeURIComponent(reference) })
  if (answer.kind === 'failed') return failedMedia(answer.outcome)
  const { url, mime_type: type, file_size: bytes } = answer.result
  if (typeof url !== 'string') return { kind: 'failed', detail: 'the file is not available any more', canRetry: false }
  if (Number(bytes) > maxBytes) return { kind: 'failed', detail: `more than ${maxBytes} bytes`, canRetry: false }
  const isOwn = isSameOrigin(url, connection.apiBase) || isOnDomain(url, mediaDomains)
  const headers = isOwn ? { authorization: `Bearer ${connection.secrets['access_token'] ?? ''}` } : {}
  return fetchMediaFrom(
    connection,
    { url, headers, mime: mime ?? (typeof type === 'string' ? type : undefined), name },
    maxBytes,
  )
}

/** Implements the channel port for Google Chat: events by webhook, messages by the REST API of a service account. */

import type { SendOutcome } from '#agent/core/delivery.ts'
import type { MediaReference } from '#agent/core/media/media-reference.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { googleTokenUrl, renderGoogleGrant } from '#durable/platform/sign-jwt.ts'
import { callApi, joinUrl } from '../call-api.ts'
import type { Channel, ChannelConnection, ChatAddress, OutboundMessage, ResolvedTarget } from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { defineApi, editedOutcome, failedMedia, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineAppToken, readTokenAnswer, type TokenAnswer, withAppToken } from '../kit/app-token.ts'
import { defineDialect } from '../kit/dialect.ts'
import { jwt } from '../kit/jwt.ts'
import { pick, pickText } from '../kit/pick.ts'
import { verified } from '../kit/proof.ts'
import { whatsappMarks } from '../whatsapp/whatsapp-marks.ts'
import { ownId, parseEvent } from './parse-event.ts'

const google = 'chat@system.gserviceaccount.com'
/** A message with its cards has at most 32 000 bytes. */
const { encode, render, textLimit } = defineDialect({ max: 28_000, unit: 'utf8', marks: whatsappMarks })

const isSigned = jwt({
  token: ({ headers, body }) =>
    headers.get('authorization')?.replace(/^Bearer /i, '') ??
    pickText(parseJson(body), 'authorizationEventObject', 'systemIdToken'),
  rule: ({ audience, webhookUrl, loginBase = 'https://www.googleapis.com' }) => {
    const expected = audience ?? webhookUrl
    return /^\d+$/.test(expected)
      ? { issuers: [google], audience: expected, keysUrl: `${loginBase}/service_accounts/v1/jwk/${google}` }
      : {
          issuers: ['https://accounts.google.com', 'accounts.google.com'],
          audience: expected,
          keysUrl: `${loginBase}/oauth2/v3/certs`,
          accepts: ({ email, email_verified: isVerified }) => email === google && isVerified === true,
        }
  },
})

/** Asks for a token with a signed assertion. The address of the file of secrets is never called. */
async function requestToken({ secrets, loginBase }: ChannelConnection): Promise<TokenAnswer> {
  const account = parseJson(secrets['service_account'] ?? '')
  const body = await renderGoogleGrant(account, 'https://www.googleapis.com/auth/chat.bot')
  if (!body) return { kind: 'failed', outcome: { kind: 'forbidden', detail: 'service_account has no usable key' } }
  const address = loginBase === undefined ? googleTokenUrl : joinUrl(loginBase, 'token')
  return readTokenAnswer(await callApi(address, { method: 'POST', body }))
}

const getToken = defineAppToken({ secret: 'service_account', request: requestToken })
const call = defineApi({
  prefix: () => 'v1/',
  headers: () => ({}),
  readFailure: ({ error }) => ({ code: pickText(error, 'status'), message: pickText(error, 'message') }),
  outcomes: [
    { words: /too (?:long|large)|exceeds? .{0,40}(?:bytes|size|limit)/i, is: 'too_long' },
    { codes: ['NOT_FOUND', 'PERMISSION_DENIED', 'UNAUTHENTICATED'], is: 'forbidden' },
  ],
})

const callChat = withAppToken(getToken, call)

export const googleChat: Channel = {
  platform: 'google_chat',
  name: 'Google Chat',
  apiBase: { variable: 'GOOGLE_CHAT_API_BASE', url: 'https://chat.googleapis.com' },
  loginVariable: 'GOOGLE_CHAT_LOGIN_API_BASE',
  ownSettings: ['audience'],
  secrets: {
    service_account: {
      shape: /^\s*\{[\s\S]{1,4000}\}\s*$/,
      hint: 'The JSON file of a key of the service account, as text.',
    },
  },
  capabilities: {
    edit: { intervalMs: () => 1_100 },
    buttons: { maxRows: 20, maxPerRow: 1, maxLabelChars: 40, maxDataBytes: 500 },
    threads: true,
    idempotencyKeys: true,
  },
  textLimit,
  receive: verified(isSigned, ({ body }) => {
    const event = parseEvent(parseJson(body))
    return { response: Response.json({}), events: event ? [event] : [] }
  }),
  render,
  send,
  remove: async (connection, _address, name) =>
    sentOutcome(await callChat(connection, { method: 'DELETE', path: name })),
  probe: async (connection) => sentOutcome(await callChat(connection, { method: 'GET', path: 'spaces?pageSize=1' })),
  getAccount: async (connection) => {
    const answer = await callChat(connection, { method: 'GET', path: 'spaces?pageSize=1' })
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    return { id: ownId, name: pickText(parseJson(connection.secrets['service_account'] ?? ''), 'client_email') ?? '' }
  },
  fetchMedia: async (connection, { reference, mime, name }: MediaReference, maxBytes) => {
    const found = await getToken(connection)
    if ('outcome' in found) return failedMedia(found.outcome)
    const url = joinUrl(
      connection.apiBase,
      `v1/media/${reference.split('/').map(encodeURIComponent).join('/')}?alt=media`,
    )
    return fetchMediaFrom(
      connection,
      { url, headers: { authorization: `Bearer ${found.token}` }, mime, name },
      maxBytes,
    )
  },
  resolveTarget,
}

async function send(connection: ChannelConnection, message: OutboundMessage, key: string): Promise<SendOutcome> {
  const { address, chunk, editedMessageId } = message
  const cards = renderCards(message, connection.webhookUrl)
  if (editedMessageId !== undefined) {
    const body = { text: encode(chunk), cardsV2: cards }
    const path = `${editedMessageId}?updateMask=text,cardsV2`
    return editedOutcome(await callChat(connection, { method: 'PATCH', path, body }), editedMessageId)
  }
  const { chat, thread } = address
  const query = new URLSearchParams({
    requestId: key,
    ...(thread !== undefined && { messageReplyOption: 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD' }),
  })
  const body = {
    text: encode(chunk),
    ...(cards.length > 0 && { cardsV2: cards }),
    ...(thread !== undefined && { thread: { name: `${chat}/threads/${thread}` } }),
  }
  const path = `${chat}/messages?${query.toString()}`
  return sentOutcome(await callChat(connection, { method: 'POST', path, body }), ({ name }) => name)
}

/** Add-ons are called at the address that the function names; other apps get it back. */
function renderCards({ chunk }: OutboundMessage, webhookUrl: string): readonly object[] {
  const buttons = (chunk.buttons?.flat() ?? []).map(({ label, data }) => ({
    text: label,
    onClick: { action: { function: webhookUrl, parameters: [{ key: 'data', value: data }] } },
  }))
  if (!buttons.length) return []
  return [{ cardId: 'choices', card: { sections: [{ widgets: [{ buttonList: { buttons } }] }] } }]
}

async function resolveTarget(connection: ChannelConnection, address: ChatAddress): Promise<ResolvedTarget> {
  if (!/^spaces\/[\w-]{1,100}$/.test(address.chat))
    return { kind: 'unknown', detail: 'Google Chat names spaces like spaces/AAAA.' }
  const answer = await callChat(connection, { method: 'GET', path: address.chat })
  const isGroup = answer.kind === 'failed' || pick(answer.result, 'spaceType') !== 'DIRECT_MESSAGE'
  return resolveBy(answer, { address, isGroup })
}

/** Implements the channel port for the chat of a channel on Twitch: messages by EventSub, answers by the API. */

import type { SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { callApi, joinUrl } from '../call-api.ts'
import type {
  Channel,
  ChannelConnection,
  InboundEvent,
  InboundRequest,
  OutboundMessage,
  Quote,
  Received,
  Registration,
} from '../channel.ts'
import { concatBytes } from '../hmac.ts'
import { defineApi, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineAppToken, probeToken, readTokenAnswer, type TokenAnswer, withAppToken } from '../kit/app-token.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick, pickList, pickText } from '../kit/pick.ts'
import { hmac, verified } from '../kit/proof.ts'
import { readCommand } from '../read-command.ts'

const apiUrl = 'https://api.twitch.tv'
const loginUrl = 'https://id.twitch.tv'
/** Twitch accepts 500 characters. */
const { render, textLimit } = defineDialect({ max: 480, unit: 'utf16' })
/** The age that Twitch recommends to refuse. */
const windowMs = 600_000
const subscriptions = 'eventsub/subscriptions'
const type = 'channel.chat.message'

async function requestToken({ apiBase, secrets }: ChannelConnection): Promise<TokenAnswer> {
  const body = new URLSearchParams({
    client_id: secrets['client_id'] ?? '',
    client_secret: secrets['client_secret'] ?? '',
    grant_type: 'client_credentials',
  })
  const base = apiBase === apiUrl ? loginUrl : apiBase
  return readTokenAnswer(await callApi(joinUrl(base, 'oauth2/token'), { method: 'POST', headers: {}, body }), {
    error: 'message',
  })
}

const getToken = defineAppToken({ request: requestToken })
const call = withAppToken(
  getToken,
  defineApi({
    prefix: () => 'helix/',
    headers: ({ secrets }) => ({ 'client-id': secrets['client_id'] ?? '' }),
    readFailure: ({ error, message }) => ({
      code: typeof error === 'string' ? error : undefined,
      message: typeof message === 'string' ? message : undefined,
    }),
    outcomes: [
      { words: /too long|500 characters/i, is: 'too_long' },
      { words: /broadcaster|sender|scope|permission/i, is: 'forbidden' },
    ],
  }),
)

const idShape = /^\d{1,20}$/
const isSigned = hmac({
  hash: 'SHA-256',
  secret: 'webhook_secret',
  header: 'twitch-eventsub-message-signature',
  encoding: 'hex',
  prefix: 'sha256=',
  signed: ({ headers, body }) =>
    concatBytes(
      `${headers.get('twitch-eventsub-message-id') ?? ''}${headers.get('twitch-eventsub-message-timestamp') ?? ''}`,
      body,
    ),
})

const isFresh = ({ headers, receivedAt }: InboundRequest): boolean =>
  Math.abs(receivedAt - Date.parse(headers.get('twitch-eventsub-message-timestamp') ?? '')) <= windowMs

export const twitch: Channel = {
  platform: 'twitch',
  name: 'Twitch',
  apiBase: { variable: 'TWITCH_API_BASE', url: apiUrl },
  secrets: {
    client_id: { shape: /^[A-Za-z0-9]{1,100}$/, hint: 'The Client ID of the app.' },
    client_secret: { shape: /^[A-Za-z0-9]{1,100}$/, hint: 'A Client Secret of the app.' },
    bot_id: { shape: idShape, hint: 'The user id of the account of the bot: digits.' },
    channel_id: { shape: idShape, hint: 'The user id of the account of the channel: digits.' },
    webhook_secret: {
      shape: /^[\w-]{10,100}$/,
      hint: '10 to 100 letters, digits, "_" and "-"; generated when it is not given.',
      isGenerated: true,
    },
  },
  capabilities: {},
  textLimit,
  receive: verified(async (request, connection) => isFresh(request) && isSigned(request, connection), readRequest),
  render,
  send,
  probe: probeToken(getToken),
  getAccount: async (connection) => {
    const id = connection.secrets['bot_id'] ?? ''
    const answer = await call(connection, { method: 'GET', path: `users?id=${encodeURIComponent(id)}` })
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    const user = pick(answer.result, 'data', 0)
    return user ? { id, name: pickText(user, 'login') ?? '' } : { refused: 'Twitch knows no account with this bot_id.' }
  },
  register,
  resolveTarget: async (connection, address) => {
    // The bot may write in the channel that has let it in.
    if (address.chat !== connection.secrets['channel_id'])
      return { kind: 'unknown', detail: 'This connection is for one channel: the chat is its channel_id.' }
    const answer = await call(connection, { method: 'GET', path: `users?id=${address.chat}` })
    return resolveBy(answer, { address, isGroup: true })
  },
}

async function send(connection: ChannelConnection, message: OutboundMessage): Promise<SendOutcome> {
  const { address, chunk, replyToMessageId } = message
  const lines = chunk.text.split('\n').map((line) => line.trim())
  const body = {
    broadcaster_id: address.chat,
    sender_id: connection.secrets['bot_id'],
    // A message is one line.
    message: lines.filter(Boolean).join(' '),
    ...(replyToMessageId !== undefined && { reply_parent_message_id: replyToMessageId }),
  }
  const answer = await call(connection, { method: 'POST', path: 'chat/messages', body })
  if (answer.kind === 'failed') return answer.outcome
  const sent = pick(answer.result, 'data', 0)
  if (pick(sent, 'is_sent') !== false) return sentOutcome(answer, () => pickText(sent, 'message_id'))
  return { kind: 'fatal', detail: pickText(sent, 'drop_reason', 'message') ?? 'Twitch has dropped the message' }
}

/** Replaces the subscriptions of this address, which may have another secret. */
async function register(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const { webhookUrl: callback, secrets } = connection
  const listed = await call(connection, { method: 'GET', path: `${subscriptions}?type=${type}` })
  if (listed.kind === 'failed') return { ok: false, detail: listed.outcome.detail }
  for (const one of pickList(listed.result, 'data')) {
    const id = pickText(one, 'id')
    if (id !== undefined && pickText(one, 'transport', 'callback') === callback)
      await call(connection, { method: 'DELETE', path: `${subscriptions}?id=${encodeURIComponent(id)}` })
  }
  if (!isOn) return { ok: true, detail: 'Twitch sends no more messages.' }
  const body = {
    type,
    version: '1',
    condition: { broadcaster_user_id: secrets['channel_id'], user_id: secrets['bot_id'] },
    transport: { method: 'webhook', callback, secret: secrets['webhook_secret'] },
  }
  const made = await call(connection, { method: 'POST', path: subscriptions, body })
  return made.kind === 'done'
    ? { ok: true, detail: 'Twitch checks the address, and then sends the messages of the channel here.' }
    : { ok: false, detail: made.outcome.detail }
}

function readRequest({ body }: InboundRequest, connection: ChannelConnection): Received {
  const content = parseJson(body)
  const challenge = pickText(content, 'challenge')
  if (challenge !== undefined)
    return { response: new Response(challenge, { headers: { 'content-type': 'text/plain' } }), events: [] }
  const isMessage = pickText(content, 'subscription', 'type') === type
  const event = isMessage ? parseMessage(pick(content, 'event'), connection) : undefined
  return { events: event ? [event] : [] }
}

function parseMessage(event: unknown, { secrets }: ChannelConnection): InboundEvent | undefined {
  const [key, chat] = [pickText(event, 'message_id'), pickText(event, 'broadcaster_user_id')]
  const id = pickText(event, 'chatter_user_id')
  const text = readText(pick(event, 'message'), secrets['bot_id'])
  if (key === undefined || id === undefined || !text) return undefined
  if (chat !== secrets['channel_id'] || id === secrets['bot_id'] || isOfOtherChannel(event)) return undefined
  const quote = parseQuote(event)
  return {
    kind: 'message',
    key,
    address: { chat: chat ?? '' },
    isGroup: true,
    isPublic: true,
    sender: { id, name: pickText(event, 'chatter_user_name') ?? id },
    messageId: key,
    text,
    media: [],
    mentions: pickList(event, 'message', 'fragments').flatMap((part) => pickText(part, 'mention', 'user_id') ?? []),
    ...(quote && { quote }),
  }
}

/** Without the mention in front, so that a command stands at the beginning. */
function readText(message: unknown, own: string | undefined): string {
  const [text, first] = [pickText(message, 'text') ?? '', pick(message, 'fragments', 0)]
  const mention =
    own !== undefined && pickText(first, 'mention', 'user_id') === own ? pickText(first, 'text') : undefined
  return readCommand(
    mention !== undefined && text.startsWith(mention) ? text.slice(mention.length) : text,
    'twitch',
  ).trim()
}

/** Channels that share their chat get each other's messages. Each counts where it was written. */
function isOfOtherChannel(event: unknown): boolean {
  const source = pickText(event, 'source_broadcaster_user_id')
  return source !== undefined && source !== pickText(event, 'broadcaster_user_id')
}

function parseQuote(event: unknown): Quote | undefined {
  const reply = pick(event, 'reply')
  const messageId = pickText(reply, 'parent_message_id')
  if (messageId === undefined) return undefined
  const sender = pickText(reply, 'parent_user_id')
  return {
    messageId,
    ...(sender !== undefined && { sender: { id: sender, name: pickText(reply, 'parent_user_name') ?? sender } }),
    text: pickText(reply, 'parent_message_body') ?? '',
  }
}

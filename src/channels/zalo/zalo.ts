/** Implements the channel port for bots of Zalo: updates by webhook, plain messages out. */

import type { MediaReference } from '#agent/core/media/media-reference.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import type { Channel, ChannelConnection, InboundEvent, Registration, Sender } from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { defineApi, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick, pickText } from '../kit/pick.ts'
import { token, verified } from '../kit/proof.ts'
import { describeContent, unreadable } from '../text/describe-forward.ts'

/** Zalo accepts 2 000 characters. */
const { render, textLimit } = defineDialect({ max: 1_900, unit: 'utf16' })

/** The address contains the token, so no text of a failure has it. */
const callZalo = defineApi({
  prefix: ({ secrets }) => `bot${secrets['bot_token'] ?? ''}/`,
  headers: () => ({}),
  isDone: ({ ok }) => ok === true,
  readFailure: ({ ok, error_code: code, description }) => ({
    ...(ok === false && { code: typeof code === 'number' ? code : 0 }),
    message: typeof description === 'string' ? description : undefined,
  }),
  outcomes: [
    { codes: [429], is: 'busy' },
    { words: /too long|exceed|maximum.{0,40}(?:length|characters)/i, is: 'too_long' },
    { codes: [401, 403, 404], is: 'forbidden' },
    { codes: [500, 502, 503, 504], is: 'retry' },
    { words: /chat.{0,20}(?:not found|invalid)|unauthorized|blocked/i, is: 'forbidden' },
    { codes: 'any', is: 'fatal' },
  ],
})

const call = (connection: ChannelConnection, method: string, body: object = {}) =>
  callZalo(connection, { method: 'POST', path: method, body })

export const zalo: Channel = {
  platform: 'zalo',
  name: 'Zalo',
  apiBase: { variable: 'ZALO_API_BASE', url: 'https://bot-api.zaloplatforms.com' },
  secrets: {
    bot_token: { shape: /^[\w:-]{1,200}$/, hint: 'The token that Zalo Bot Manager gave, like 123456:abc.' },
    webhook_secret: {
      shape: /^[\w-]{8,256}$/,
      hint: '8 to 256 letters, digits, "_" and "-"; generated when it is not given.',
      isGenerated: true,
    },
  },
  capabilities: { typing: { durationMs: 5_000 } },
  textLimit,
  receive: verified(
    token({ secret: 'webhook_secret', from: ({ headers }) => headers.get('x-bot-api-secret-token') }),
    ({ body }) => {
      const event = parseUpdate(parseJson(body))
      return { events: event ? [event] : [] }
    },
  ),
  render,
  send: async (connection, { address, chunk }) =>
    sentOutcome(await call(connection, 'sendMessage', { chat_id: address.chat, text: chunk.text }), (answer) =>
      pick(answer, 'result', 'message_id'),
    ),
  showTyping: async (connection, { chat }) =>
    sentOutcome(await call(connection, 'sendChatAction', { chat_id: chat, action: 'typing' })),
  getAccount: async (connection) => {
    const answer = await call(connection, 'getMe')
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    const bot = pick(answer.result, 'result')
    return { id: pickText(bot, 'id') ?? '', name: pickText(bot, 'account_name') ?? pickText(bot, 'name') ?? '' }
  },
  fetchMedia: (connection, { reference, mime, name }: MediaReference, maxBytes) =>
    fetchMediaFrom(connection, { url: reference, mime, name }, maxBytes),
  register,
  // The API asks for no chat.
  resolveTarget: async (_connection, address) =>
    /^[\w-]{3,100}$/.test(address.chat)
      ? { kind: 'found', address, isGroup: false }
      : {
          kind: 'unknown',
          detail: 'Zalo names chats by ids of letters and digits, which people have after they wrote.',
        },
}

async function register(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const { webhookUrl: url, secrets } = connection
  const body = { url, secret_token: secrets['webhook_secret'] }
  const changed = await (isOn ? call(connection, 'setWebhook', body) : call(connection, 'deleteWebhook'))
  if (changed.kind === 'failed') return { ok: false, detail: changed.outcome.detail }
  return { ok: true, detail: isOn ? 'Zalo sends its updates here.' : 'The webhook was removed.' }
}

function parseUpdate(body: unknown): InboundEvent | undefined {
  const update = pick(body, 'result') ?? body
  const message = pick(update, 'message')
  const [key, chat] = [pickText(message, 'message_id'), pickText(message, 'chat', 'id')]
  const sender = parseSender(pick(message, 'from'))
  if (key === undefined || chat === undefined || !sender) return undefined
  const event = pickText(update, 'event_name') ?? ''
  const media = parsePhoto(message)
  const text =
    renderText(event, message) ||
    (event.startsWith('message.') && event !== 'message.text.received' && !media.length ? unreadable : '')
  if (!text && !media.length) return undefined
  const isGroup = pickText(message, 'chat', 'chat_type') === 'GROUP'
  return { kind: 'message', key, address: { chat }, isGroup, sender, messageId: key, text, media, mentions: [] }
}

function parseSender(from: unknown): Sender | undefined {
  const id = pickText(from, 'id')
  const name = pickText(from, 'display_name') ?? pickText(from, 'name')
  return id === undefined
    ? undefined
    : { id, name: name ?? id, ...(pick(from, 'is_bot') === true && { isBot: true as const }) }
}

function parsePhoto(message: unknown): readonly MediaReference[] {
  const url = pickText(message, 'photo') ?? pickText(message, 'photo_url') ?? ''
  return URL.canParse(url) && url.length < 2_000 ? [{ kind: 'image', reference: url }] : []
}

function renderText(event: string, message: unknown): string {
  if (event === 'message.sticker.received') return describeContent('sticker')
  return pickText(message, 'text') ?? pickText(message, 'caption') ?? ''
}

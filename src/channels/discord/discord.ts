/**
 * Implements the channel port for Discord: interactions arrive by webhook, ordinary messages through the gateway
 * (src/durable/channels/connection-object.ts), and messages leave through the REST API.
 */

import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { ReplyHandle, SendOutcome } from '#agent/core/delivery.ts'
import {
  type Channel,
  type ChannelConnection,
  type ChatAddress,
  type InboundRequest,
  type OutboundMessage,
  type Received,
  refused,
  type Registration,
  type ResolvedTarget,
} from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { concatBytes } from '../hmac.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { type ApiResult, resolveBy, sentOutcome } from '../kit/api.ts'
import { ed25519 } from '../kit/proof.ts'
import { callDiscord } from './discord-api.ts'
import { encodeDiscord, maxTextChars, renderDiscord } from './discord-markdown.ts'
import { parseAddress, parseInteraction } from './parse-interaction.ts'
import { parseGatewayRequest } from './parse-message.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

/** Discord shows no embeds of addresses: fetching them could leak what the conversation contains. */
const suppressEmbeds = 1 << 2
const ephemeral = 1 << 6
const loading = 1 << 7

export const discord: Channel = {
  platform: 'discord',
  name: 'Discord',
  apiBase: { variable: 'DISCORD_API_BASE', url: 'https://discord.com/api/v10' },
  secrets: {
    bot_token: {
      shape: /^[A-Za-z0-9._-]{1,200}$/,
      hint: 'The token of the bot, from the page Bot of the application.',
    },
    public_key: { shape: /^[0-9a-fA-F]{64}$/, hint: 'The public key of the application: 64 hexadecimal digits.' },
    application_id: { shape: /^\d{1,20}$/, hint: 'The id of the application: a number.' },
  },
  capabilities: {
    edit: { intervalMs: () => 1_200 },
    typing: { durationMs: 10_000 },
    buttons: { maxRows: 5, maxPerRow: 5, maxLabelChars: 80, maxDataBytes: 100 },
    threads: true,
    files: { maxBytes: 10_000_000 },
    idempotencyKeys: true,
  },
  textLimit: { max: maxTextChars, unit: 'utf16' },
  receive,
  render: renderDiscord,
  send,
  showTyping: async (connection, address) =>
    getOutcome(await callDiscord(connection, { method: 'POST', path: `channels/${channelOf(address)}/typing` })),
  remove: async (connection, address, messageId) => {
    const path = `channels/${channelOf(address)}/messages/${encodeURIComponent(messageId)}`
    return getOutcome(await callDiscord(connection, { method: 'DELETE', path }))
  },
  answerPress: async (connection, token, text) => {
    const body = { content: text.slice(0, maxTextChars), flags: ephemeral, allowed_mentions: { parse: [] } }
    const path = `webhooks/${connection.secrets['application_id'] ?? ''}/${token}`
    return getOutcome(await callDiscord(connection, { method: 'POST', path, body, isAnonymous: true }))
  },
  getAccount: async (connection) => {
    const answer = await callDiscord(connection, { method: 'GET', path: 'users/@me' })
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    return { id: stringOf(answer.result['id']), name: stringOf(answer.result['username']) }
  },
  fetchMedia: (connection, { reference, mime, name }: MediaReference, maxBytes) =>
    fetchMediaFrom(connection, { url: reference, mime, name }, maxBytes),
  register,
  resolveTarget,
}

const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const channelOf = ({ chat, thread }: ChatAddress): string => encodeURIComponent(thread ?? chat)

async function receive(request: InboundRequest, connection: ChannelConnection): Promise<Received> {
  if (request.method === 'GATEWAY') return { events: parseGatewayRequest(request.body) }
  if (!(await isSigned(request, connection))) return refused()
  const body = parseJson(request.body) as { readonly type?: unknown } | null | undefined
  switch (body?.type) {
    case 0: // a ping of the subscription to events
      return { response: new Response(null, { status: 204 }), events: [] }
    case 1:
      return { response: Response.json({ type: 1 }), events: [] }
    case 2: // "is thinking", until the answer replaces it
      return interactionOf(body, request.receivedAt, { type: 5 }, ignoredCommand)
    case 3: // the message stays as it is
      return interactionOf(body, request.receivedAt, { type: 6 })
    default:
      return { events: [] }
  }
}

/** Only the person who wrote the command sees it (flag 64). */
const ignoredCommand = { type: 4, data: { content: 'You cannot use this bot here, or it is paused.', flags: 64 } }

function interactionOf(body: unknown, receivedAt: number, response: object, ignored = response): Received {
  const event = parseInteraction(body, receivedAt)
  if (!event) return { events: [] }
  return { response: Response.json(response), ignoredResponse: Response.json(ignored), events: [event] }
}

/** Discord tests the address with wrong signatures, and signs with a time of its choice. */
const isSigned = ed25519({
  publicKey: 'public_key',
  header: 'x-signature-ed25519',
  signed: ({ headers, body }) => {
    const timestamp = headers.get('x-signature-timestamp')
    return timestamp ? concatBytes(timestamp, body) : undefined
  },
})

async function send(connection: ChannelConnection, message: OutboundMessage, key: string): Promise<SendOutcome> {
  const { replyHandle, editedMessageId, address } = message
  const channel = channelOf(address)
  if (editedMessageId !== undefined) return editMessage(connection, message, editedMessageId)
  if (replyHandle && !message.file) {
    const answered = await answerInteraction(connection, message, replyHandle)
    if (answered) return answered
  }
  // A file cannot replace "is thinking". Should this fail, the file is sent anyway.
  if (replyHandle && message.file) await endThinking(connection, replyHandle)
  const body = createBody(message, { nonce: await nonceOf(key), enforce_nonce: true, ...renderReference(message) })
  const answer = await callDiscord(connection, { method: 'POST', path: `channels/${channel}/messages`, body })
  if (answer.kind === 'done' || answer.outcome.kind !== 'forbidden' || !replyHandle) return getOutcome(answer)
  // The bot is not a member of this chat; the token of the interaction still may write there.
  const path = webhookOf(connection, replyHandle)
  return getOutcome(
    await callDiscord(connection, { method: 'POST', path, body: createBody(message, {}), isAnonymous: true }),
  )
}

async function editMessage(
  connection: ChannelConnection,
  message: OutboundMessage,
  editedMessageId: string,
): Promise<SendOutcome> {
  const { address, replyHandle } = message
  const body = renderContent(message)
  const ending = `messages/${encodeURIComponent(editedMessageId)}`
  const path = `channels/${channelOf(address)}/${ending}`
  const answer = await callDiscord(connection, { method: 'PATCH', path, body })
  if (answer.kind === 'done' || answer.outcome.kind !== 'forbidden' || !replyHandle) return getOutcome(answer)
  // The bot is not a member of this chat, and has written there by the token.
  const own = `${webhookOf(connection, replyHandle)}/${ending}`
  return getOutcome(await callDiscord(connection, { method: 'PATCH', path: own, body, isAnonymous: true }))
}

const webhookOf = ({ secrets }: ChannelConnection, { token }: ReplyHandle): string =>
  `webhooks/${secrets['application_id'] ?? ''}/${token}`
const originalOf = (connection: ChannelConnection, replyHandle: ReplyHandle): string =>
  `${webhookOf(connection, replyHandle)}/messages/@original`

/** Removes "is thinking", unless a part of the answer has replaced it. */
async function endThinking(connection: ChannelConnection, replyHandle: ReplyHandle): Promise<void> {
  const path = originalOf(connection, replyHandle)
  const original = await callDiscord(connection, { method: 'GET', path, isAnonymous: true })
  const flags = original.kind === 'done' ? Number(original.result['flags']) : 0
  if (flags & loading) await callDiscord(connection, { method: 'DELETE', path, isAnonymous: true })
}

/**
 * Replaces "is thinking" by the first part of the answer. Returns undefined when another part already has: the next ones
 * are messages of the chat. A repetition finds its own text there.
 */
async function answerInteraction(
  connection: ChannelConnection,
  message: OutboundMessage,
  replyHandle: ReplyHandle,
): Promise<SendOutcome | undefined> {
  const path = originalOf(connection, replyHandle)
  const original = await callDiscord(connection, { method: 'GET', path, isAnonymous: true })
  if (original.kind === 'done' && typeof original.result['flags'] === 'number') {
    const { flags, content, id } = original.result
    const isWaiting = (Number(flags) & loading) !== 0
    if (!isWaiting) return content === encodeDiscord(message.chunk) ? { kind: 'sent', id: stringOf(id) } : undefined
  }
  if (original.kind === 'failed' && original.outcome.kind === 'retry') return original.outcome
  const body = renderContent(message)
  const answer = await callDiscord(connection, { method: 'PATCH', path, body, isAnonymous: true })
  const isGone = answer.kind === 'failed' && ['gone', 'forbidden', 'fatal'].includes(answer.outcome.kind)
  return isGone ? undefined : getOutcome(answer)
}

const renderContent = ({ chunk }: OutboundMessage) => ({
  content: encodeDiscord(chunk),
  flags: suppressEmbeds,
  allowed_mentions: { parse: [] },
  components: (chunk.buttons ?? []).map((row) => ({
    type: 1,
    components: row.map(({ label, data }) => ({ type: 2, style: 2, label, custom_id: data })),
  })),
})

function createBody(message: OutboundMessage, more: object): object | FormData {
  const { file } = message
  const fields = { ...renderContent(message), ...more }
  if (!file) return fields
  const form = new FormData()
  form.set('payload_json', JSON.stringify({ ...fields, flags: 0, attachments: [{ id: 0, filename: file.name }] }))
  form.set('files[0]', new File([file.bytes], file.name, { type: file.mime }))
  return form
}

const renderReference = ({ replyToMessageId }: OutboundMessage) =>
  replyToMessageId !== undefined && {
    message_reference: { message_id: replyToMessageId, fail_if_not_exists: false },
    allowed_mentions: { parse: [], replied_user: false },
  }

/** Discord accepts 25 characters. Its own repetitions carry the same number, so the message stands there once. */
const nonceOf = (key: string): Promise<string> => sha256Hex(key, 12)

const getOutcome = (answer: ApiResult): SendOutcome => sentOutcome(answer, ({ id }) => id)

const command = {
  name: 'talaria',
  description: 'Write to the agent, or give it a command like /help',
  type: 1,
  options: [{ name: 'text', description: 'A message, or a command like /status', type: 3, required: true }],
}

/** Creates the command `/talaria` and names the address for interactions. Discord checks the address at once. */
async function register(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const application = connection.secrets['application_id'] ?? ''
  if (isOn) {
    const path = `applications/${application}/commands`
    const created = await callDiscord(connection, { method: 'POST', path, body: command })
    if (created.kind === 'failed') return { ok: false, detail: created.outcome.detail }
  }
  const body = { interactions_endpoint_url: isOn ? connection.webhookUrl : null }
  const named = await callDiscord(connection, { method: 'PATCH', path: 'applications/@me', body })
  if (named.kind === 'failed') return { ok: false, detail: named.outcome.detail }
  return {
    ok: true,
    detail: isOn ? 'Discord has the command /talaria and the address.' : 'Discord forgot the address.',
  }
}

async function resolveTarget(connection: ChannelConnection, { chat, thread }: ChatAddress): Promise<ResolvedTarget> {
  const id = thread ?? chat
  if (!/^\d{1,20}$/.test(id)) return { kind: 'unknown', detail: 'Discord names channels by numbers.' }
  const answer = await callDiscord(connection, { method: 'GET', path: `channels/${id}` })
  if (answer.kind === 'failed') return resolveBy(answer, { address: { chat: id }, isGroup: true })
  const { type, parent_id: parent } = answer.result as { readonly type?: number; readonly parent_id?: string }
  return { kind: 'found', address: parseAddress(id, { type, parent_id: parent }), isGroup: type !== 1 }
}

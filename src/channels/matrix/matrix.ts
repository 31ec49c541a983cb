/**
 * Implements the channel port for Matrix: the homeserver rings by push notifications, one `/sync` fetches the events, and
 * nothing runs in between.
 */

import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { MessageChunk, SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { toHex } from '#durable/platform/hash.ts'
import { joinUrl } from '../call-api.ts'
import {
  type Channel,
  type ChannelConnection,
  type ChatAddress,
  type InboundRequest,
  type OutboundFile,
  type OutboundMessage,
  type Registration,
  refused,
  type ResolvedTarget,
} from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { computeHmac } from '../hmac.ts'
import { isSameSecret } from '../is-same-secret.ts'
import { repeatable, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick, pickList, pickText } from '../kit/pick.ts'
import { encodeHtml } from '../text/encode-html.ts'
import { maxLinkedUrlChars, writeLinkAddresses } from '../text/plain-links.ts'
import { authorizationOf, callMatrix, getOwnId, room } from './matrix-api.ts'
import { pull } from './pull.ts'

const appId = 'talaria'
const typingMs = 30_000

/** An event has at most 65 536 bytes, and contains the text twice. */
const { render, textLimit } = defineDialect({ max: 12_000, unit: 'utf8', maxLinkedChars: maxLinkedUrlChars })

export const matrix: Channel = {
  platform: 'matrix',
  name: 'Matrix',
  apiBase: { url: 'https://matrix.invalid' },
  needsUrl: true,
  secrets: {
    access_token: {
      shape: /^[\x21-\x7e]{1,2000}$/,
      hint: 'The access token of the account of the bot: Element, Settings, Help & About, Advanced.',
    },
  },
  capabilities: {
    edit: { intervalMs: () => 1_100 },
    typing: { durationMs: typingMs },
    threads: true,
    files: { maxBytes: 20 * 1024 * 1024 },
    idempotencyKeys: true,
  },
  textLimit,
  receive: async (request, connection) => {
    if (!(await isOwnPush(request, connection))) return refused()
    // Without an event it only says how much is unread.
    const isRing = pickText(parseJson(request.body), 'notification', 'event_id') !== undefined
    return { response: Response.json({ rejected: [] }), events: [], ...(isRing && { isRing }) }
  },
  pull,
  join: async (connection, { chat }) =>
    sentOutcome(await callMatrix(connection, { method: 'POST', path: room(chat, 'join'), body: {} })),
  render,
  send,
  showTyping: async (connection, { chat }) => {
    const own = await getOwnId(connection)
    if ('outcome' in own) return own.outcome
    const path = room(chat, `typing/${encodeURIComponent(own.id)}`)
    const body = { typing: true, timeout: typingMs }
    return sentOutcome(await callMatrix(connection, { method: 'PUT', path, body }))
  },
  getAccount: async (connection) => {
    const answer = await callMatrix(connection, { method: 'GET', path: 'client/v3/account/whoami' })
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    const id = pickText(answer.result, 'user_id') ?? ''
    return { id, name: /^@([^:]{1,255}):/.exec(id)?.[1] ?? id }
  },
  fetchMedia: (connection, { reference, mime, name }: MediaReference, maxBytes) => {
    const [server = '', id = ''] = reference.replace('mxc://', '').split('/')
    const path = `_matrix/client/v1/media/download/${encodeURIComponent(server)}/${encodeURIComponent(id)}`
    const url = joinUrl(connection.apiBase, path)
    return fetchMediaFrom(connection, { url, headers: authorizationOf(connection), mime, name }, maxBytes)
  },
  remove: async (connection, { chat }, id) => {
    const path = room(chat, `redact/${encodeURIComponent(id)}/${encodeURIComponent(`redact-${id}`)}`)
    return sentOutcome(await callMatrix(connection, { method: 'PUT', path, body: {} }))
  },
  register,
  resolveTarget,
}

/** Names the connection, and proves that its homeserver calls: `<id>.<secret>`. */
async function pushkeyOf({ webhookUrl, secrets }: ChannelConnection): Promise<string | undefined> {
  const token = secrets['access_token']
  if (!token) return undefined
  const secret = await computeHmac('SHA-256', token, new TextEncoder().encode(`pusher ${webhookUrl}`))
  return `${webhookUrl.split('/').at(-1)}.${toHex(secret)}`
}

async function isOwnPush({ body }: InboundRequest, connection: ChannelConnection): Promise<boolean> {
  const expected = await pushkeyOf(connection)
  const devices = pickList(parseJson(body), 'notification', 'devices').slice(0, 10)
  const found = devices.map((one) => isSameSecret(pickText(one, 'pushkey'), expected))
  return found.includes(true)
}

async function register(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const { origin, protocol } = new URL(connection.webhookUrl)
  if (isOn && protocol !== 'https:')
    return { ok: false, detail: 'Homeservers call https addresses only: this server needs a public address.' }
  const url = `${origin}/_matrix/push/v1/notify`
  const names = { app_display_name: 'Talaria', device_display_name: 'Talaria', lang: 'en' }
  const pusher = { kind: 'http', ...names, data: { url, format: 'event_id_only' }, append: true }
  const body = { app_id: appId, pushkey: await pushkeyOf(connection), ...(isOn ? pusher : { kind: null }) }
  const answer = await callMatrix(connection, { method: 'POST', path: 'client/v3/pushers/set', body })
  if (answer.kind === 'failed') return { ok: false, detail: answer.outcome.detail }
  return { ok: true, detail: isOn ? 'The homeserver rings here.' : 'The homeserver forgot the address.' }
}

async function send(connection: ChannelConnection, message: OutboundMessage, key: string): Promise<SendOutcome> {
  const { address, file, editedMessageId } = message
  const content = file ? await uploadFile(connection, message, file) : renderText(message.chunk)
  if ('outcome' in content) return content.outcome as SendOutcome
  const path = room(address.chat, `send/m.room.message/${encodeURIComponent(key)}`)
  const body =
    editedMessageId === undefined
      ? { ...content, ...renderRelation(message) }
      : {
          ...content,
          body: `* ${message.chunk.text}`,
          'm.new_content': content,
          'm.relates_to': { rel_type: 'm.replace', event_id: editedMessageId },
        }
  const answer = await callMatrix(connection, { method: 'PUT', path, body })
  if (editedMessageId === undefined) return sentOutcome(answer, ({ event_id: id }) => id)
  const isGone = answer.kind === 'failed' && answer.status === 404
  return isGone ? { kind: 'gone', detail: answer.outcome.detail } : sentOutcome(answer, () => editedMessageId)
}

function renderText(chunk: MessageChunk): object {
  const body = writeLinkAddresses({ text: chunk.text, spans: [...chunk.spans] }).text
  return {
    msgtype: 'm.text',
    body,
    ...(chunk.spans.length > 0 && { format: 'org.matrix.custom.html', formatted_body: encodeHtml(chunk) }),
    // Nobody is mentioned by accident.
    'm.mentions': {},
  }
}

/** Clients without threads show the message as an answer to the thread. */
function renderRelation({ address: { thread }, replyToMessageId }: OutboundMessage): object {
  const answered = replyToMessageId === undefined ? undefined : { event_id: replyToMessageId }
  if (thread !== undefined)
    return {
      'm.relates_to': {
        rel_type: 'm.thread',
        event_id: thread,
        is_falling_back: !answered,
        'm.in_reply_to': answered ?? { event_id: thread },
      },
    }
  return answered ? { 'm.relates_to': { 'm.in_reply_to': answered } } : {}
}

const fileTypes: Readonly<Record<OutboundFile['kind'], string>> = {
  image: 'm.image',
  audio: 'm.audio',
  voice: 'm.audio',
  video: 'm.video',
  document: 'm.file',
}

async function uploadFile(connection: ChannelConnection, { chunk }: OutboundMessage, file: OutboundFile) {
  const uploaded = await callMatrix(connection, {
    method: 'POST',
    path: `media/v3/upload?filename=${encodeURIComponent(file.name)}`,
    headers: { 'content-type': file.mime },
    body: new Blob([file.bytes], { type: file.mime }),
  })
  if (uploaded.kind === 'failed') return { outcome: repeatable(uploaded.outcome) }
  return {
    msgtype: fileTypes[file.kind],
    body: chunk.text.trim() || file.name,
    filename: file.name,
    url: uploaded.result['content_uri'],
    info: { mimetype: file.mime, size: file.bytes.length },
    ...(file.kind === 'voice' && { 'org.matrix.msc3245.voice': {} }),
  }
}

async function resolveTarget(connection: ChannelConnection, address: ChatAddress): Promise<ResolvedTarget> {
  const { chat } = address
  if (!/^![^\s/]{1,255}$/.test(chat)) return { kind: 'unknown', detail: 'Matrix names rooms like !abc:example.org.' }
  const answer = await callMatrix(connection, { method: 'GET', path: room(chat, 'joined_members') })
  const joined = answer.kind === 'done' ? Object.keys((pick(answer.result, 'joined') ?? {}) as object) : []
  return resolveBy(answer, { address, isGroup: answer.kind === 'failed' || joined.length > 2 })
}

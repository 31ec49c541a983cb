/** Implements the channel port for Feishu and Lark: encrypted events by webhook, answers as cards. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { MessageChunk, SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { sha256, sha256Hex, toHex } from '#durable/platform/hash.ts'
import { callApi, classifyStatus, joinUrl } from '../call-api.ts'
import {
  type Channel,
  type ChannelConnection,
  type InboundRequest,
  type OutboundFile,
  type OutboundMessage,
  type PressResult,
  type Received,
  refused,
} from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { concatBytes } from '../hmac.ts'
import { isSameSecret } from '../is-same-secret.ts'
import { decryptAesCbc } from '../kit/aes-cbc.ts'
import { defineApi, failedMedia, repeatable, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineAppToken, type TokenAnswer, withAppToken } from '../kit/app-token.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick, pickNumber, pickText } from '../kit/pick.ts'
import { markdownMarks } from '../text/markdown-marks.ts'
import { parseEvent } from './parse-event.ts'

const feishuUrl = 'https://open.feishu.cn'
const larkUrl = 'https://open.larksuite.com'
const baseOf = ({ apiBase, domain }: ChannelConnection): string =>
  apiBase === feishuUrl && domain === 'lark' ? larkUrl : apiBase

/** A card has at most 30 KB. */
const { encode, render, textLimit } = defineDialect({ max: 24_000, unit: 'utf8', marks: markdownMarks })

async function requestToken(connection: ChannelConnection): Promise<TokenAnswer> {
  const { app_id, app_secret } = connection.secrets
  const url = joinUrl(baseOf(connection), 'open-apis/auth/v3/tenant_access_token/internal')
  const headers = { 'content-type': 'application/json' }
  const answer = await callApi(url, { method: 'POST', headers, body: JSON.stringify({ app_id, app_secret }) })
  if (answer.kind === 'ambiguous') return { kind: 'failed', outcome: repeatable(answer) }
  const token = pickText(answer.body, 'tenant_access_token')
  if (pick(answer.body, 'code') === 0 && token !== undefined)
    return { kind: 'granted', token, lifetimeSeconds: pickNumber(answer.body, 'expire') ?? 3_600 }
  const code = pickText(answer.body, 'code')
  if (code === undefined) return { kind: 'failed', outcome: classifyStatus(answer) }
  return { kind: 'failed', outcome: { kind: 'forbidden', detail: `${code}: ${pickText(answer.body, 'msg') ?? ''}` } }
}

const getToken = defineAppToken({ secret: 'app_secret', request: requestToken })
const refusedTokens = [99_991_661, 99_991_663, 99_991_664, 99_991_665, 99_991_668, 99_991_677]
const call = withAppToken(
  getToken,
  defineApi({
    prefix: () => 'open-apis/',
    headers: () => ({}),
    readFailure: ({ code, msg }) => ({
      ...(typeof code === 'number' && { code }),
      message: typeof msg === 'string' ? msg : '',
    }),
    isDone: ({ code }) => code === 0,
    outcomes: [
      { codes: [99_991_400, 230_020, 11_232, 11_233], is: 'busy' },
      { codes: [230_025, 230_028, 230_099], words: /too (?:long|large)|exceed|limit/i, is: 'too_long' },
      { codes: [230_011, 231_003, 230_110], is: 'gone' },
      {
        codes: [...refusedTokens, 230_002, 230_006, 230_013, 230_018, 230_035, 99_991_672, 99_991_679],
        is: 'forbidden',
      },
      { words: /chat.{0,20}not (?:found|exist)|out of the chat|invalid receive_id/i, is: 'forbidden' },
    ],
  }),
  refusedTokens,
)
const callFeishu: typeof call = (connection, request) => call(connection, { ...request, base: baseOf(connection) })

export const feishu: Channel = {
  platform: 'feishu',
  name: 'Feishu / Lark',
  apiBase: { variable: 'FEISHU_API_BASE', url: feishuUrl },
  ownSettings: ['domain'],
  secrets: {
    app_id: { shape: /^[\w-]{1,100}$/, hint: 'The App ID, like cli_….' },
    app_secret: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The App Secret.' },
    verification_token: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The Verification Token of Events & Callbacks.' },
    encrypt_key: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The Encrypt Key of Events & Callbacks.' },
  },
  capabilities: {
    edit: { intervalMs: () => 1_100 },
    buttons: { maxRows: 10, maxPerRow: 1, maxLabelChars: 40, maxDataBytes: 500 },
    threads: true,
    files: { maxBytes: 10 * 1024 * 1024 },
    idempotencyKeys: true,
  },
  textLimit,
  receive,
  render,
  send,
  remove: async (connection, _address, id) =>
    sentOutcome(await callFeishu(connection, { method: 'DELETE', path: `im/v1/messages/${encodeURIComponent(id)}` })),
  probe: async (connection) => sentOutcome(await callFeishu(connection, { method: 'GET', path: 'bot/v3/info' })),
  getAccount: async (connection) => {
    const answer = await callFeishu(connection, { method: 'GET', path: 'bot/v3/info' })
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    const bot = pick(answer.result, 'bot')
    return { id: pickText(bot, 'open_id') ?? '', name: pickText(bot, 'app_name') ?? '' }
  },
  fetchMedia: async (connection, { reference, mime, name }: MediaReference, maxBytes) => {
    const found = await getToken(connection)
    if ('outcome' in found) return failedMedia(found.outcome)
    const [message = '', key = '', type = 'file'] = reference.split('/').map(encodeURIComponent)
    const path = `open-apis/im/v1/messages/${message}/resources/${key}?type=${type}`
    const headers = { authorization: `Bearer ${found.token}` }
    return fetchMediaFrom(connection, { url: joinUrl(baseOf(connection), path), headers, mime, name }, maxBytes)
  },
  resolveTarget: async (connection, address) => {
    if (!/^oc_\w{1,100}$/.test(address.chat)) return { kind: 'unknown', detail: 'Feishu names chats like oc_….' }
    const answer = await callFeishu(connection, { method: 'GET', path: `im/v1/chats/${address.chat}` })
    return resolveBy(answer, {
      address,
      isGroup: answer.kind === 'failed' || pick(answer.result, 'data', 'chat_mode') !== 'p2p',
    })
  },
}

const windowMs = 300_000

/** Without the signature of Feishu, only the check of the address is answered: its encrypted token proves it. */
async function receive(request: InboundRequest, { secrets }: ChannelConnection): Promise<Received> {
  const { encrypt_key: key, verification_token: token } = secrets
  if (!key) return refused()
  const isSigned = await hasSignature(request, key)
  const encrypted = pickText(parseJson(request.body), 'encrypt')
  // A signed body that is not encrypted means nothing.
  if (encrypted === undefined) return isSigned ? { events: [] } : refused()
  const body = parseJson((await decrypt(encrypted, key)) ?? '')
  if (!isSameSecret(pickText(body, 'header', 'token') ?? pickText(body, 'token'), token)) return refused()
  const challenge = pickText(body, 'type') === 'url_verification' ? pickText(body, 'challenge') : undefined
  if (challenge !== undefined) return { response: Response.json({ challenge }), events: [] }
  return isSigned ? readEvent(body) : refused()
}

function readEvent(body: unknown): Received {
  const event = parseEvent(body)
  if (event?.kind !== 'press') return { response: Response.json({}), events: event ? [event] : [] }
  return {
    events: [event],
    settle: answerPress,
    ignoredResponse: answerPress({ toast: 'You cannot press this button.' }),
  }
}

async function hasSignature({ headers, body, receivedAt }: InboundRequest, key: string): Promise<boolean> {
  const [time, nonce] = [headers.get('x-lark-request-timestamp') ?? '', headers.get('x-lark-request-nonce') ?? '']
  if (!/^\d{1,12}$/.test(time) || Math.abs(receivedAt - Number(time) * 1_000) > windowMs) return false
  const expected = toHex(await sha256(concatBytes(time + nonce + key, body)))
  return isSameSecret(headers.get('x-lark-signature'), expected)
}

/** The key is the hash of the Encrypt Key, the first block is the vector. */
async function decrypt(encrypted: string, key: string): Promise<Uint8Array | undefined> {
  try {
    const bytes = decodeBase64Bytes(encrypted)
    return decryptAesCbc(await sha256(key), bytes.slice(0, 16), bytes.slice(16))
  } catch {
    return undefined // no Base64
  }
}

/** The card without its buttons, and a short text for the person who pressed. */
const answerPress = ({ toast, ends }: PressResult): Response =>
  Response.json({
    toast: { type: 'info', content: toast },
    ...(ends !== undefined && { card: { type: 'raw', data: renderCard({ text: ends, spans: [] }) } }),
  })

function renderCard(chunk: MessageChunk, thread?: string): object {
  const actions = (chunk.buttons?.flat() ?? []).map(({ label, data }) => ({
    tag: 'button',
    text: { tag: 'plain_text', content: label },
    value: { data, ...(thread !== undefined && { thread }) },
  }))
  return {
    config: { update_multi: true, wide_screen_mode: true },
    elements: [
      { tag: 'markdown', content: encode(chunk) },
      ...(actions.length > 0 ? [{ tag: 'action', layout: 'flow', actions }] : []),
    ],
  }
}

async function send(connection: ChannelConnection, message: OutboundMessage, key: string): Promise<SendOutcome> {
  const { address, chunk, file, editedMessageId } = message
  const { chat, thread } = address
  if (editedMessageId !== undefined) {
    const body = { content: JSON.stringify(renderCard(chunk, thread)) }
    const path = `im/v1/messages/${encodeURIComponent(editedMessageId)}`
    return sentOutcome(await callFeishu(connection, { method: 'PATCH', path, body }), () => editedMessageId)
  }
  const content = file
    ? await uploadFile(connection, file)
    : { type: 'interactive', content: renderCard(chunk, thread) }
  if ('outcome' in content) return content.outcome
  const body = { msg_type: content.type, content: JSON.stringify(content.content), uuid: await sha256Hex(key, 16) }
  const request =
    thread === undefined
      ? { path: 'im/v1/messages?receive_id_type=chat_id', body: { ...body, receive_id: chat } }
      : { path: `im/v1/messages/${encodeURIComponent(thread)}/reply`, body }
  return sentOutcome(await callFeishu(connection, { method: 'POST', ...request }), ({ data }) =>
    pick(data, 'message_id'),
  )
}

/** An upload alone shows nothing to anybody. */
async function uploadFile(connection: ChannelConnection, { kind, name, mime, bytes }: OutboundFile) {
  const isImage = kind === 'image'
  const form = new FormData()
  for (const [part, value] of isImage
    ? [['image_type', 'message']]
    : [
        ['file_type', 'stream'],
        ['file_name', name],
      ])
    form.set(part ?? '', value ?? '')
  form.set(isImage ? 'image' : 'file', new File([bytes], name, { type: mime }))
  const uploaded = await callFeishu(connection, {
    method: 'POST',
    path: isImage ? 'im/v1/images' : 'im/v1/files',
    body: form,
  })
  if (uploaded.kind === 'failed') return { outcome: repeatable(uploaded.outcome) }
  const field = isImage ? 'image_key' : 'file_key'
  return { type: isImage ? 'image' : 'file', content: { [field]: pick(uploaded.result, 'data', field) } }
}

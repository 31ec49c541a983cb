/**
 * Implements the channel port for AI bots of WeCom in the mode of callbacks: encrypted messages by webhook, and one answer
 * to each by the code that came with it.
 */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { toHex } from '#durable/platform/hash.ts'
import {
  type Channel,
  type ChannelConnection,
  type FetchedMedia,
  type InboundEvent,
  type InboundRequest,
  type OutboundMessage,
  type Quote,
  type Received,
  refused,
} from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { isSameSecret } from '../is-same-secret.ts'
import { decryptAesCbc } from '../kit/aes-cbc.ts'
import { defineApi, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick, pickList, pickText } from '../kit/pick.ts'
import { describeContent, unreadable } from '../text/describe-forward.ts'
import { markdownMarks } from '../text/markdown-marks.ts'

/** WeCom accepts 20 480 bytes. */
const { encode, render, textLimit } = defineDialect({ max: 19_000, unit: 'utf8', marks: markdownMarks })
const windowMs = 300_000
/** A little less than the hour for which WeCom takes an answer. */
const answerMs = 59 * 60_000
/** The API does not tell who the bot is. */
const ownId = 'bot'

const callWecom = defineApi({
  headers: () => ({}),
  readFailure: ({ errcode: code, errmsg }) => ({
    ...(typeof code === 'number' && code !== 0 && { code }),
    message: typeof errmsg === 'string' ? errmsg : undefined,
  }),
  isDone: ({ errcode }) => errcode === 0,
  outcomes: [
    { codes: [45_009, 45_033, 846_607], is: 'busy' },
    { words: /too long|exceed.{0,40}(?:length|size|limit)|content size/i, is: 'too_long' },
    {
      words: /response.?(?:code|url)|expired|invalid credential|already/i,
      is: 'window',
      detail: 'WeCom takes one answer to each message, within an hour',
    },
    { codes: 'any', is: 'fatal' },
  ],
})

export const wecom: Channel = {
  platform: 'wecom',
  name: 'WeCom',
  apiBase: { variable: 'WECOM_API_BASE', url: 'https://qyapi.weixin.qq.com' },
  secrets: {
    token: { shape: /^[A-Za-z0-9]{1,32}$/, hint: 'The Token of the callback.' },
    encoding_aes_key: {
      shape: /^[A-Za-z0-9]{43}$/,
      hint: 'The EncodingAESKey of the callback: 43 letters and digits.',
    },
  },
  capabilities: {},
  textLimit,
  receive,
  render,
  send,
  getAccount: async () => ({ id: ownId, name: 'AI bot' }),
  fetchMedia,
  // The API asks for no chat.
  resolveTarget: async (_connection, address) =>
    /^[\w.@-]{1,100}$/.test(address.chat)
      ? { kind: 'found', address, isGroup: isGroupId(address.chat) }
      : { kind: 'unknown', detail: 'WeCom names people by their userid, and groups like wr….' },
}

const isGroupId = (chat: string): boolean => /^wr[\w-]{20,}$/.test(chat)

async function send(connection: ChannelConnection, message: OutboundMessage): Promise<SendOutcome> {
  const { chunk, replyHandle } = message
  if (!replyHandle) return { kind: 'window', detail: 'WeCom takes one answer to each message: write to the bot first' }
  const path = `cgi-bin/aibot/response?response_code=${encodeURIComponent(replyHandle.token)}`
  const body = { msgtype: 'markdown', markdown: { content: encode(chunk) } }
  return sentOutcome(await callWecom(connection, { method: 'POST', path, body }))
}

type Keys = { readonly token: string; readonly key: Uint8Array<ArrayBuffer> }

function keysOf({ secrets }: ChannelConnection): Keys | undefined {
  const { token, encoding_aes_key: encoded = '' } = secrets
  if (!token || !/^[A-Za-z0-9+/]{43}$/.test(encoded)) return undefined
  return { token, key: decodeBase64Bytes(`${encoded}=`) }
}

async function receive(request: InboundRequest, connection: ChannelConnection): Promise<Received> {
  const keys = keysOf(connection)
  const query = request.url.searchParams
  const isCheck = request.method === 'GET'
  const encrypted = isCheck ? query.get('echostr') : pickText(parseJson(request.body), 'encrypt')
  if (!keys || !encrypted || !(await isSigned(request, encrypted, keys))) return refused()
  const content = await decryptMessage(encrypted, keys)
  if (content === undefined) return refused()
  if (isCheck) return { response: new Response(content), events: [] }
  const event = parseMessage(parseJson(content), request.receivedAt)
  return { events: event ? [event] : [] }
}

async function isSigned({ url, receivedAt }: InboundRequest, encrypted: string, { token }: Keys): Promise<boolean> {
  const query = url.searchParams
  const [time, nonce] = [query.get('timestamp') ?? '', query.get('nonce') ?? '']
  if (!/^\d{1,12}$/.test(time) || Math.abs(receivedAt - Number(time) * 1_000) > windowMs) return false
  const signed = new TextEncoder().encode([token, time, nonce, encrypted].toSorted().join(''))
  const expected = toHex(new Uint8Array(await crypto.subtle.digest('SHA-1', signed)))
  return isSameSecret(query.get('msg_signature'), expected)
}

const randomBytes = 16

/** 16 random bytes, the length of the message in 4, the message, and the receiver, whom an AI bot does not have. */
async function decryptMessage(encrypted: string, { key }: Keys): Promise<string | undefined> {
  try {
    const plain = await decryptAesCbc(key, key.slice(0, 16), decodeBase64Bytes(encrypted))
    if (!plain || plain.length < randomBytes + 4) return undefined
    const length = new DataView(plain.buffer).getUint32(randomBytes)
    const message = plain.slice(randomBytes + 4)
    return message.length === length ? new TextDecoder().decode(message) : undefined
  } catch {
    return undefined // no Base64
  }
}

/** Files are encrypted like messages. */
async function fetchMedia(
  connection: ChannelConnection,
  { reference, mime, name }: MediaReference,
  maxBytes: number,
): Promise<FetchedMedia> {
  const fetched = await fetchMediaFrom(connection, { url: reference, mime, name }, maxBytes + 32)
  const keys = keysOf(connection)
  if (fetched.kind === 'failed' || !keys) return fetched
  const bytes = await decryptAesCbc(keys.key, keys.key.slice(0, 16), fetched.bytes)
  if (!bytes) return { kind: 'failed', detail: 'the file could not be decrypted', canRetry: false }
  if (bytes.length > maxBytes) return { kind: 'failed', detail: 'the file is too large', canRetry: false }
  const { mime: _served, ...file } = fetched
  return { ...file, bytes, ...(mime && { mime }) }
}

function parseMessage(body: unknown, receivedAt: number): InboundEvent | undefined {
  const [key, person] = [pickText(body, 'msgid'), pickText(body, 'from', 'userid')]
  const isGroup = pickText(body, 'chattype') === 'group'
  const chat = isGroup ? pickText(body, 'chatid') : person
  if (key === undefined || person === undefined || chat === undefined) return undefined
  const content = parseContent(body)
  if (!content) return undefined
  const quote = parseQuote(pick(body, 'quote'))
  const code = codeOf(pickText(body, 'response_url') ?? '')
  return {
    kind: 'message',
    key,
    address: { chat },
    isGroup,
    sender: { id: person, name: pickText(body, 'from', 'name') ?? person },
    messageId: key,
    media: content.media,
    // Messages of groups arrive only when they mention the bot.
    text: isGroup ? content.text.replace(/^@\S{1,64}\s+/, '') : content.text,
    mentions: isGroup ? [ownId] : [],
    ...(quote && { quote }),
    ...(code && { replyHandle: { token: code, expiresAt: receivedAt + answerMs, maxUses: 1 } }),
  }
}

/** The address is not used: it could be another one. */
const codeOf = (address: string): string =>
  URL.canParse(address) ? (new URL(address).searchParams.get('response_code') ?? '') : ''

type Content = { readonly text: string; readonly media: readonly MediaReference[] }

/** Undefined for what no person wrote: events, and requests for the rest of an answer. */
function parseContent(body: unknown): Content | undefined {
  const type = pickText(body, 'msgtype') ?? ''
  const content = pick(body, type)
  switch (type) {
    case 'text':
    case 'voice':
      // A voice message comes as its words.
      return withText(pickText(content, 'content') ?? '')
    case 'image':
    case 'file':
    case 'video':
      return parseFile(type, content)
    case 'mixed':
      return joinParts(pickList(content, 'msg_item').map((part) => parseContent(part)))
    case 'event':
    case 'stream':
      return undefined
    default:
      return withText(unreadable)
  }
}

const withText = (text: string): Content | undefined => (text.trim() ? { text: text.trim(), media: [] } : undefined)

function joinParts(parts: readonly (Content | undefined)[]): Content | undefined {
  const known = parts.filter((part) => part !== undefined)
  const text = known.map((part) => part.text).filter(Boolean)
  return known.length ? { text: text.join('\n'), media: known.flatMap((part) => part.media) } : undefined
}

function parseFile(type: 'image' | 'file' | 'video', content: unknown): Content | undefined {
  const reference = pickText(content, 'url') ?? ''
  if (!URL.canParse(reference) || reference.length > 2_000) return withText(describeContent(type))
  const name = pickText(content, 'filename') ?? pickText(content, 'name')
  const kind = type === 'file' ? 'document' : type
  return { text: '', media: [{ kind, reference, ...(name !== undefined && { name }) }] }
}

/** A quoted message has no id. */
function parseQuote(quoted: unknown): Quote | undefined {
  const content = parseContent(quoted)
  return content && { messageId: 'quoted', text: content.text, media: content.media }
}

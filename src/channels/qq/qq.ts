/**
 * Implements the channel port for official bots of QQ: signed events by webhook, answers by the REST API. A bot may only
 * answer, so each message that is sent names the one that it answers.
 */

import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { sha256, toHex } from '#durable/platform/hash.ts'
import { callApi, joinUrl } from '../call-api.ts'
import type {
  Channel,
  ChannelConnection,
  ChatAddress,
  InboundEvent,
  InboundRequest,
  OutboundMessage,
  Received,
} from '../channel.ts'
import { refused } from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { concatBytes } from '../hmac.ts'
import { isSameSecret } from '../is-same-secret.ts'
import { defineApi, sentOutcome } from '../kit/api.ts'
import { defineAppToken, probeToken, readTokenAnswer, type TokenAnswer, withAppToken } from '../kit/app-token.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick, pickList, pickText } from '../kit/pick.ts'
import { unreadable } from '../text/describe-forward.ts'

const apiUrl = 'https://api.sgroup.qq.com'
const loginUrl = 'https://bots.qq.com'
const { render, textLimit } = defineDialect({ max: 1_900, unit: 'utf16' })
const windowMs = 300_000
/** A little less than QQ allows: an answer takes time to arrive. */
const directMs = 59 * 60_000
const groupMs = 4.5 * 60_000
const maxAnswers = 5

async function requestToken({ apiBase, secrets }: ChannelConnection): Promise<TokenAnswer> {
  const body = JSON.stringify({ appId: secrets['app_id'], clientSecret: secrets['app_secret'] })
  const base = apiBase === apiUrl ? loginUrl : apiBase
  const headers = { 'content-type': 'application/json' }
  const answer = await callApi(joinUrl(base, 'app/getAppAccessToken'), { method: 'POST', headers, body })
  // A wrong secret is answered with 200.
  const read = readTokenAnswer(answer, { error: 'message' })
  const isRefused = answer.kind === 'answered' && answer.status === 200 && read.kind === 'failed'
  const detail = isRefused ? (pickText(answer.body, 'message') ?? 'the app is not known') : ''
  return isRefused ? { kind: 'failed', outcome: { kind: 'forbidden', detail } } : read
}

const getToken = defineAppToken({ request: requestToken })
const refusedTokens = [11_241, 11_243, 11_244]
const callQq = withAppToken(
  getToken,
  defineApi({
    headers: () => ({}),
    readFailure: ({ code, message }) => ({
      code: typeof code === 'number' ? code : undefined,
      message: typeof message === 'string' ? message : undefined,
    }),
    isDone: ({ code }) => code === undefined || code === 0,
    outcomes: [
      { codes: [22_009, 20_028], is: 'busy' },
      { codes: [40_034_128, 304_022], is: 'window', detail: 'the time to answer is over, or there were five answers' },
      { codes: [40_054_007, 40_054_018], is: 'too_long' },
      { codes: [40_054_004, 40_054_013, 40_054_016, 11_253, 11_254, 11_265, ...refusedTokens], is: 'forbidden' },
    ],
  }),
  refusedTokens,
  (token) => ({ authorization: `QQBot ${token}` }),
)

export const qq: Channel = {
  platform: 'qq',
  name: 'QQ',
  apiBase: { variable: 'QQ_API_BASE', url: apiUrl },
  secrets: {
    app_id: { shape: /^[\w-]{1,100}$/, hint: 'The AppID of the bot.' },
    app_secret: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The AppSecret. It also signs the events.' },
  },
  capabilities: {
    // A number is counted once for each answered message.
    idempotencyKeys: true,
  },
  textLimit,
  receive,
  render,
  send,
  remove: async (connection, address, id) =>
    sentOutcome(
      await callQq(connection, { method: 'DELETE', path: `${pathOf(address)}/messages/${encodeURIComponent(id)}` }),
    ),
  probe: probeToken(getToken),
  getAccount: async (connection) => {
    const answer = await callQq(connection, { method: 'GET', path: 'users/@me' })
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    return { id: connection.secrets['app_id'] ?? '', name: pickText(answer.result, 'username') ?? '' }
  },
  fetchMedia: (connection, { reference, mime, name }: MediaReference, maxBytes) =>
    fetchMediaFrom(connection, { url: reference, mime, name }, maxBytes),
  // The API asks for no chat.
  resolveTarget: async (_connection, address) =>
    /^(?:group\.)?[\w-]{8,100}$/.test(address.chat)
      ? { kind: 'found', address, isGroup: isGroup(address) }
      : { kind: 'unknown', detail: 'QQ names people by their openid, and groups like group.OPENID.' },
}

const isGroup = ({ chat }: ChatAddress): boolean => chat.startsWith('group.')
const pathOf = (address: ChatAddress): string =>
  isGroup(address)
    ? `v2/groups/${encodeURIComponent(address.chat.slice(6))}`
    : `v2/users/${encodeURIComponent(address.chat)}`

/** Answers to one message are told apart by a number. The same number is accepted once. */
async function send(
  connection: ChannelConnection,
  { address, chunk, replyHandle }: OutboundMessage,
  key: string,
): Promise<SendOutcome> {
  if (!replyHandle) return { kind: 'window', detail: 'a bot of QQ can only answer: write to it first' }
  const [a = 0, b = 0, c = 0] = await sha256(key)
  const body = { content: chunk.text, msg_type: 0, msg_id: replyHandle.token, msg_seq: 1 + a * 65_536 + b * 256 + c }
  const answer = await callQq(connection, { method: 'POST', path: `${pathOf(address)}/messages`, body })
  if (answer.kind === 'failed' && answer.code === 40_054_005) return { kind: 'sent' }
  return sentOutcome(answer, ({ id }) => id)
}

/** Begins a private key of Ed25519 in PKCS #8 (RFC 8410). */
const keyHead = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20]
const seedBytes = 32

/** The secret, repeated, is the seed of the key with which both sides sign. */
async function sign(secret: string, content: Uint8Array<ArrayBuffer>): Promise<string> {
  const seed = new TextEncoder().encode(secret.repeat(seedBytes)).slice(0, seedBytes)
  const pkcs8 = Uint8Array.from([...keyHead, ...seed])
  const key = await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign'])
  return toHex(new Uint8Array(await crypto.subtle.sign('Ed25519', key, content)))
}

async function receive(request: InboundRequest, connection: ChannelConnection): Promise<Received> {
  const { app_id: app, app_secret: secret } = connection.secrets
  if (!secret || !isSameSecret(request.headers.get('x-bot-appid'), app)) return refused()
  const body = parseJson(request.body)
  if (pick(body, 'op') === 13) return proveAddress(pick(body, 'd'), secret)
  if (!(await isSigned(request, secret))) return refused()
  const event = parseEvent(body, request.receivedAt, app ?? '')
  return { response: Response.json({ op: 12 }), events: event ? [event] : [] }
}

async function isSigned({ headers, body, receivedAt }: InboundRequest, secret: string): Promise<boolean> {
  const time = headers.get('x-signature-timestamp') ?? ''
  if (!/^\d{1,12}$/.test(time) || Math.abs(receivedAt - Number(time) * 1_000) > windowMs) return false
  return isSameSecret(headers.get('x-signature-ed25519'), await sign(secret, Uint8Array.from(concatBytes(time, body))))
}

/**
 * Signs the token with which QQ checks the address. The request for it is not signed, and events are signed with the same
 * key: a token that could be an event is refused.
 */
async function proveAddress(asked: unknown, secret: string): Promise<Received> {
  const [token = '', time = ''] = [pickText(asked, 'plain_token'), pickText(asked, 'event_ts')]
  if (!/^[\w-]{1,100}$/.test(token) || !/^\d{1,16}$/.test(time)) return refused()
  const signature = await sign(secret, Uint8Array.from(new TextEncoder().encode(time + token)))
  return { response: Response.json({ plain_token: token, signature }), events: [] }
}

function parseEvent(body: unknown, receivedAt: number, own: string): InboundEvent | undefined {
  const [type, d] = [pickText(body, 't'), pick(body, 'd')]
  const key = pickText(d, 'id')
  if (key === undefined) return undefined
  if (type === 'C2C_MESSAGE_CREATE') {
    const person = pickText(d, 'author', 'user_openid')
    if (person === undefined) return undefined
    const replyHandle = { token: key, expiresAt: receivedAt + directMs, maxUses: maxAnswers }
    return { ...parseMessage(d, key, person), address: { chat: person }, isGroup: false, mentions: [], replyHandle }
  }
  const [person, group] = [pickText(d, 'author', 'member_openid'), pickText(d, 'group_openid')]
  if (type !== 'GROUP_AT_MESSAGE_CREATE' || person === undefined || group === undefined) return undefined
  return {
    ...parseMessage(d, key, person),
    address: { chat: `group.${group}` },
    isGroup: true,
    // Messages of groups arrive only when they mention the bot, without the mention.
    mentions: [own],
    replyHandle: { token: key, expiresAt: receivedAt + groupMs, maxUses: maxAnswers },
  }
}

function parseMessage(d: unknown, key: string, person: string) {
  const media = pickList(d, 'attachments').flatMap(parseFile)
  const isBot = pick(d, 'author', 'bot') === true
  const name = pickText(d, 'author', 'username') ?? person
  return {
    kind: 'message' as const,
    key,
    sender: { id: person, name, ...(isBot && { isBot: true as const }) },
    messageId: key,
    text: (pickText(d, 'content') ?? '').trim() || (media.length ? '' : unreadable),
    media,
  }
}

const kinds = ['image', 'video', 'audio', 'voice'] as const

function parseFile(file: unknown): readonly MediaReference[] {
  const address = (pickText(file, 'url') ?? '').replace(/^(?:\/\/)?(?=[\w-])(?!https?:)/, 'https://')
  if (!URL.canParse(address) || address.length > 2_000) return []
  const [type = '', name] = [pickText(file, 'content_type'), pickText(file, 'filename')]
  const kind = kinds.find((one) => type.startsWith(one)) ?? 'document'
  const mime = type.includes('/') ? type : undefined
  return [{ kind, reference: address, ...(name !== undefined && { name }), ...(mime !== undefined && { mime }) }]
}

/** Implements the channel port for Nextcloud Talk: signed webhooks of a bot, and signed answers. */

import type { SendOutcome } from '#agent/core/delivery.ts'
import { isJsonObject, parseJson } from '#agent/core/parse-json.ts'
import { sha256Hex, toHex } from '#durable/platform/hash.ts'
import type { Channel, ChannelConnection, InboundEvent, InboundRequest, OutboundMessage } from '../channel.ts'
import { computeHmac, concatBytes } from '../hmac.ts'
import { defineApi, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick, pickText } from '../kit/pick.ts'
import { hmac, verified } from '../kit/proof.ts'
import { chosenNumber } from '../text/chosen-number.ts'
import { describeContent, unreadable } from '../text/describe-forward.ts'
import { markdownMarks } from '../text/markdown-marks.ts'

/** Talk has no name of a bot in its events. A choice by reaction counts as addressed to it. */
const ownId = 'bot'

/** Talk accepts 32 000 characters. */
const { encode, render, textLimit } = defineDialect({ max: 31_000, unit: 'utf16', marks: markdownMarks })

const isSigned = hmac({
  hash: 'SHA-256',
  secret: 'secret',
  header: 'x-nextcloud-talk-signature',
  encoding: 'hex',
  signed: ({ headers, body }) => concatBytes(headers.get('x-nextcloud-talk-random') ?? '', body),
})

const withoutSlash = (url: string | null): string => (url ?? '').replace(/\/{1,20}$/, '')

/** Without the random part, a body of somebody's choice would be signed alone. */
async function isFromServer(request: InboundRequest, connection: ChannelConnection): Promise<boolean> {
  const { headers } = request
  const isOwnServer = withoutSlash(headers.get('x-nextcloud-talk-backend')) === withoutSlash(connection.apiBase)
  return isOwnServer && (headers.get('x-nextcloud-talk-random') ?? '') !== '' && isSigned(request, connection)
}

const callTalk = defineApi({
  prefix: () => 'ocs/v2.php/',
  headers: () => ({}),
  commonHeaders: { 'ocs-apirequest': 'true', accept: 'application/json' },
  readFailure: ({ ocs }) => ({ message: pickText(ocs, 'meta', 'message') ?? pickText(ocs, 'data', 'error') }),
  // Some versions answer a stored message with nothing, or with XML.
  doneStatus: 201,
  outcomes: [],
})

const callCapabilities = (connection: ChannelConnection) =>
  callTalk(connection, { method: 'GET', path: 'cloud/capabilities?format=json' })

export const nextcloudTalk: Channel = {
  platform: 'nextcloud_talk',
  name: 'Nextcloud Talk',
  apiBase: { url: 'https://nextcloud.invalid' },
  needsUrl: true,
  ownSettings: ['direct_rooms'],
  secrets: {
    secret: { shape: /^[\x21-\x7e]{40,128}$/, hint: 'The secret of occ talk:bot:install: 40 to 128 characters.' },
  },
  capabilities: {},
  textLimit,
  receive: verified(isFromServer, ({ body }, { directRooms = [] }) => {
    const event = parseActivity(parseJson(body), directRooms)
    return { events: event ? [event] : [] }
  }),
  render,
  send,
  probe: async (connection) => sentOutcome(await callCapabilities(connection)),
  getAccount: async (connection) => {
    const answer = await callCapabilities(connection)
    return answer.kind === 'failed' ? { refused: answer.outcome.detail } : { id: ownId, name: '' }
  },
  // A bot may ask for no room.
  resolveTarget: async (connection, address) =>
    /^[A-Za-z0-9]{4,64}$/.test(address.chat)
      ? { kind: 'found', address, isGroup: !connection.directRooms?.includes(address.chat) }
      : { kind: 'unknown', detail: 'Nextcloud Talk names rooms by the last part of their address.' },
}

async function send(connection: ChannelConnection, message: OutboundMessage, key: string): Promise<SendOutcome> {
  const { address, chunk, replyToMessageId } = message
  const text = encode(chunk)
  const random = toHex(crypto.getRandomValues(new Uint8Array(32)))
  const signature = await computeHmac('SHA-256', connection.secrets['secret'] ?? '', concatBytes(random, bytesOf(text)))
  const replyTo = Number(replyToMessageId)
  const answer = await callTalk(connection, {
    method: 'POST',
    path: `apps/spreed/api/v1/bot/${encodeURIComponent(address.chat)}/message`,
    headers: { 'x-nextcloud-talk-bot-random': random, 'x-nextcloud-talk-bot-signature': toHex(signature) },
    body: {
      message: text,
      referenceId: await sha256Hex(key),
      ...(Number.isSafeInteger(replyTo) && replyTo > 0 && { replyTo }),
    },
  })
  return sentOutcome(answer)
}

const bytesOf = (text: string) => new TextEncoder().encode(text)

function parseActivity(activity: unknown, directRooms: readonly string[]): InboundEvent | undefined {
  const person = pickText(activity, 'actor', 'id')
  const chat = pickText(activity, 'target', 'id')
  const id = pickText(activity, 'object', 'id')
  // Other bots, and this one.
  if (person === undefined || chat === undefined || id === undefined || person.startsWith('bots/')) return undefined
  const name = pickText(activity, 'actor', 'name') ?? person
  const source = { address: { chat }, isGroup: !directRooms.includes(chat), sender: { id: person, name } }
  const type = pickText(activity, 'type')
  const object = pick(activity, 'object')
  if (type === 'Like') {
    const emoji = pickText(activity, 'content')
    const text = chosenNumber(emoji, readContent(object).text)
    const key = `like:${chat}:${id}:${person}:${emoji}`
    return text === undefined
      ? undefined
      : { ...source, kind: 'message', key, messageId: id, text, media: [], mentions: [ownId] }
  }
  // Messages with files had an empty name before Talk 23. Others are messages of the system.
  const isWritten = type === 'Create' && ['message', ''].includes(String(pick(object, 'name')))
  const { text, mentions } = readContent(object)
  if (!isWritten) return undefined
  const quoted = pick(object, 'inReplyTo')
  return {
    ...source,
    kind: 'message',
    key: `${chat}:${id}`,
    messageId: id,
    text: text || unreadable,
    media: [],
    mentions,
    ...(quoted !== undefined && { quote: parseQuote(quoted) }),
  }
}

function parseQuote(quoted: unknown) {
  const id = pickText(quoted, 'actor', 'id')
  const isOwn = id?.startsWith('bots/') === true
  const name = pickText(quoted, 'actor', 'name') ?? id ?? ''
  return {
    messageId: pickText(quoted, 'object', 'id') ?? '',
    ...(id !== undefined && { sender: { id: isOwn ? ownId : id, name, ...(isOwn && { isBot: true as const }) } }),
    text: readContent(pick(quoted, 'object')).text,
  }
}

/** The message stands in JSON, with parameters for people, rooms and files. */
function readContent(object: unknown): { readonly text: string; readonly mentions: readonly string[] } {
  const content = parseJson(pickText(object, 'content') ?? '')
  const parameters = pick(content, 'parameters')
  const mentions: string[] = []
  const text = (pickText(content, 'message') ?? '').replace(/\{([\w-]{1,100})\}/g, (whole, name: string) => {
    const parameter = pick(parameters, name)
    if (!isJsonObject(parameter)) return whole
    if (parameter['type'] === 'user') mentions.push(`users/${pickText(parameter, 'id')}`)
    return renderParameter(parameter)
  })
  return { text: text.trim(), mentions }
}

function renderParameter(parameter: unknown): string {
  const [type, name] = [pickText(parameter, 'type') ?? '', pickText(parameter, 'name')]
  if (['user', 'call', 'guest', 'user-group', 'email', 'circle'].includes(type)) return `@${name ?? ''}`
  if (type === 'geo-location') return describeContent('location', name, pickText(parameter, 'id'))
  return describeContent(type === 'file' ? 'a file' : type || 'an object', name, pickText(parameter, 'link'))
}

/** Implements the channel port for Rocket.Chat: an outgoing integration for messages, answers by the REST API. */

import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { joinUrl } from '../call-api.ts'
import type {
  Channel,
  ChannelConnection,
  ChatAddress,
  InboundEvent,
  OutboundMessage,
  ResolvedTarget,
} from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { defineApi, failedMedia, repeatable, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick, pickList, pickNumber, pickText } from '../kit/pick.ts'
import { token, verified } from '../kit/proof.ts'
import { describeContent, describeForward, unreadable } from '../text/describe-forward.ts'
import { unescapedMarks } from '../text/markdown-marks.ts'

/** Rocket.Chat accepts 5000 characters, unless its administrator says otherwise. */
const { encode, render, textLimit } = defineDialect({ max: 4_900, unit: 'utf16', marks: unescapedMarks })

const headersOf = ({ secrets }: ChannelConnection) => ({
  'x-user-id': secrets['user_id'] ?? '',
  'x-auth-token': secrets['auth_token'] ?? '',
})

const callRocket = defineApi({
  prefix: () => 'api/v1/',
  headers: headersOf,
  readFailure: (body) => ({
    ...(pick(body, 'success') !== true && { code: pickText(body, 'errorType') ?? pickText(body, 'status') ?? 'error' }),
    message: pickText(body, 'error') ?? pickText(body, 'message'),
  }),
  isDone: ({ success }) => success === true,
  outcomes: [
    { codes: ['error-message-size-exceeded'], is: 'too_long' },
    { words: /size.{0,20}exceed|too (?:long|large)/i, is: 'too_long' },
    { words: /no message found|error-action-not-allowed.{0,100}edit/i, is: 'gone' },
    { codes: ['error-too-many-requests'], is: 'busy' },
    { codes: ['error-not-allowed', 'error-room-not-found', 'error-invalid-room'], is: 'forbidden' },
    { words: /error-not-allowed|room-not-found|invalid-room|not in room|archived|muted/i, is: 'forbidden' },
  ],
})

export const rocketchat: Channel = {
  platform: 'rocketchat',
  name: 'Rocket.Chat',
  apiBase: { url: 'https://rocketchat.invalid' },
  needsUrl: true,
  secrets: {
    user_id: { shape: /^[\w-]{1,100}$/, hint: 'The user id that belongs to the personal access token.' },
    auth_token: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'A personal access token of the account of the bot.' },
    token: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The token of the outgoing integration.' },
  },
  capabilities: {
    edit: { intervalMs: () => 1_100 },
    threads: true,
    files: { maxBytes: 20 * 1024 * 1024 },
    idempotencyKeys: true,
  },
  textLimit,
  receive: verified(
    token({ secret: 'token', from: ({ body }) => pickText(parseJson(body), 'token') }),
    async ({ body }, connection) => {
      const event = parseMessage(parseJson(body), connection.secrets['user_id'] ?? '')
      return { events: event ? [await completeMessage(connection, event)] : [] }
    },
  ),
  render,
  send,
  remove: async (connection, { chat }, msgId) =>
    sentOutcome(await callRocket(connection, { method: 'POST', path: 'chat.delete', body: { roomId: chat, msgId } })),
  probe: async (connection) => sentOutcome(await callRocket(connection, { method: 'GET', path: 'me' })),
  getAccount: async (connection) => {
    const answer = await callRocket(connection, { method: 'GET', path: 'me' })
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    return { id: pickText(answer.result, '_id') ?? '', name: pickText(answer.result, 'username') ?? '' }
  },
  fetchMedia: async (connection, { reference }: MediaReference, maxBytes) => {
    const [message = '', n = '0'] = reference.split('/')
    const found = await getMessage(connection, message)
    if (found.kind === 'failed') return failedMedia(found.outcome)
    const file = filesOf(pick(found.result, 'message'))[Number(n)]
    const [id, name = 'file'] = [pickText(file, '_id'), pickText(file, 'name')]
    if (id === undefined) return { kind: 'failed', detail: 'the message has no file', canRetry: false }
    const url = joinUrl(connection.apiBase, `file-upload/${encodeURIComponent(id)}/${encodeURIComponent(name)}`)
    return fetchMediaFrom(
      connection,
      { url, headers: headersOf(connection), mime: pickText(file, 'type'), name },
      maxBytes,
    )
  },
  resolveTarget,
}

/** The server keeps a message once under its id. */
const idOf = (key: string): Promise<string> => sha256Hex(key, 12)

async function send(connection: ChannelConnection, message: OutboundMessage, key: string): Promise<SendOutcome> {
  const { address, chunk, file, editedMessageId } = message
  const { chat, thread } = address
  const inThread = thread !== undefined && { tmid: thread }
  if (file) return sendFile(connection, message, file)
  if (editedMessageId !== undefined) {
    const body = { roomId: chat, msgId: editedMessageId, text: encode(chunk) }
    return sentOutcome(
      await callRocket(connection, { method: 'POST', path: 'chat.update', body }),
      () => editedMessageId,
    )
  }
  const id = await idOf(key)
  const body = { message: { _id: id, rid: chat, msg: encode(chunk), ...inThread } }
  return sentOutcome(await callRocket(connection, { method: 'POST', path: 'chat.sendMessage', body }), () => id)
}

/** An upload shows nothing until it is confirmed. */
async function sendFile(
  connection: ChannelConnection,
  { address: { chat, thread }, chunk }: OutboundMessage,
  file: NonNullable<OutboundMessage['file']>,
): Promise<SendOutcome> {
  const form = new FormData()
  form.set('file', new File([file.bytes], file.name, { type: file.mime }))
  const path = `rooms.media/${encodeURIComponent(chat)}`
  const uploaded = await callRocket(connection, { method: 'POST', path, body: form })
  if (uploaded.kind === 'failed') return repeatable(uploaded.outcome)
  const id = pickText(uploaded.result, 'file', '_id') ?? ''
  const caption = chunk.text.trim()
  const body = { ...(caption && { msg: caption }), ...(thread !== undefined && { tmid: thread }) }
  const confirmed = `rooms.mediaConfirm/${encodeURIComponent(chat)}/${encodeURIComponent(id)}`
  return sentOutcome(await callRocket(connection, { method: 'POST', path: confirmed, body }))
}

async function resolveTarget(connection: ChannelConnection, address: ChatAddress): Promise<ResolvedTarget> {
  const { chat } = address
  if (!/^[\w-]{1,100}$/.test(chat)) return { kind: 'unknown', detail: 'Rocket.Chat names rooms by ids like GENERAL.' }
  const answer = await callRocket(connection, { method: 'GET', path: `rooms.info?roomId=${encodeURIComponent(chat)}` })
  return resolveBy(answer, { address, isGroup: answer.kind === 'failed' || pick(answer.result, 'room', 't') !== 'd' })
}

const getMessage = (connection: ChannelConnection, id: string) =>
  callRocket(connection, { method: 'GET', path: `chat.getMessage?msgId=${encodeURIComponent(id)}` })

/** Pictures also have smaller copies in the list. */
function filesOf(message: unknown): readonly unknown[] {
  const listed = pickList(message, 'files').filter((one) => !pickText(one, 'name')?.startsWith('thumb-'))
  const file = pick(message, 'file')
  return listed.length || file === undefined ? listed : [file]
}

type RocketEvent = Extract<InboundEvent, { kind: 'message' | 'edit' }>

/** The hook has only the text. Messages that can be for the agent are read whole where the bot may read them. */
async function completeMessage(connection: ChannelConnection, event: RocketEvent): Promise<RocketEvent> {
  const { text, isGroup, messageId } = event
  const canBeMeant = !isGroup || !text.trim() || text.includes('@') || text.search(quoteMark) >= 0
  const found = canBeMeant ? await getMessage(connection, messageId) : undefined
  const message = found?.kind === 'done' ? pick(found.result, 'message') : undefined
  const whole =
    message === undefined ? event : { ...event, ...readContent(message, event), media: readFiles(message, messageId) }
  return { ...whole, text: whole.text || (whole.media.length ? '' : unreadable) }
}

function readContent(message: unknown, event: RocketEvent) {
  const quote = pickList(message, 'attachments').find(isQuote)
  const words = quote === undefined ? event.text : event.text.replaceAll(quoteMark, '').trim()
  // A quote without words is a message that was passed on.
  const isPassedOn = !words && quote !== undefined
  const notes = pickList(message, 'attachments').flatMap((one) => describeAttachment(one, isPassedOn))
  const [long, lat] = [0, 1].map((n) => pickNumber(message, 'location', 'coordinates', n))
  const place = lat === undefined ? '' : describeContent('location', lat, long)
  return {
    text: [words, ...notes, place].filter(Boolean).join('\n'),
    ...(quote !== undefined && !isPassedOn && { quote: parseQuote(quote) }),
  }
}

const readFiles = (message: unknown, id: string) => filesOf(message).map((file, n) => referenceTo(file, `${id}/${n}`))
const isQuote = (attachment: unknown): boolean => pickText(attachment, 'message_link') !== undefined

/** Rocket.Chat writes a quote as a link without words in front of the text. */
const quoteMark = /\[\s{0,3}\]\(https?:\/\/[^()\s]{1,1000}\)/g

function parseQuote(quoted: unknown) {
  const name = pickText(quoted, 'author_name')
  return {
    messageId: /[?&]msg=([\w-]{1,100})/.exec(pickText(quoted, 'message_link') ?? '')?.[1] ?? '',
    ...(name !== undefined && { sender: { id: '', name } }),
    text: pickText(quoted, 'text') ?? '',
  }
}

/** Attachments of integrations, quotes that are the message itself, and the descriptions of files. */
function describeAttachment(attachment: unknown, isPassedOn: boolean): readonly string[] {
  const get = (name: string) => pickText(attachment, name)
  if (isQuote(attachment)) return isPassedOn ? [describeForward(get('text') ?? unreadable, get('author_name'))] : []
  if (get('type') === 'file') return [get('description') ?? '']
  return [[get('pretext'), get('title'), get('title_link'), get('text')].filter(Boolean).join('\n')]
}

function referenceTo(file: unknown, reference: string): MediaReference {
  const [name, mime] = [pickText(file, 'name'), pickText(file, 'type')]
  const kind = mediaKindOf(mime ?? '')
  return { kind, reference, ...(name !== undefined && { name }), ...(mime !== undefined && { mime }) }
}

/** Direct rooms have no name. A message that is only a file has no text: its file is asked for by its id. */
function parseMessage(body: unknown, own: string): RocketEvent | undefined {
  const [id, chat, person] = [pickText(body, 'message_id'), pickText(body, 'channel_id'), pickText(body, 'user_id')]
  if (id === undefined || chat === undefined || person === undefined || person === own) return undefined
  const text = pickText(body, 'text') ?? ''
  const thread = pickText(body, 'tmid')
  const isEdit = pick(body, 'isEdited') === true
  return {
    kind: isEdit ? 'edit' : 'message',
    key: isEdit ? `${id}:edit:${text.slice(0, 200)}` : id,
    address: { chat, ...(thread !== undefined && { thread }) },
    isGroup: pickText(body, 'channel_name') !== undefined,
    sender: parseSender(body, person),
    messageId: id,
    text,
    media: text ? [] : [{ kind: 'document', reference: id }],
    mentions: [...text.matchAll(/(?<![\w@])@([\w.-]{1,100})/g)].map(([, name = '']) => name.toLowerCase()),
  }
}

const parseSender = (body: unknown, id: string) => ({
  id,
  name: pickText(body, 'alias') ?? pickText(body, 'user_name') ?? id,
  ...(pick(body, 'bot') === true && { isBot: true as const }),
})

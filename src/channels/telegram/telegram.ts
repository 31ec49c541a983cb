/** Implements the channel port for Telegram: updates arrive by webhook, messages leave through the Bot API. */

import { parseJson } from '#agent/core/parse-json.ts'
import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { MessageChunk, SendOutcome, TextSpan } from '#agent/core/delivery.ts'
import type {
  Channel,
  ChannelConnection,
  ChatAddress,
  FetchedMedia,
  InboundEvent,
  OutboundFile,
  OutboundMessage,
  PollAnswer,
  ResolvedTarget,
} from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { token, verified } from '../kit/proof.ts'
import { parseMarkdown } from '../text/parse-markdown.ts'
import { splitText } from '../text/split-text.ts'
import { parseBusiness } from './parse-business.ts'
import { parseUpdate } from './parse-update.ts'
import { type BotApiResult, callBotApi, fileUrl } from './bot-api.ts'
import { register, updateTypesOf } from './register.ts'

const textLimit = { max: 4_096, unit: 'utf16' } as const
/** Room for a line in front of a message. */
const prefixChars = 96
/** Files that `getFile` hands out, and files that the Bot API accepts. */
const maxDownloadBytes = 20_000_000
const maxUploadBytes = 50_000_000

export const telegram: Channel = {
  platform: 'telegram',
  name: 'Telegram',
  apiBase: { variable: 'TELEGRAM_API_BASE', url: 'https://api.telegram.org' },
  secrets: {
    bot_token: { shape: /^[A-Za-z0-9_:-]{1,200}$/, hint: 'The token that @BotFather gave, like 123456:ABC-DEF.' },
    webhook_secret: {
      shape: /^[A-Za-z0-9_-]{32,256}$/,
      hint: '32 to 256 letters, digits, "_" and "-"; generated when it is not given.',
      isGenerated: true,
    },
  },
  ownSettings: ['secretary'],
  capabilities: {
    edit: { intervalMs: (isGroup) => (isGroup ? 3_100 : 1_100) },
    typing: { durationMs: 5_000 },
    buttons: { maxRows: 100, maxPerRow: 8, maxLabelChars: 60, maxDataBytes: 64 },
    threads: true,
    files: { maxBytes: maxUploadBytes },
  },
  textLimit,
  receive: verified(
    token({ secret: 'webhook_secret', from: ({ headers }) => headers.get('x-telegram-bot-api-secret-token') }),
    async ({ body }, connection) => ({ events: await parseEvents(connection, parseJson(body)) }),
  ),
  render: (source, format) => {
    const { text, spans } = format === 'plain' ? { text: source, spans: [] } : parseMarkdown(source)
    return splitText(text, spans, { ...textLimit, max: textLimit.max - prefixChars, maxSpans: 100 })
  },
  send,
  showTyping: (connection, address) =>
    getOutcome(callBotApi(connection, 'sendChatAction', { ...addressFields(address), action: 'typing' })),
  remove: (connection, { chat }, messageId) =>
    getOutcome(callBotApi(connection, 'deleteMessage', { chat_id: Number(chat), message_id: Number(messageId) })),
  answerPress: (connection, pressId, text) =>
    getOutcome(callBotApi(connection, 'answerCallbackQuery', { callback_query_id: pressId, text })),
  getAccount: async (connection) => {
    const answer = await callBotApi(connection, 'getMe', {})
    if (answer.kind !== 'done') return { refused: answer.detail }
    const { id, username } = (answer.result ?? {}) as { id?: number; username?: string }
    return { id: String(id ?? ''), name: username ?? '' }
  },
  fetchMedia,
  register,
  poll,
  resolveTarget,
}

async function send(connection: ChannelConnection, message: OutboundMessage): Promise<SendOutcome> {
  const { editedMessageId } = message
  const answer = await callWith(connection, message)
  // Telegram accepted nothing, so the message can go to the chat without the deleted topic.
  if (answer.kind !== 'no-thread') return getOutcome(answer, editedMessageId)
  const { thread: _thread, ...address } = message.address
  const { editedMessageId: _edited, ...rest } = message
  return getOutcome(callWith(connection, { ...rest, address }))
}

async function callWith(connection: ChannelConnection, message: OutboundMessage): Promise<BotApiResult> {
  const { file, editedMessageId } = message
  if (!file)
    return callBotApi(
      connection,
      editedMessageId === undefined ? 'sendMessage' : 'editMessageText',
      messageFields(message),
    )
  const { method, form } = fileForm(message, file)
  const answer = await callBotApi(connection, method, form)
  if (answer.kind !== 'no-photo') return answer
  const asDocument = fileForm(message, { ...file, kind: 'document' })
  return callBotApi(connection, asDocument.method, asDocument.form)
}

async function getOutcome(result: BotApiResult | Promise<BotApiResult>, editedId?: string): Promise<SendOutcome> {
  const answer = await result
  if (answer.kind === 'no-thread') return { kind: 'forbidden', detail: answer.detail }
  if (answer.kind === 'no-photo') return { kind: 'fatal', detail: answer.detail }
  if (answer.kind !== 'done') return answer
  const id = (answer.result as { message_id?: number } | undefined)?.message_id ?? editedId
  return { kind: 'sent', ...(id !== undefined && { id: String(id) }) }
}

async function fetchMedia(
  connection: ChannelConnection,
  { reference, mime, name }: MediaReference,
  maxBytes: number,
): Promise<FetchedMedia> {
  const found = await callBotApi(connection, 'getFile', { file_id: reference })
  if (found.kind !== 'done')
    return { kind: 'failed', detail: found.detail, canRetry: found.kind === 'retry' || found.kind === 'ambiguous' }
  const { file_path: path } = (found.result ?? {}) as { file_path?: string }
  if (path === undefined) return { kind: 'failed', detail: 'the platform has no such file', canRetry: false }
  const source = { url: fileUrl(connection, path), name: name ?? path.split('/').at(-1) ?? 'file' }
  const fetched = await fetchMediaFrom(connection, source, Math.min(maxBytes, maxDownloadBytes))
  if (fetched.kind === 'failed') return fetched
  // Telegram serves every file as bytes of an unknown type.
  const { mime: _served, ...file } = fetched
  return { ...file, ...(mime && { mime }) }
}

/** Below the limit of a call (call-api.ts). */
const pollSeconds = 20

/** `cursor`: the number behind the last update. Updates before it are forgotten by Telegram. */
async function poll(connection: ChannelConnection, cursor: string | undefined): Promise<PollAnswer> {
  const fields = { timeout: pollSeconds, allowed_updates: updateTypesOf(connection) }
  const answer = await callBotApi(connection, 'getUpdates', {
    ...fields,
    ...(cursor !== undefined && { offset: Number(cursor) }),
  })
  if (answer.kind !== 'done') return failedPoll(connection, answer)
  const updates = (Array.isArray(answer.result) ? answer.result : []) as readonly { readonly update_id?: unknown }[]
  const known = updates.filter((update) => Number.isSafeInteger(update?.update_id))
  try {
    const parsed = await Promise.all(known.map((update) => parseEvents(connection, update)))
    const batches = parsed.map((events, n) => ({ cursor: String(Number(known[n]?.update_id) + 1), events }))
    return { kind: 'polled', batches }
  } catch (error) {
    return { kind: 'failed', detail: String(error) }
  }
}

async function parseEvents(connection: ChannelConnection, update: unknown): Promise<readonly InboundEvent[]> {
  const event = parseUpdate(update)
  return event ? [event] : parseBusiness(connection, update)
}

async function failedPoll(
  connection: ChannelConnection,
  answer: Exclude<BotApiResult, { kind: 'done' }>,
): Promise<PollAnswer> {
  const { kind, detail } = answer
  // Telegram answers 409 while a webhook is set, and to the earlier of two programs that ask.
  if (detail.startsWith('HTTP 409')) {
    if (/webhook/i.test(detail)) await register(connection, false)
    return { kind: 'failed', detail: 'another program or a webhook receives the messages of this bot' }
  }
  const isFinal = /^HTTP 40[134]/.test(detail)
  const waitMs = kind === 'retry' ? answer.waitMs : undefined
  return { kind: 'failed', detail, ...(waitMs !== undefined && { waitMs }), ...(isFinal && { isFinal }) }
}

async function resolveTarget(connection: ChannelConnection, { chat, thread }: ChatAddress): Promise<ResolvedTarget> {
  if (!/^-?\d{1,19}$/.test(chat)) return { kind: 'unknown', detail: 'A chat of Telegram is a number.' }
  if (thread !== undefined && !/^\d{1,12}$/.test(thread))
    return { kind: 'unknown', detail: 'A topic of Telegram is a number.' }
  const answer = await callBotApi(connection, 'getChat', { chat_id: Number(chat) })
  if (answer.kind === 'retry' || answer.kind === 'ambiguous')
    return { kind: 'unavailable', detail: answer.detail, isGroup: chat.startsWith('-') }
  if (answer.kind !== 'done') return { kind: 'unknown', detail: answer.detail }
  const { id, type } = (answer.result ?? {}) as { id?: number; type?: string }
  const address = { chat: String(id ?? chat), ...(thread !== undefined && { thread }) }
  return { kind: 'found', address, isGroup: type !== 'private' }
}

/** Larger images are sent as documents. */
const maxPhotoBytes = 10_000_000

/** Builds the requests that send messages and files to Telegram. */
const addressFields = ({ chat, thread, inNameOf }: ChatAddress) => ({
  chat_id: Number(chat),
  ...(inNameOf !== undefined && { business_connection_id: inNameOf }),
  ...(thread !== undefined && { message_thread_id: Number(thread) }),
})

export function messageFields(message: OutboundMessage): object {
  const { address, chunk, editedMessageId } = message
  const { buttons } = chunk
  const content = {
    text: chunk.text,
    ...(chunk.spans.length > 0 && { entities: chunk.spans.map(entityOf) }),
    // A preview makes Telegram fetch the address, which could leak what the conversation contains.
    link_preview_options: { is_disabled: true },
    ...(buttons && { reply_markup: { inline_keyboard: keyboardOf(buttons) } }),
  }
  if (editedMessageId !== undefined)
    return { chat_id: Number(address.chat), message_id: Number(editedMessageId), ...content }
  return { ...addressFields(address), ...content, ...replyFields(message) }
}

const replyFields = ({ replyToMessageId }: OutboundMessage) =>
  replyToMessageId !== undefined && {
    reply_parameters: { message_id: Number(replyToMessageId), allow_sending_without_reply: true },
  }

const methods = {
  photo: 'sendPhoto',
  voice: 'sendVoice',
  audio: 'sendAudio',
  video: 'sendVideo',
  document: 'sendDocument',
} as const

/** Telegram shows only some formats natively; every other file is a document. */
function renderField({ kind, mime, bytes }: OutboundFile): keyof typeof methods {
  if (kind === 'image' && /^image\/(jpeg|png|webp)$/.test(mime) && bytes.length <= maxPhotoBytes) return 'photo'
  if (kind === 'voice' && /^audio\/(ogg|mpeg|mp4|x-m4a)/.test(mime)) return 'voice'
  if (kind === 'audio' && /^audio\/(mpeg|mp4|x-m4a)/.test(mime)) return 'audio'
  return kind === 'video' && mime === 'video/mp4' ? 'video' : 'document'
}

export function fileForm(message: OutboundMessage, file: OutboundFile) {
  const field = renderField(file)
  const form = new FormData()
  for (const [name, value] of Object.entries({ ...addressFields(message.address), ...replyFields(message) }))
    form.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value))
  // The text of a file is the note that it may have arrived before.
  const caption = message.chunk.text.trim()
  if (caption) form.set('caption', caption)
  form.set(field, new File([file.bytes], file.name, { type: file.mime }))
  return { method: methods[field], form }
}

const keyboardOf = (buttons: NonNullable<MessageChunk['buttons']>) =>
  buttons.map((row) => row.map(({ label, data }) => ({ text: label, callback_data: data })))

const entityTypes: Readonly<Record<TextSpan['type'], string>> = {
  bold: 'bold',
  italic: 'italic',
  underline: 'underline',
  strikethrough: 'strikethrough',
  spoiler: 'spoiler',
  code: 'code',
  pre: 'pre',
  link: 'text_link',
  quote: 'blockquote',
}

const entityOf = ({ type, ...rest }: TextSpan) => ({ type: entityTypes[type], ...rest })

/** Implements the channel port for Telegram: updates arrive by webhook, messages leave through the Bot API. */

import type { MessageChunk, SendOutcome, TextSpan } from '../../agent/model/delivery.ts'
import { type Channel, type ChannelConnection, type ChatAddress, type OutboundMessage, refused } from '../channel.ts'
import { isSameSecret } from '../is-same-secret.ts'
import { parseMarkdown } from '../text/parse-markdown.ts'
import { splitText } from '../text/split-text.ts'
import { type BotApiResult, callBotApi } from './bot-api.ts'
import { parseUpdate } from './parse-update.ts'

/** Telegram accepts 4096 UTF-16 units; the rest is room for a line in front. */
const limits = { maxChars: 4_000, maxSpans: 100 }

export const telegram: Channel = {
  platform: 'telegram',
  apiBase: { variable: 'TELEGRAM_API_BASE', url: 'https://api.telegram.org' },
  secrets: {
    bot_token: { shape: /^[A-Za-z0-9_:-]{1,200}$/, hint: 'The token that @BotFather gave, like 123456:ABC-DEF.' },
    webhook_secret: {
      shape: /^[A-Za-z0-9_-]{32,256}$/,
      hint: '32 to 256 letters, digits, "_" and "-"; generated when it is not given.',
      isGenerated: true,
    },
  },
  hasIdempotencyKeys: false,
  editIntervalMs: (isGroup) => (isGroup ? 3_100 : 1_100),
  typingDurationMs: 5_000,
  receive: async ({ headers, body }, { secrets }) => {
    const token = headers.get('x-telegram-bot-api-secret-token')
    if (!(await isSameSecret(token, secrets['webhook_secret']))) return refused()
    const event = parseUpdate(parseJson(body))
    return { events: event ? [event] : [] }
  },
  render: (source, format) => {
    const { text, spans } = format === 'plain' ? { text: source, spans: [] } : parseMarkdown(source)
    return splitText(text, spans, limits)
  },
  send,
  showTyping: (connection, address) =>
    outcomeOf(callBotApi(connection, 'sendChatAction', { ...addressFields(address), action: 'typing' })),
  answerPress: (connection, pressId, text) =>
    outcomeOf(callBotApi(connection, 'answerCallbackQuery', { callback_query_id: pressId, text })),
  getAccount: async (connection) => {
    const answer = await callBotApi(connection, 'getMe', {})
    if (answer.of !== 'done') return { refused: answer.detail }
    const { id, username } = (answer.result ?? {}) as { id?: number; username?: string }
    return { id: String(id ?? ''), name: username ?? '' }
  },
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined // a signed body that is no update
  }
}

async function send(connection: ChannelConnection, message: OutboundMessage): Promise<SendOutcome> {
  const { editedMessageId } = message
  const method = editedMessageId === undefined ? 'sendMessage' : 'editMessageText'
  const answer = await callBotApi(connection, method, messageFields(message))
  // Telegram accepted nothing, so the message can go to the chat without the deleted topic.
  if (answer.of !== 'no-thread') return outcomeOf(answer, editedMessageId)
  const { thread: _thread, ...address } = message.address
  return outcomeOf(callBotApi(connection, 'sendMessage', messageFields({ ...message, address })))
}

function messageFields({ address, chunk, replyToMessageId, editedMessageId }: OutboundMessage): object {
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
  const reply = replyToMessageId !== undefined && {
    reply_parameters: { message_id: Number(replyToMessageId), allow_sending_without_reply: true },
  }
  return { ...addressFields(address), ...content, ...reply }
}

const addressFields = ({ chat, thread }: ChatAddress) => ({
  chat_id: Number(chat),
  ...(thread !== undefined && { message_thread_id: Number(thread) }),
})

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

async function outcomeOf(result: BotApiResult | Promise<BotApiResult>, editedId?: string): Promise<SendOutcome> {
  const answer = await result
  if (answer.of === 'no-thread') return { of: 'refused', scope: 'chat', detail: answer.detail }
  if (answer.of !== 'done') return answer
  const id = (answer.result as { message_id?: number } | undefined)?.message_id ?? editedId
  return { of: 'sent', ...(id !== undefined && { id: String(id) }) }
}

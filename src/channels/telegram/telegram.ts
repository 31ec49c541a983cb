/** Telegram, by its Bot API: updates come by webhook, answers go by JSON. */

import type { Chunk, Outcome, Span } from '../../agent/model/delivery.ts'
import type { Channel, Line, Outgoing, Place } from '../channel.ts'
import { styled } from '../text/markdown.ts'
import { split } from '../text/split.ts'
import { call, type Called } from './api.ts'
import { parse } from './parse.ts'

/** Telegram takes 4096 units; some are left for a line in front. */
const bounds = { length: 4_000, spans: 100 }

export const telegram: Channel = {
  platform: 'telegram',
  apiBase: { variable: 'TELEGRAM_API_BASE', url: 'https://api.telegram.org' },
  secrets: {
    bot_token: { shape: /^[A-Za-z0-9_:-]{1,200}$/, hint: 'The token that @BotFather gave, like 123456:ABC-DEF.' },
    webhook_secret: { shape: /^[A-Za-z0-9_-]{1,256}$/, hint: '1 to 256 letters, digits, "_" and "-".' },
  },
  keyed: false,
  editPause: (isGroup) => (isGroup ? 3_100 : 1_100),
  typingMs: 5_000,
  verify: async (headers, _body, secrets) => {
    const given = headers.get('x-telegram-bot-api-secret-token')
    const expected = secrets['webhook_secret']
    return Boolean(given) && Boolean(expected) && isSame(given ?? '', expected ?? '')
  },
  parse,
  render: (source, how) => {
    const { text, spans } = how === 'plain' ? { text: source, spans: [] } : styled(source)
    return split(text, spans, bounds)
  },
  send,
  typing: (line, place) => outcomeOf(call(line, 'sendChatAction', { ...addressOf(place), action: 'typing' })),
  answerPress: (line, press, text) => outcomeOf(call(line, 'answerCallbackQuery', { callback_query_id: press, text })),
  account: async (line) => {
    const answer = await call(line, 'getMe', {})
    if (answer.of !== 'done') return { refused: answer.detail }
    const { id, username } = (answer.result ?? {}) as { id?: number; username?: string }
    return { id: String(id ?? ''), name: username ?? '' }
  },
}

/** Digests are compared: they are of one length whatever was sent, and the comparison takes as long for each. */
async function isSame(given: string, expected: string): Promise<boolean> {
  const digest = (text: string) => crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  const [one, other] = await Promise.all([digest(given), digest(expected)])
  return crypto.subtle.timingSafeEqual(one, other)
}

async function send(line: Line, outgoing: Outgoing): Promise<Outcome> {
  const answer = await call(line, outgoing.edits ? 'editMessageText' : 'sendMessage', bodyOf(outgoing))
  // Nothing was taken: without the topic it goes to the chat as a whole.
  if (answer.of !== 'no-thread') return outcomeOf(answer, outgoing.edits)
  const { thread: _thread, ...place } = outgoing.place
  return outcomeOf(call(line, 'sendMessage', bodyOf({ ...outgoing, place })))
}

function bodyOf({ place, chunk, replyTo, edits }: Outgoing): object {
  const { buttons } = chunk
  const more = {
    text: chunk.text,
    ...(chunk.spans.length > 0 && { entities: chunk.spans.map(entityOf) }),
    // Whoever makes previews fetches the address: that is a way out for what was only in the conversation.
    link_preview_options: { is_disabled: true },
    ...(buttons && { reply_markup: { inline_keyboard: keyboardOf(buttons) } }),
  }
  if (edits !== undefined) return { chat_id: Number(place.chat), message_id: Number(edits), ...more }
  const reply = replyTo !== undefined && {
    reply_parameters: { message_id: Number(replyTo), allow_sending_without_reply: true },
  }
  return { ...addressOf(place), ...more, ...reply }
}

const addressOf = ({ chat, thread }: Place) => ({
  chat_id: Number(chat),
  ...(thread !== undefined && { message_thread_id: Number(thread) }),
})

const keyboardOf = (buttons: NonNullable<Chunk['buttons']>) =>
  buttons.map((row) => row.map(({ label, data }) => ({ text: label, callback_data: data })))

const types: Readonly<Record<Span['type'], string>> = {
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

const entityOf = ({ type, ...rest }: Span) => ({ type: types[type], ...rest })

async function outcomeOf(answer: Called | Promise<Called>, id?: string): Promise<Outcome> {
  const called = await answer
  if (called.of === 'no-thread') return { of: 'refused', scope: 'chat', detail: called.detail }
  if (called.of !== 'done') return called
  const sent = (called.result as { message_id?: number } | undefined)?.message_id ?? id
  return { of: 'sent', ...(sent !== undefined && { id: String(sent) }) }
}

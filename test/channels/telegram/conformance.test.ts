import { telegram } from '#channels/telegram/telegram.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import { type AnswerOverride, createTelegramApi } from '../../support/telegram-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const failures: Readonly<Record<ApiFailure, AnswerOverride>> = {
  busy: { status: 429, description: 'Too Many Requests: retry after 2', retryAfter: 2 },
  unavailable: { status: 502, raw: '<html>Bad Gateway</html>' },
  lost: 'lost',
  forbidden: { status: 403, description: 'Forbidden: bot was blocked by the user' },
  'too-long': { status: 400, description: 'Bad Request: message is too long' },
  format: { status: 400, description: "Bad Request: can't parse entities: byte offset 3" },
  window: { status: 400 },
}
const photo = [
  { file_id: 'small', file_size: 9 },
  { file_id: 'large', file_size: 90 },
]
const known = { kind: 'document', reference: 'file-1' } as const
const bytes = new TextEncoder().encode('a file')
const anna = { id: 11, is_bot: false, first_name: 'Anna' }

const updateOf = (fields: object) => JSON.stringify({ update_id: 5, ...fields })
const base = { message_id: 7, date: 1, chat: { id: 11, type: 'private' }, from: anna }
const samples = [
  {
    name: 'an edit',
    body: updateOf({ edited_message: { ...base, text: 'new' } }),
    event: { kind: 'edit', messageId: '7', text: 'new' },
  },
  {
    name: 'a photo with a caption',
    body: updateOf({ message: { ...base, caption: 'look', photo, media_group_id: '77' } }),
    event: {
      kind: 'message',
      text: 'look',
      albumId: '77',
      media: [{ kind: 'image', reference: 'large', mime: 'image/jpeg', bytes: 90 }],
    },
  },
  {
    name: 'a voice message',
    body: updateOf({ message: { ...base, voice: { file_id: 'v', mime_type: 'audio/ogg', duration: 3 } } }),
    event: { kind: 'message', text: '', media: [{ kind: 'voice', reference: 'v', mime: 'audio/ogg' }] },
  },
  {
    name: 'a reply with a quote',
    body: updateOf({
      message: {
        ...base,
        text: 'why?',
        reply_to_message: { ...base, message_id: 6, text: 'all' },
        quote: { text: 'a' },
      },
    }),
    event: { quote: { messageId: '6', sender: { id: '11', name: 'Anna' }, text: 'a' } },
  },
  {
    name: 'a message of a bot',
    body: updateOf({ message: { ...base, text: 'hi', from: { ...anna, is_bot: true } } }),
    event: { sender: { id: '11', name: 'Anna', isBot: true } },
  },
  {
    name: 'the move to a supergroup',
    body: updateOf({ message: { ...base, chat: { id: -5, type: 'group' }, migrate_to_chat_id: -1005 } }),
    event: { kind: 'lifecycle', change: 'moved', address: { chat: '-5' }, to: '-1005' },
  },
  {
    name: 'the removal from a chat',
    body: updateOf({ my_chat_member: { chat: base.chat, from: anna, new_chat_member: { status: 'kicked' } } }),
    event: { kind: 'lifecycle', change: 'removed' },
  },
]

testChannel(() => {
  const api = createTelegramApi()
  api.files.set('file-1', bytes)
  api.chats.set(11, 'private')
  const connectionOf = (webhook_secret: string) => ({
    apiBase: 'https://telegram.test',
    secrets: { bot_token: api.token, webhook_secret },
    webhookUrl: 'https://talaria.test/webhooks/telegram/ch_1',
    fetchForeign,
  })
  return {
    channel: telegram,
    connection: connectionOf('webhook_secret-1'),
    other: connectionOf('webhook_secret-2'),
    maxEventsPerRequest: 1,
    signs: { body: false, time: false },
    unknownFailures: ['window'],
    media: { known, bytes, unknown: { ...known, reference: 'file-2' } },
    targets: { known: { chat: '11' }, unknown: { chat: '12' } },
    samples,
    encodeMessages: ([message]) =>
      JSON.stringify({
        update_id: Number(message?.id),
        message: {
          message_id: Number(message?.id),
          date: 1_767_224_888,
          chat: { id: Number(message?.chat), type: message?.isGroup ? 'group' : 'private' },
          from: { id: Number(message?.sender.id), is_bot: false, first_name: message?.sender.name },
          text: message?.text,
        },
      }),
    encodePress: ({ id, data }) =>
      JSON.stringify({
        update_id: 9,
        callback_query: {
          id,
          from: anna,
          message: { message_id: 140, date: 1, chat: { id: 11, type: 'private' } },
          data,
        },
      }),
    sign: async (_body, { secrets }) => ({ 'x-telegram-bot-api-secret-token': secrets['webhook_secret'] ?? '' }),
    handshakes: [],
    api: {
      failNext: (failure) => api.overrideNext('sendMessage', failures[failure]),
      texts: () => api.messageTexts,
      files: () => api.sentFiles,
    },
  }
})

import { telegram } from '../../../src/channels/telegram/telegram.ts'
import { type AnswerOverride, createTelegramApi } from '../../support/telegram-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const failures: Readonly<Record<ApiFailure, AnswerOverride>> = {
  busy: { status: 429, description: 'Too Many Requests: retry after 2', retryAfter: 2 },
  unavailable: { status: 502, raw: '<html>Bad Gateway</html>' },
  lost: 'lost',
  forbidden: { status: 403, description: 'Forbidden: bot was blocked by the user' },
  'too-long': { status: 400, description: 'Bad Request: message is too long' },
}
const anna = { id: 11, is_bot: false, first_name: 'Anna' }

testChannel(() => {
  const api = createTelegramApi()
  const connectionOf = (webhook_secret: string) => ({
    apiBase: 'https://telegram.test',
    secrets: { bot_token: api.token, webhook_secret },
    webhookUrl: 'https://talaria.test/webhooks/telegram/ch_1',
  })
  return {
    channel: telegram,
    connection: connectionOf('webhook_secret-1'),
    other: connectionOf('webhook_secret-2'),
    maxEventsPerRequest: 1,
    signs: { body: false, time: false },
    maxChars: 4_096,
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
    api: { failNext: (failure) => api.overrideNext('sendMessage', failures[failure]), texts: () => api.messageTexts },
  }
})

import type { ChannelConnection } from '#channels/channel.ts'
import { zalo } from '#channels/zalo/zalo.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createZaloApi, zaloError, zaloPerson, zaloPhoto } from '../../support/zalo-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => zaloError(429, 'Too many requests', { 'retry-after': '2' }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () => zaloError(403, 'The bot was blocked.'),
  'too-long': () => zaloError(400, 'text is too long'),
  format: () => zaloError(400, 'x'),
  window: () => zaloError(400, 'x'),
}

const bodyOf = (message: object, event_name = 'message.text.received') =>
  JSON.stringify({
    event_name,
    message: {
      message_id: 'm1',
      date: 1,
      chat: { id: zaloPerson, chat_type: 'PRIVATE' },
      from: { id: zaloPerson, display_name: 'Anna', is_bot: false },
      ...message,
    },
  })

testChannel(() => {
  const { api, secrets } = createZaloApi()
  const webhookUrl = 'https://talaria.test/webhooks/zalo/ch_1'
  const connection: ChannelConnection = { apiBase: 'https://zalo.test', secrets, webhookUrl, fetchForeign }
  return {
    channel: zalo,
    connection,
    other: { ...connection, secrets: { ...secrets, webhook_secret: 'another-secret' } },
    maxEventsPerRequest: 1,
    signs: { body: false, time: false },
    chats: { direct: { chat: zaloPerson }, group: { chat: 'g1' } },
    person: { id: zaloPerson, name: 'Anna' },
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'image', reference: 'https://zalo.test/photo/1' },
      bytes: zaloPhoto,
      unknown: { kind: 'image', reference: 'https://zalo.test/photo/2' },
    },
    targets: { known: { chat: zaloPerson }, unknown: { chat: 'a b' } },
    samples: [
      {
        name: 'a photo with words',
        body: bodyOf({ photo: 'https://zalo.test/photo/1', caption: 'look' }, 'message.image.received'),
        event: { text: 'look', media: [{ kind: 'image', reference: 'https://zalo.test/photo/1' }] },
      },
      {
        name: 'a sticker, within an answer of the API',
        body: JSON.stringify({ ok: true, result: JSON.parse(bodyOf({}, 'message.sticker.received')) as object }),
        event: { text: '[sticker]' },
      },
      {
        name: 'an unknown kind',
        body: bodyOf({}, 'message.unsupported.received'),
        event: { text: '[a message of a kind that cannot be read here]' },
      },
    ],
    ignored: [{ name: 'nothing', body: bodyOf({ text: '' }) }],
    encodeMessages: ([message]) =>
      bodyOf({
        message_id: message?.id,
        text: message?.text,
        chat: { id: message?.chat, chat_type: message?.isGroup ? 'GROUP' : 'PRIVATE' },
      }),
    sign: async (_body, by) => ({ 'x-bot-api-secret-token': by.secrets['webhook_secret'] ?? '' }),
    handshakes: [],
    api: { failNext: (failure) => api.overrideNext(failures[failure]), texts: () => api.texts },
  }
})

import { type ApiFailure, testChannel } from '../conformance.ts'
import { formpost } from './formpost.ts'
import { FormpostApi, formOf, signedHeaders } from './formpost-api.ts'

const webhookUrl = 'https://talaria.test/webhooks/formpost/ch_1'
const receivedAt = 1_800_000_000_000
const failures = {
  busy: { status: 429, retryAfter: 2 },
  unavailable: { status: 503 },
  lost: 'lost',
  forbidden: { status: 403 },
  'too-long': { status: 413 },
  format: { status: 415 },
  window: { status: 470 },
} as const satisfies Record<ApiFailure, unknown>

testChannel(() => {
  const api = new FormpostApi()
  const connectionOf = ({ secrets }: FormpostApi) => ({
    apiBase: formpost.apiBase.url,
    secrets,
    webhookUrl,
    fetchForeign: () => Promise.reject(new Error('not used')),
  })
  const challenge = `?verify_token=${api.secrets.verify_token}&challenge=abc%20123`
  return {
    channel: formpost,
    connection: connectionOf(api),
    other: connectionOf(new FormpostApi()),
    maxEventsPerRequest: 10,
    signs: { body: true, time: true },
    chats: { direct: { chat: '11' }, group: { chat: '-50' } },
    targets: { known: { chat: 'c1' }, unknown: { chat: 'x' } },
    encodeMessages: (messages) =>
      formOf(
        ...messages.map(({ id, chat, isGroup, sender, text }) => ({
          id,
          chat,
          text,
          message: id,
          from: sender.id,
          name: sender.name,
          ...(isGroup && { group: '1' }),
        })),
      ),
    encodePress: ({ id, data }) =>
      formOf({ id: '9', chat: '11', from: '11', name: 'Anna', message: 'm1', press: id, data }),
    sign: (body, { secrets }, at) => signedHeaders(secrets['signing_secret'] ?? '', body, at),
    handshakes: [
      {
        name: 'the challenge',
        answer: 'abc 123',
        request: {
          method: 'GET',
          url: new URL(webhookUrl + challenge),
          headers: new Headers(),
          body: new Uint8Array(),
          receivedAt,
        },
      },
    ],
    api: { failNext: (failure) => api.failNext(failures[failure]), texts: () => api.texts },
  }
})

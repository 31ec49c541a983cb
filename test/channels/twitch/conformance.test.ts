import { expect, it } from 'vitest'
import type { ChannelConnection } from '#channels/channel.ts'
import { twitch } from '#channels/twitch/twitch.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createTwitchApi, signTwitch, twitchBot, twitchChannel, twitchError } from '../../support/twitch-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => twitchError(429, 'Too Many Requests', 'slow down', { 'retry-after': '2' }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () => twitchError(403, 'Forbidden', 'The sender may not write here'),
  'too-long': () => twitchError(400, 'Bad Request', 'The message is too long'),
  format: () => twitchError(400, 'x', 'x'),
  window: () => twitchError(400, 'x', 'x'),
}

function createConnection() {
  const { api, secrets } = createTwitchApi()
  const webhookUrl = 'https://talaria.test/webhooks/twitch/ch_1'
  const connection: ChannelConnection = { apiBase: 'https://twitch.test', secrets, webhookUrl, fetchForeign }
  return { api, connection }
}

const bodyOf = (event: object, type = 'channel.chat.message') =>
  JSON.stringify({
    subscription: { id: 's1', type, status: 'enabled' },
    event: {
      broadcaster_user_id: twitchChannel,
      chatter_user_id: '7',
      chatter_user_login: 'anna',
      chatter_user_name: 'Anna',
      message_id: 'm1',
      message: { text: 'hi', fragments: [{ type: 'text', text: 'hi' }] },
      message_type: 'text',
      reply: null,
      source_broadcaster_user_id: null,
      ...event,
    },
  })

const at = 1_800_000_000_000

async function requestOf(body: string, { secrets, webhookUrl }: ChannelConnection, receivedAt = at) {
  const bytes = new TextEncoder().encode(body)
  const headers = new Headers(await signTwitch(bytes, secrets['webhook_secret'] ?? '', at))
  return { method: 'POST', url: new URL(webhookUrl), headers, body: bytes, receivedAt }
}

const check = JSON.stringify({
  challenge: 'pogchamp',
  subscription: { status: 'webhook_callback_verification_pending' },
})
const [first] = [createConnection()]
const handshake = {
  name: 'the check of the address',
  request: await requestOf(check, first.connection),
  answer: 'pogchamp',
}
const unused = [first]

testChannel(() => {
  const { api, connection } = unused.pop() ?? createConnection()
  return {
    channel: twitch,
    connection,
    other: { ...connection, secrets: { ...connection.secrets, webhook_secret: 'another-secret' } },
    maxEventsPerRequest: 1,
    signs: { body: true, time: false },
    chats: { direct: { chat: twitchChannel }, group: { chat: twitchChannel } },
    person: { id: '7', name: 'Anna' },
    isAlwaysGroup: true,
    unknownFailures: ['format', 'window'],
    targets: { known: { chat: twitchChannel }, unknown: { chat: '99' } },
    samples: [
      {
        name: 'a mention, in a chat where everybody may write',
        body: bodyOf({
          message: {
            text: '@Talaria hi',
            fragments: [{ type: 'mention', text: '@Talaria', mention: { user_id: twitchBot, user_login: 'talaria' } }],
          },
        }),
        event: { text: 'hi', isPublic: true, mentions: [twitchBot] },
      },
      { name: 'a command', body: bodyOf({ message: { text: '!status' } }), event: { text: '/status' } },
      { name: 'an exclamation', body: bodyOf({ message: { text: '!wow' } }), event: { text: '!wow' } },
      {
        name: 'a reply',
        body: bodyOf({
          reply: {
            parent_message_id: 'm0',
            parent_message_body: 'old',
            parent_user_id: '8',
            parent_user_name: 'Bo',
          },
        }),
        event: { quote: { messageId: 'm0', sender: { id: '8', name: 'Bo' }, text: 'old' } },
      },
    ],
    ignored: [
      { name: 'its own message', body: bodyOf({ chatter_user_id: twitchBot }) },
      { name: 'a message of another channel', body: bodyOf({ broadcaster_user_id: '99' }) },
      { name: 'a message from a shared chat', body: bodyOf({ source_broadcaster_user_id: '99' }) },
      { name: 'another event', body: bodyOf({}, 'channel.follow') },
      { name: 'the end of the subscription', body: JSON.stringify({ subscription: { status: 'user_removed' } }) },
    ],
    encodeMessages: ([message]) => bodyOf({ message_id: message?.id, message: { text: message?.text } }),
    sign: (body, { secrets }) => signTwitch(body, secrets['webhook_secret'] ?? '', at),
    handshakes: connection === first.connection ? [handshake] : [],
    api: { failNext: (failure) => api.overrideNext(failures[failure]), texts: () => api.texts },
  }
})

it('refuses a message that is older than ten minutes', async () => {
  const { connection } = createConnection()
  const statusAt = async (receivedAt: number) =>
    (await twitch.receive(await requestOf(bodyOf({}), connection, receivedAt), connection)).response?.status
  expect([await statusAt(at + 599_000), await statusAt(at + 601_000)]).toEqual([undefined, 401])
})

it('writes one line, in reply where the chat quotes, and says why Twitch has dropped one', async () => {
  const { api, connection } = createConnection()
  const message = { address: { chat: twitchChannel }, chunk: { text: 'one\n\n- two', spans: [] } }
  await twitch.send(connection, { ...message, replyToMessageId: 'm1' }, 'k1')
  expect(api.calls.at(-1)?.body).toEqual({
    broadcaster_id: twitchChannel,
    sender_id: twitchBot,
    message: 'one - two',
    reply_parent_message_id: 'm1',
  })
  api.overrideNext(() =>
    Response.json({
      data: [{ message_id: '', is_sent: false, drop_reason: { code: 'msg_duplicate', message: 'twice' } }],
    }),
  )
  expect(await twitch.send(connection, message, 'k2')).toEqual({ kind: 'fatal', detail: 'twice' })
})

it('has one subscription for its address, and takes it back', async () => {
  const { api, connection } = createConnection()
  api.subscriptions.set('foreign', { transport: { callback: 'https://other.test' } })
  await twitch.register?.(connection, true)
  await twitch.register?.(connection, true)
  const own = () => [...api.subscriptions.values()].filter((one) => JSON.stringify(one).includes(connection.webhookUrl))
  expect([own().length, api.subscriptions.size]).toEqual([1, 2])
  expect(own()[0]).toMatchObject({
    condition: { broadcaster_user_id: twitchChannel, user_id: twitchBot },
    transport: { method: 'webhook', secret: connection.secrets['webhook_secret'] },
  })
  await twitch.register?.(connection, false)
  expect([...api.subscriptions.keys()]).toEqual(['foreign'])
})

import { expect, it } from 'vitest'
import type { ChannelConnection, InboundRequest } from '#channels/channel.ts'
import { computeHmac, concatBytes } from '#channels/hmac.ts'
import { nextcloudTalk } from '#channels/nextcloud-talk/nextcloud-talk.ts'
import { toHex } from '#durable/platform/hash.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import { createTalkApi, talkRoom } from '../../support/hook-apis.ts'
import type { Override } from '../../support/json-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/nextcloud_talk/ch_1'
const failed =
  (status: number, headers = {}) =>
  () =>
    Response.json({ ocs: { meta: { message: 'no' } } }, { status, headers })
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: failed(429, { 'retry-after': '2' }),
  unavailable: () => new Response('<html>', { status: 503 }),
  lost: 'lost',
  forbidden: failed(404),
  'too-long': failed(413),
  format: failed(400),
  window: failed(400),
}

function createConnection() {
  const { api, secret } = createTalkApi()
  const connection: ChannelConnection = {
    apiBase: 'https://nextcloud.test',
    secrets: { secret },
    directRooms: [talkRoom],
    webhookUrl,
    fetchForeign,
  }
  return { api, connection }
}

const person = { id: 'users/ada', name: 'Ada' }
const random = 'r'.repeat(64)
const noteOf = (message: string, parameters: object = {}, more: object = {}) => ({
  type: 'Note',
  id: '1567',
  name: 'message',
  content: JSON.stringify({ message, parameters }),
  mediaType: 'text/markdown',
  ...more,
})
const activityOf = (object: object, more: object = {}) =>
  JSON.stringify({
    type: 'Create',
    actor: { type: 'Person', ...person },
    object,
    target: { type: 'Collection', id: talkRoom, name: 'world' },
    ...more,
  })
const question = noteOf('Which?\n1. a\n2. b')

testChannel(() => {
  const { api, connection } = createConnection()
  return {
    channel: nextcloudTalk,
    connection,
    other: { ...connection, secrets: { secret: 'o'.repeat(40) } },
    maxEventsPerRequest: 1,
    signs: { body: true, time: false },
    chats: { direct: { chat: talkRoom }, group: { chat: 'group1' } },
    person,
    cannotTestSecrets: true,
    unknownFailures: ['format', 'window'],
    targets: { known: { chat: talkRoom }, unknown: { chat: 'a b' } },
    samples: [
      {
        name: 'people, rooms and files in place of their parameters',
        body: activityOf(
          noteOf('hi {mention-user1} {mention-call1} {file} {none}', {
            'mention-user1': { type: 'user', id: 'bob', name: 'Bob' },
            'mention-call1': { type: 'call', id: talkRoom, name: 'world' },
            file: { type: 'file', id: '7', name: 'a.pdf', link: 'https://nextcloud.test/f/7' },
          }),
        ),
        event: {
          text: 'hi @Bob @world [a file: a.pdf, https://nextcloud.test/f/7] {none}',
          mentions: ['users/bob'],
          key: `${talkRoom}:1567`,
        },
      },
      {
        name: 'an answer to a message of the bot',
        body: activityOf(
          noteOf(
            'why?',
            {},
            { inReplyTo: { actor: { id: 'bots/1', name: 'Talaria' }, object: noteOf('the plan', {}, { id: '9' }) } },
          ),
        ),
        event: {
          text: 'why?',
          quote: { messageId: '9', text: 'the plan', sender: { id: 'bot', name: 'Talaria', isBot: true } },
        },
      },
      {
        name: 'a reaction that chooses',
        body: activityOf(question, { type: 'Like', content: '2️⃣' }),
        event: { text: '2', mentions: ['bot'] },
      },
    ],
    ignored: [
      { name: 'a message of a bot', body: activityOf(noteOf('hi'), { actor: { id: 'bots/1', name: 'x' } }) },
      { name: 'a message of the system', body: activityOf(noteOf('x', {}, { name: 'call_started' })) },
      { name: 'another reaction', body: activityOf(question, { type: 'Like', content: '👍' }) },
      { name: 'a number that is no choice', body: activityOf(question, { type: 'Like', content: '3️⃣' }) },
      { name: 'the end of a reaction', body: activityOf(question, { type: 'Undo' }) },
    ],
    encodeMessages: ([message]) =>
      activityOf(noteOf(message?.text ?? '', {}, { id: message?.id }), { target: { id: message?.chat } }),
    sign: async (body, { secrets }) => ({
      'x-nextcloud-talk-random': random,
      'x-nextcloud-talk-backend': 'https://nextcloud.test/',
      'x-nextcloud-talk-signature': toHex(
        await computeHmac('SHA-256', secrets['secret'] ?? 'x', concatBytes(random, body)),
      ),
    }),
    handshakes: [],
    api: {
      failNext: (failure) => api.overrideNext(failures[failure]),
      texts: () => api.texts.map((one) => one.replaceAll('\\', '')),
    },
  }
})

it('refuses a right signature of another server, and one over the body alone', async () => {
  const { connection } = createConnection()
  const body = new TextEncoder().encode(activityOf(noteOf('hi')))
  const sign = async (text: string) =>
    toHex(await computeHmac('SHA-256', connection.secrets['secret'] ?? '', concatBytes(text, body)))
  const ask = async (headers: Record<string, string>) => {
    const request: InboundRequest = {
      method: 'POST',
      url: new URL(webhookUrl),
      headers: new Headers(headers),
      body,
      receivedAt: 0,
    }
    return (await nextcloudTalk.receive(request, connection)).response?.status
  }
  const backend = 'https://nextcloud.test'
  const name = 'x-nextcloud-talk-'
  const signature = await sign(random)
  expect(
    await ask({ [`${name}random`]: random, [`${name}backend`]: 'https://evil.test', [`${name}signature`]: signature }),
  ).toBe(401)
  expect(await ask({ [`${name}backend`]: backend, [`${name}signature`]: await sign('') })).toBe(401)
  expect(
    await ask({ [`${name}random`]: random, [`${name}backend`]: backend, [`${name}signature`]: signature }),
  ).toBeUndefined()
})

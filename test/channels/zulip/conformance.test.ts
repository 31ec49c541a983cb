import { expect, it } from 'vitest'
import type { ChannelConnection } from '#channels/channel.ts'
import { zulip } from '#channels/zulip/zulip.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import { createZulipApi, hookFile, zulipError, zulipStream } from '../../support/hook-apis.ts'
import type { Override } from '../../support/json-api.ts'
import { proveByToken } from '../../support/prove-by-token.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/zulip/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => zulipError(429, 'RATE_LIMIT_HIT', 'API usage exceeded rate limit', { 'retry-after': 2 }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () => zulipError(400, 'STREAM_DOES_NOT_EXIST', 'Channel does not exist'),
  'too-long': () => zulipError(400, 'BAD_REQUEST', 'Message too long'),
  format: () => zulipError(400, 'BAD_REQUEST', 'x'),
  window: () => zulipError(400, 'BAD_REQUEST', 'x'),
}

function createConnection() {
  const { api, secrets } = createZulipApi()
  const connection: ChannelConnection = { apiBase: 'https://zulip.test', secrets, webhookUrl, fetchForeign }
  return { api, connection }
}

const { connection: shown } = createConnection()
const messageOf = (content: string, more: object = {}, body: object = {}) =>
  JSON.stringify({
    bot_email: 'x',
    bot_full_name: 'Talaria',
    data: content,
    trigger: 'direct_message',
    message: {
      id: 5,
      type: 'private',
      sender_id: 11,
      sender_full_name: 'Anna',
      sender_email: 'a@x.test',
      display_recipient: [],
      content,
      ...more,
    },
    ...body,
  })
const inStream = { type: 'stream', stream_id: 7, subject: 'plans' }

testChannel(() => {
  const { api, connection } = createConnection()
  return {
    channel: zulip,
    connection,
    other: { ...connection, secrets: { ...connection.secrets, token: 'other' } },
    maxEventsPerRequest: 1,
    signs: { body: false, time: false },
    chats: { direct: { chat: '@11' }, group: { chat: zulipStream, thread: 'plans' } },
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'document', reference: 'user_uploads/2/ab/file.txt' },
      bytes: hookFile,
      unknown: { kind: 'document', reference: 'user_uploads/2/ab/none.txt' },
    },
    targets: { known: { chat: zulipStream }, unknown: { chat: '8' } },
    samples: [
      {
        name: 'a mention in a topic',
        body: messageOf('@**Talaria** what does @**Bob|12** say?', inStream, { trigger: 'mention' }),
        event: { text: 'what does @Bob say?', isGroup: true, address: { chat: '7', thread: 'plans' }, key: '5' },
      },
      {
        name: 'a direct message of several people',
        body: messageOf('hi', {
          display_recipient: [
            { id: 11, email: 'a@x.test' },
            { id: 3, email: 'b@x.test' },
          ],
        }),
        event: { isGroup: true, address: { chat: '@3,11' } },
      },
      {
        name: 'an answer to a message',
        body: messageOf(
          '@_**Bob|12** [said](https://zulip.test/#narrow/channel/7/near/55):\n```quote\nthe plan\n```\nwhy?',
        ),
        event: { text: 'why?', quote: { messageId: '55', sender: { id: '12', name: 'Bob' }, text: 'the plan' } },
      },
      {
        name: 'files',
        body: messageOf('look [file.txt](/user_uploads/2/ab/file.txt) ![a.png](/user_uploads/2/x/a.png)'),
        event: {
          text: 'look',
          media: [
            { kind: 'document', reference: 'user_uploads/2/ab/file.txt', name: 'file.txt', mime: 'text/plain' },
            { kind: 'image', reference: 'user_uploads/2/x/a.png', name: 'a.png', mime: 'image/png' },
          ],
        },
      },
    ],
    ignored: [
      { name: 'its own message', body: messageOf('hi', { sender_email: connection.secrets['email'] }) },
      { name: 'nothing', body: messageOf('') },
    ],
    encodeMessages: ([message]) =>
      messageOf(
        message?.text ?? '',
        message?.isGroup ? { ...inStream, id: message.id } : { id: message?.id },
        message?.isGroup ? { trigger: 'mention' } : {},
      ),
    prove: proveByToken,
    handshakes: [],
    api: {
      failNext: (failure) => api.overrideNext(failures[failure]),
      texts: () => api.texts,
      files: () => api.files,
      calls: () =>
        api
          .callsTo('/messages')
          .map(({ body }) => (String(body['content']).startsWith('[') ? {} : { caption: body['content'] })),
    },
  }
})

it('answers without a message, and later in the topic that the message has by then', async () => {
  const { api, connection } = createConnection()
  const body = new TextEncoder().encode(messageOf('hi', {}, { token: connection.secrets['token'] }))
  const request = { method: 'POST', url: new URL(webhookUrl), headers: new Headers(), body, receivedAt: 0 }
  const { response } = await zulip.receive(request, connection)
  expect(await response?.json()).toEqual({ response_not_required: true })
  const address = { chat: zulipStream, thread: 'plans' }
  await zulip.send(connection, { address, chunk: { text: 'x', spans: [] }, replyToMessageId: '55' }, 'k')
  expect(api.callsTo('/messages').at(-1)?.body).toMatchObject({ type: 'stream', to: '7', topic: 'renamed' })
  expect(shown.secrets['token']).not.toBe(connection.secrets['token'])
})

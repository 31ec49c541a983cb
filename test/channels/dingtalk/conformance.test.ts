import { expect, it } from 'vitest'
import type { ChannelConnection } from '#channels/channel.ts'
import { dingtalk } from '#channels/dingtalk/dingtalk.ts'
import {
  createDingtalkApi,
  dingtalkError,
  dingtalkFile,
  dingtalkPerson,
  signDingtalk,
} from '../../support/dingtalk-api.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => dingtalkError(429, 'Throttling', 'Request was denied due to throttling.', { 'retry-after': '2' }),
  unavailable: () => new Response('<html>', { status: 503 }),
  lost: 'lost',
  forbidden: () => dingtalkError(400, 'robot.notExist', 'The robot does not exist.'),
  'too-long': () => dingtalkError(400, 'invalidParameter', 'The message exceeds the size limit.'),
  format: () => dingtalkError(400, 'x', 'x'),
  window: () => dingtalkError(400, 'x', 'x'),
}

function createConnection() {
  const { api, secrets } = createDingtalkApi()
  const webhookUrl = 'https://talaria.test/webhooks/dingtalk/ch_1'
  const connection: ChannelConnection = { apiBase: 'https://dingtalk.test', secrets, webhookUrl, fetchForeign }
  return { api, connection }
}

const bodyOf = (more: object) =>
  JSON.stringify({
    msgId: 'm1',
    conversationId: 'cidAA==',
    conversationType: '1',
    senderStaffId: dingtalkPerson,
    senderNick: 'Anna',
    msgtype: 'text',
    text: { content: ' hi' },
    ...more,
  })

testChannel(() => {
  const { api, connection } = createConnection()
  return {
    channel: dingtalk,
    connection,
    other: { ...connection, secrets: { ...connection.secrets, app_secret: 'other' } },
    maxEventsPerRequest: 1,
    signs: { body: false, time: true },
    chats: { direct: { chat: dingtalkPerson }, group: { chat: 'cidAA==' } },
    person: { id: dingtalkPerson, name: 'Anna' },
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'document', reference: 'known' },
      bytes: dingtalkFile,
      unknown: { kind: 'document', reference: 'unknown' },
    },
    targets: { known: { chat: dingtalkPerson }, unknown: { chat: 'a b' } },
    samples: [
      {
        name: 'a mention in a group',
        body: bodyOf({ conversationType: '2', isInAtList: true }),
        event: { text: 'hi', isGroup: true, address: { chat: 'cidAA==' }, mentions: [connection.secrets['app_key']] },
      },
      {
        name: 'text with a picture',
        body: bodyOf({
          msgtype: 'richText',
          content: { richText: [{ text: 'look' }, { type: 'picture', downloadCode: 'd1' }] },
        }),
        event: { text: 'look', media: [{ kind: 'image', reference: 'd1' }] },
      },
      {
        name: 'a file',
        body: bodyOf({ msgtype: 'file', content: { downloadCode: 'd2', fileName: 'a.txt' } }),
        event: { media: [{ kind: 'document', reference: 'd2', name: 'a.txt', mime: 'text/plain' }] },
      },
      {
        name: 'what was said',
        body: bodyOf({ msgtype: 'audio', content: { downloadCode: 'd3', recognition: 'said' } }),
        event: { text: 'said', media: [] },
      },
      {
        name: 'an unknown kind',
        body: bodyOf({ msgtype: 'new' }),
        event: { text: '[a message of a kind that cannot be read here]' },
      },
    ],
    ignored: [{ name: 'nothing', body: bodyOf({ text: { content: ' ' } }) }],
    encodeMessages: ([message]) =>
      bodyOf({
        msgId: message?.id,
        text: { content: ` ${message?.text}` },
        conversationType: message?.isGroup ? '2' : '1',
      }),
    sign: (_body, { secrets }, at) => signDingtalk(secrets['app_secret'] ?? '', at),
    handshakes: [],
    api: { failNext: (failure) => api.overrideNext(failures[failure]), texts: () => api.texts },
  }
})

it('renews a refused token once, and says when it does not know a person', async () => {
  const { api, connection } = createConnection()
  const chunk = { text: 'hi', spans: [] }
  expect((await dingtalk.send(connection, { address: { chat: dingtalkPerson }, chunk }, 'k1')).kind).toBe('sent')
  api.token = 'revoked'
  expect((await dingtalk.send(connection, { address: { chat: 'cidAA==' }, chunk }, 'k2')).kind).toBe('sent')
  expect([api.issued, api.texts]).toEqual([2, ['hi', 'hi']])
  expect((await dingtalk.send(connection, { address: { chat: 'bob' }, chunk }, 'k3')).kind).toBe('forbidden')
})

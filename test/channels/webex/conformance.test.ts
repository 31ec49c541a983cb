import { expect, it } from 'vitest'
import type { ChannelConnection } from '#channels/channel.ts'
import { webex } from '#channels/webex/webex.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createWebexApi, signWebex, webexError, webexFile, webexRoom } from '../../support/webex-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/webex/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => webexError(429, 'Too many requests', { 'retry-after': '2' }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () => webexError(403, 'The bot is not a participant of the room.'),
  'too-long': () => webexError(400, 'Message length limited to 7439 characters.'),
  format: () => webexError(400, 'x'),
  window: () => webexError(400, 'x'),
}

function createConnection() {
  const { api, secrets } = createWebexApi()
  const connection: ChannelConnection = { apiBase: 'https://webex.test', secrets, webhookUrl, fetchForeign }
  return { api, connection }
}

const written = { roomId: webexRoom, roomType: 'direct', personId: 'ANNA', personEmail: 'ANNA' }

testChannel(() => {
  const { api, connection } = createConnection()
  const ring = (id: string, content: object, more: object = {}) => {
    api.written.set(id, { id, ...written, ...content })
    return JSON.stringify({ resource: 'messages', event: 'created', data: { id, personId: 'ANNA' }, ...more })
  }
  return {
    channel: webex,
    connection,
    other: { ...connection, secrets: { bot_token: 'other' } },
    maxEventsPerRequest: 1,
    signs: { body: true, time: false },
    chats: { direct: { chat: webexRoom }, group: { chat: 'Y2lzY29zcGFyazovL3Jvb20y' } },
    person: { id: 'ANNA', name: 'ANNA' },
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'document', reference: 'https://webex.test/v1/contents/1' },
      bytes: webexFile,
      unknown: { kind: 'document', reference: 'https://webex.test/v1/contents/2' },
    },
    targets: { known: { chat: webexRoom }, unknown: { chat: 'Y2lzY29zcGFyazovL3Jvb205' } },
    samples: [
      {
        name: 'a mention in a thread of a group',
        body: ring('g1', { text: 'Talaria do it', roomType: 'group', parentId: 'm0', mentionedPeople: ['BOT'] }),
        event: { text: 'do it', isGroup: true, address: { chat: webexRoom, thread: 'm0' }, mentions: ['BOT'] },
      },
      {
        name: 'a file',
        body: ring('f1', { files: ['https://webex.test/v1/contents/1'] }),
        event: { text: '', media: [{ kind: 'document', reference: 'https://webex.test/v1/contents/1' }] },
      },
      {
        name: 'a message of another bot',
        body: ring('b1', { text: 'hi', personEmail: 'other@webex.bot' }),
        event: { sender: { id: 'ANNA', name: 'other@webex.bot', isBot: true } },
      },
    ],
    ignored: [
      { name: 'its own message', body: ring('o1', { text: 'hi' }, { data: { id: 'o1', personId: 'BOT' } }) },
      { name: 'a message that is gone', body: JSON.stringify({ resource: 'messages', data: { id: 'none' } }) },
      { name: 'another resource', body: JSON.stringify({ resource: 'rooms', data: { id: 'r' } }) },
    ],
    encodeMessages: ([message]) =>
      ring(`x${message?.id}`, {
        text: message?.text,
        roomId: message?.chat,
        roomType: message?.isGroup ? 'group' : 'direct',
      }),
    encodePress: ({ id, data }) => {
      api.written.set(id, { id, ...written, messageId: '101', inputs: { data, isGroup: false } })
      return JSON.stringify({ resource: 'attachmentActions', data: { id, personId: 'ANNA' } })
    },
    sign: (body, { secrets }) => signWebex(body, { webhookUrl, token: secrets['bot_token'] ?? '' }),
    handshakes: [],
    api: {
      failNext: (failure) => api.overrideNext(failures[failure]),
      texts: () => api.texts,
      files: () => api.files,
      calls: () =>
        api
          .callsTo('/messages')
          .map(({ body }) => (body['files'] && body['text'] !== undefined ? { caption: body['text'] } : {})),
    },
  }
})

it('rejects while the message cannot be read, and has its webhooks once', async () => {
  const { api, connection } = createConnection()
  const body = new TextEncoder().encode(JSON.stringify({ resource: 'messages', data: { id: 'm1' } }))
  const headers = new Headers(await signWebex(body, { webhookUrl, token: connection.secrets['bot_token'] ?? '' }))
  const request = { method: 'POST', url: new URL(webhookUrl), headers, body, receivedAt: 0 }
  await webex.getAccount(connection)
  api.isDown = true
  await expect(webex.receive(request, connection)).rejects.toThrow('could not be read')
  api.isDown = false
  await webex.register?.(connection, true)
  await webex.register?.(connection, true)
  expect([...api.hooks.values()].map((one) => 'resource' in one && one.resource)).toEqual([
    'messages',
    'attachmentActions',
  ])
  const address = { chat: webexRoom }
  const chunk = { text: 'May I?', spans: [], buttons: [[{ label: 'Yes', data: 'ask:1:0' }]] }
  await webex.send(connection, { address, chunk }, 'k')
  expect(JSON.stringify(api.calls.at(-1)?.body)).toContain('"data":{"data":"ask:1:0","isGroup":false}')
})

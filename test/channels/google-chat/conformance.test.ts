import { describe, expect, it } from 'vitest'
import type { ChannelConnection, InboundRequest } from '#channels/channel.ts'
import { googleChat } from '#channels/google-chat/google-chat.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import {
  createGoogleChatApi,
  googleError,
  googleFile,
  googleSpace,
  signGoogleToken,
} from '../../support/google-chat-api.ts'
import type { Override } from '../../support/json-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/google_chat/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () =>
    new Response('{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Quota exceeded"}}', {
      status: 429,
      headers: { 'retry-after': '2' },
    }),
  unavailable: () => new Response('<html>', { status: 503 }),
  lost: 'lost',
  forbidden: () => googleError(403, 'PERMISSION_DENIED', 'This Chat app is not a member of this space.'),
  'too-long': () => googleError(400, 'INVALID_ARGUMENT', 'Message exceeds the size limit.'),
  format: () => googleError(400, 'INVALID_ARGUMENT', ''),
  window: () => googleError(400, 'INVALID_ARGUMENT', ''),
}

const user = { name: 'users/1', displayName: 'Anna', type: 'HUMAN' }
const person = { id: 'users/1', name: 'Anna' }
const direct = { name: googleSpace, type: 'DM', spaceType: 'DIRECT_MESSAGE' }
const room = { name: 'spaces/BBBB', type: 'ROOM', spaceType: 'SPACE' }
const messageIn = (space: { name: string }, more: object = {}) => ({
  name: `${space.name}/messages/1`,
  text: 'hi',
  thread: { name: `${space.name}/threads/T1` },
  ...more,
})
const eventOf = (fields: object) =>
  JSON.stringify({ eventTime: '2026-11-27T10:00:00Z', user, space: direct, ...fields })
const messageOf = (more: object = {}, space = direct) =>
  eventOf({ type: 'MESSAGE', space, message: messageIn(space, more) })
const addOnOf = (chat: object, commonEventObject: object = {}) =>
  JSON.stringify({ commonEventObject, chat: { user, eventTime: '2026-11-27T10:00:00Z', ...chat } })

const samples = [
  {
    name: 'a text of a direct chat, without a thread',
    body: messageOf(),
    event: {
      key: `${googleSpace}/messages/1`,
      text: 'hi',
      sender: person,
      isGroup: false,
      address: { chat: googleSpace },
    },
  },
  {
    name: 'a mention in a space, in its thread',
    body: messageOf({ text: '@Talaria what is new?', argumentText: ' what is new?' }, room),
    event: { text: 'what is new?', isGroup: true, mentions: ['app'], address: { chat: 'spaces/BBBB', thread: 'T1' } },
  },
  {
    name: 'a file, and one in Google Drive',
    body: messageOf({
      attachment: [
        { contentName: 'a.pdf', contentType: 'application/pdf', attachmentDataRef: { resourceName: 'R1' } },
        { contentName: 'plan', contentType: 'x', source: 'DRIVE_FILE', driveDataRef: { driveFileId: '1' } },
      ],
    }),
    event: {
      text: 'hi\n[a file in Google Drive: plan]',
      media: [{ kind: 'document', reference: 'R1', mime: 'application/pdf', name: 'a.pdf' }],
    },
  },
  {
    name: 'an answer to a message',
    body: messageOf({ quotedMessageMetadata: { name: 'spaces/AAAA/messages/0' } }),
    event: { quote: { messageId: 'spaces/AAAA/messages/0' } },
  },
  {
    name: 'a message of another bot',
    body: eventOf({
      type: 'MESSAGE',
      user: { name: 'users/9', displayName: 'Bot', type: 'BOT' },
      message: messageIn(direct),
    }),
    event: { sender: { id: 'users/9', name: 'Bot', isBot: true } },
  },
  {
    name: 'a message of an add-on',
    body: addOnOf({ messagePayload: { space: room, message: messageIn(room, { argumentText: 'hi' }) } }),
    event: { key: 'spaces/BBBB/messages/1', text: 'hi', sender: person, isGroup: true },
  },
  {
    name: 'a press of an add-on',
    body: addOnOf(
      { buttonClickedPayload: { space: direct, message: messageIn(direct) } },
      { parameters: { data: 'ask:1:0' } },
    ),
    event: { kind: 'press', data: 'ask:1:0', messageId: `${googleSpace}/messages/1` },
  },
  { name: 'being added', body: eventOf({ type: 'ADDED_TO_SPACE' }), event: { kind: 'lifecycle', change: 'added' } },
  {
    name: 'being removed from a space by an add-on',
    body: addOnOf({ removedFromSpacePayload: { space: room } }),
    event: { kind: 'lifecycle', change: 'removed', address: { chat: 'spaces/BBBB' } },
  },
]

function createConnection(audience?: string) {
  const { api, serviceAccount } = createGoogleChatApi()
  const connection: ChannelConnection = {
    apiBase: 'https://googlechat.test',
    loginBase: 'https://googlelogin.test',
    secrets: { service_account: serviceAccount },
    webhookUrl,
    ...(audience !== undefined && { audience }),
    fetchForeign,
  }
  return { api, connection }
}

testChannel(() => {
  const { api, connection } = createConnection('4711')
  return {
    channel: googleChat,
    connection,
    other: { ...connection, audience: '4712' },
    maxEventsPerRequest: 1,
    // The token says who sends, not what.
    signs: { body: false, time: false },
    chats: { direct: { chat: googleSpace }, group: { chat: 'spaces/BBBB' } },
    person,
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'document', reference: 'file-1' },
      bytes: googleFile,
      unknown: { kind: 'document', reference: 'file-2' },
    },
    targets: { known: { chat: googleSpace }, unknown: { chat: 'spaces/ZZZZ' } },
    samples,
    ignored: [
      { name: 'an unknown event', body: eventOf({ type: 'WIDGET_UPDATED' }) },
      { name: 'a press without data', body: eventOf({ type: 'CARD_CLICKED', message: messageIn(direct) }) },
    ],
    encodeMessages: ([message]) =>
      eventOf({
        type: 'MESSAGE',
        user: { name: message?.sender.id, displayName: message?.sender.name, type: 'HUMAN' },
        space: message?.isGroup ? room : direct,
        message: {
          name: `${message?.chat}/messages/${message?.id}`,
          text: message?.text,
          thread: { name: `${message?.chat}/threads/T1` },
        },
      }),
    encodePress: ({ id, data }) =>
      eventOf({
        type: 'CARD_CLICKED',
        message: { name: id },
        action: { actionMethodName: webhookUrl, parameters: [{ key: 'data', value: data }] },
      }),
    sign: async (_body, { audience = webhookUrl }, at) => ({
      authorization: `Bearer ${await signGoogleToken({ audience, at: at / 1_000 })}`,
    }),
    handshakes: [],
    api: { failNext: (failure) => api.overrideNext(failures[failure]), texts: () => api.texts },
  }
})

describe('google_chat: tokens', () => {
  const at = 1_800_000_000
  const isAccepted = async (connection: ChannelConnection, token: string, body = messageOf(), header = true) => {
    const request: InboundRequest = {
      method: 'POST',
      url: new URL(webhookUrl),
      headers: new Headers(header ? { authorization: `Bearer ${token}` } : {}),
      body: new TextEncoder().encode(body),
      receivedAt: at * 1_000,
    }
    return (await googleChat.receive(request, connection)).response?.status !== 401
  }

  it.each<[string, Parameters<typeof signGoogleToken>[0], boolean]>([
    ['right', { audience: '4711', at }, true],
    ['of another project', { audience: '4712', at }, false],
    ['of another issuer', { audience: '4711', at, claims: { iss: 'evil@x.test' } }, false],
    ['with a key that nobody published', { audience: '4711', at, isForged: true }, false],
    ['expired within the tolerance', { audience: '4711', at: at - 3_800 }, true],
    ['expired', { audience: '4711', at: at - 4_000 }, false],
    ['not yet valid', { audience: '4711', at, claims: { nbf: at + 400 } }, false],
    ['without an end', { audience: '4711', at, claims: { exp: undefined } }, false],
  ])('for a project number: %s', async (_name, options, expected) => {
    const { connection } = createConnection('4711')
    expect(await isAccepted(connection, await signGoogleToken(options))).toBe(expected)
  })

  it('refuses tokens without a signature, or with one of another algorithm', async () => {
    const { connection } = createConnection('4711')
    const token = await signGoogleToken({ audience: '4711', at })
    const [, payload = '', signature = ''] = token.split('.')
    const encode = (head: object) => btoa(JSON.stringify(head)).replaceAll('=', '')
    const none = `${encode({ alg: 'none', kid: 'k1' })}.${payload}.`
    const symmetric = `${encode({ alg: 'HS256', kid: 'k1' })}.${payload}.${signature}`
    const unknown = `${encode({ alg: 'RS256', kid: 'k2' })}.${payload}.${signature}`
    for (const wrong of [none, symmetric, unknown, '', 'a.b.c', '..', `${token}.x`, 'x'.repeat(10_000)])
      expect([wrong.slice(0, 20), await isAccepted(connection, wrong)]).toEqual([wrong.slice(0, 20), false])
  })

  it.each<[string, object, boolean]>([
    ['of Google Chat', {}, true],
    ['of somebody else', { email: 'evil@x.test' }, false],
    ['without a verified address', { email_verified: false }, false],
  ])('for an address: %s', async (_name, claims, expected) => {
    const { connection } = createConnection()
    expect(await isAccepted(connection, await signGoogleToken({ audience: webhookUrl, at, claims }))).toBe(expected)
  })

  it('accepts the token in the body of an add-on event', async () => {
    const { connection } = createConnection()
    const systemIdToken = await signGoogleToken({ audience: webhookUrl, at })
    const body = JSON.stringify({ authorizationEventObject: { systemIdToken } })
    expect(await isAccepted(connection, '', body, false)).toBe(true)
    expect(await isAccepted(connection, '', body.replace('.', '.x'), false)).toBe(false)
  })

  it('asks for an app token once, and renews a refused one once', async () => {
    const { api, connection } = createConnection('4711')
    const send = (text: string) =>
      googleChat.send(connection, { address: { chat: googleSpace, thread: 'T1' }, chunk: { text, spans: [] } }, text)
    for (const text of ['a', 'b']) expect((await send(text)).kind).toBe('sent')
    expect(api.issued).toBe(1)
    api.token = 'revoked'
    expect((await send('c')).kind).toBe('sent')
    expect([api.issued, api.texts]).toEqual([2, ['a', 'b', 'c']])
    expect(api.calls.map(({ query, body }) => [query.get('messageReplyOption'), body['thread']])).toEqual(
      Array.from({ length: 3 }, () => ['REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD', { name: `${googleSpace}/threads/T1` }]),
    )
  })
})

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { computeHmac } from '#channels/hmac.ts'
import { line } from '#channels/line/line.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createLineApi, lineBot, lineError, lineFile, lineGroup, linePerson } from '../../support/line-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/line/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () =>
    new Response('{"message":"The API rate limit has been exceeded."}', {
      status: 429,
      headers: { 'retry-after': '2' },
    }),
  unavailable: () => new Response('<html>', { status: 500 }),
  lost: 'lost',
  forbidden: () => lineError(400, "The property, 'to', in the request body is invalid (line: -, column: -)"),
  'too-long': () => lineError(400, 'A message is invalid', [{ message: 'Length must be between 0 and 5000' }]),
  format: () => lineError(400, ''),
  window: () => lineError(400, ''),
}

const source = { type: 'user', userId: linePerson }
const group = { type: 'group', groupId: lineGroup, userId: linePerson }
const base = {
  type: 'message',
  mode: 'active',
  timestamp: 1_800_000_000_000,
  webhookEventId: '01FZ74A0TDDPYRVKNK77XKC3ZR',
  deliveryContext: { isRedelivery: false },
  replyToken: 'nHuyWiB7yP5Zw52FIkcQobQuGDXCTA',
  source,
}
const bodyOf = (...events: readonly object[]) => JSON.stringify({ destination: lineBot, events })
const messageOf = (message: object, more: object = {}) => bodyOf({ ...base, ...more, message: { id: '1', ...message } })
const person = { id: linePerson, name: linePerson }
const mentioned = (text: string, index: number, length: number) => ({
  type: 'text',
  text,
  mention: { mentionees: [{ index, length, type: 'user', userId: lineBot, isSelf: true }] },
})

const samples = [
  {
    name: 'a text with its reply token',
    body: messageOf({ type: 'text', text: 'hi' }),
    event: {
      key: '1',
      text: 'hi',
      sender: person,
      address: { chat: linePerson },
      replyHandle: { token: base.replyToken, expiresAt: 1_800_000_050_000 },
    },
  },
  {
    name: 'a mention of the bot in a group, which only addresses it',
    body: messageOf(mentioned('@Talaria, what is new?', 0, 8), { source: group }),
    event: { text: 'what is new?', mentions: [lineBot], isGroup: true, address: { chat: lineGroup } },
  },
  {
    name: 'a mention in the middle of a sentence',
    body: messageOf(mentioned('Ask @Talaria', 4, 8), { source: group }),
    event: { text: 'Ask @Talaria', mentions: [lineBot] },
  },
  {
    name: 'a message of somebody in a room who has no id',
    body: messageOf({ type: 'text', text: 'hi' }, { source: { type: 'room', roomId: 'R1' } }),
    event: { isGroup: true, address: { chat: 'R1' }, sender: { id: 'R1', name: 'R1' } },
  },
  {
    name: 'a picture of a set',
    body: messageOf({ type: 'image', contentProvider: { type: 'line' }, imageSet: { id: 'set', index: 1, total: 2 } }),
    event: { text: '', media: [{ kind: 'image', reference: '1' }], albumId: 'set' },
  },
  {
    name: 'a video of another server',
    body: messageOf({
      type: 'video',
      contentProvider: { type: 'external', originalContentUrl: 'https://example.com/v.mp4' },
    }),
    event: { media: [{ kind: 'video', reference: 'https://example.com/v.mp4' }] },
  },
  {
    name: 'a file',
    body: messageOf({ type: 'file', fileName: 'a.pdf', fileSize: 7 }),
    event: { media: [{ kind: 'document', reference: '1', name: 'a.pdf' }] },
  },
  {
    name: 'a place',
    body: messageOf({ type: 'location', title: 'Office', address: 'Tokyo', latitude: 35.6, longitude: 139.7 }),
    event: { text: '[location: Office, Tokyo, 35.6, 139.7]' },
  },
  {
    name: 'a sticker',
    body: messageOf({ type: 'sticker', packageId: '1', stickerId: '2', keywords: ['love', 'joy'] }),
    event: { text: '[sticker: love, joy]' },
  },
  {
    name: 'an answer to a message',
    body: messageOf({ type: 'text', text: 'why?', quotedMessageId: '0' }),
    event: { quote: { messageId: '0' } },
  },
  {
    name: 'a message of an unknown kind',
    body: messageOf({ type: 'hologram' }),
    event: { text: '[a message of a kind that cannot be read here]', media: [] },
  },
  { name: 'a new friend', body: bodyOf({ ...base, type: 'follow' }), event: { kind: 'lifecycle', change: 'added' } },
  { name: 'a block', body: bodyOf({ ...base, type: 'unfollow' }), event: { kind: 'lifecycle', change: 'removed' } },
  {
    name: 'one known event among others',
    body: bodyOf(
      null as never,
      7 as never,
      { type: 'message' },
      { ...base, message: { id: '9', type: 'text', text: 'x' } },
    ),
    event: { key: '9', text: 'x' },
  },
]

testChannel(() => {
  const { api, token } = createLineApi()
  const connectionOf = (name: string) => ({
    apiBase: 'https://line.test',
    secrets: { channel_access_token: token, channel_secret: `secret-${name}` },
    webhookUrl,
    fetchForeign,
  })
  return {
    channel: line,
    connection: connectionOf('1'),
    other: connectionOf('2'),
    maxEventsPerRequest: 3,
    signs: { body: true, time: false },
    chats: { direct: { chat: linePerson }, group: { chat: lineGroup } },
    person,
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'image', reference: 'file-1' },
      bytes: lineFile,
      unknown: { kind: 'image', reference: 'file-2' },
    },
    targets: { known: { chat: linePerson }, unknown: { chat: `U${'9'.repeat(32)}` } },
    samples,
    ignored: [
      { name: 'a check of the address', body: bodyOf() },
      {
        name: 'a chat in which another service answers',
        body: messageOf({ type: 'text', text: 'x' }, { mode: 'standby' }),
      },
      { name: 'a message that was taken back', body: bodyOf({ ...base, type: 'unsend', unsend: { messageId: '1' } }) },
    ],
    encodeMessages: (messages) =>
      bodyOf(
        ...messages.map(({ id, chat, isGroup, text }) => ({
          ...base,
          source: isGroup ? { ...group, groupId: chat } : source,
          message: { id, type: 'text', text },
        })),
      ),
    encodePress: ({ id, data }) => bodyOf({ ...base, type: 'postback', webhookEventId: id, postback: { data } }),
    sign: async (body, { secrets }) => ({
      'x-line-signature': encodeBase64Bytes(await computeHmac('SHA-256', secrets['channel_secret'] ?? '', body)),
    }),
    handshakes: [],
    api: { failNext: (failure) => api.overrideNext(failures[failure]), texts: () => api.texts },
  }
})

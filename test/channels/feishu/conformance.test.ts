import { describe, expect, it } from 'vitest'
import type { ChannelConnection } from '#channels/channel.ts'
import { feishu } from '#channels/feishu/feishu.ts'
import {
  createFeishuApi,
  encryptFeishu,
  feishuChat,
  feishuError,
  feishuFile,
  signFeishu,
} from '../../support/feishu-api.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/feishu/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () =>
    new Response('{"code":99991400,"msg":"frequency limit"}', { status: 429, headers: { 'retry-after': '2' } }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () => feishuError(230_002, 'Bot is out of the chat.'),
  'too-long': () => feishuError(230_025, 'The length of the message content exceeds its limit.'),
  format: () => feishuError(230_001, 'x'),
  window: () => feishuError(230_001, 'x'),
}

function createConnection() {
  const { api, secrets } = createFeishuApi()
  const connection: ChannelConnection = { apiBase: 'https://feishu.test', secrets, webhookUrl, fetchForeign }
  return { api, connection }
}

const person = { id: 'ou_anna', name: 'ou_anna' }
const eventOf = (type: string, event: object, id = 'e1') =>
  JSON.stringify({ schema: '2.0', header: { event_id: id, event_type: type }, event })
const messageOf = (type: string, content: object, more: object = {}, sender: object = {}) =>
  eventOf('im.message.receive_v1', {
    sender: { sender_id: { open_id: 'ou_anna' }, sender_type: 'user', ...sender },
    message: {
      message_id: 'om_1',
      chat_id: feishuChat,
      chat_type: 'p2p',
      message_type: type,
      content: JSON.stringify(content),
      ...more,
    },
  })

const withToken = (text: string, token: string) =>
  text.replace('"header":{', `"header":{"token":${JSON.stringify(token)},`)

testChannel(() => {
  const { api, connection } = createConnection()
  return {
    channel: feishu,
    connection,
    other: { ...connection, secrets: { ...connection.secrets, encrypt_key: 'other', verification_token: 'other' } },
    maxEventsPerRequest: 1,
    signs: { body: true, time: true },
    chats: { direct: { chat: feishuChat }, group: { chat: 'oc_group' } },
    person,
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'document', reference: 'om_1/k1/file' },
      bytes: feishuFile,
      unknown: { kind: 'document', reference: 'om_1/k2/file' },
    },
    targets: { known: { chat: feishuChat }, unknown: { chat: 'oc_other' } },
    samples: [
      {
        name: 'a mention in a thread of a group',
        body: messageOf(
          'text',
          { text: '@_user_1 ask @_user_2' },
          {
            chat_type: 'group',
            chat_id: 'oc_group',
            root_id: 'om_0',
            parent_id: 'om_0',
            mentions: [
              { key: '@_user_1', id: { open_id: 'ou_bot' }, name: 'Talaria' },
              { key: '@_user_2', id: { open_id: 'ou_bob' }, name: 'Bob' },
            ],
          },
        ),
        event: {
          text: '@Talaria ask @Bob',
          isGroup: true,
          mentions: ['ou_bot', 'ou_bob'],
          address: { chat: 'oc_group', thread: 'om_0' },
          quote: { messageId: 'om_0' },
        },
      },
      {
        name: 'a post with a link and a picture',
        body: messageOf('post', {
          title: 'Plan',
          content: [
            [
              { tag: 'text', text: 'see ' },
              { tag: 'a', href: 'https://x.test/', text: 'here' },
            ],
            [{ tag: 'img', image_key: 'i1' }],
          ],
        }),
        event: { text: 'Plan\nsee here (https://x.test/)', media: [{ kind: 'image', reference: 'om_1/i1/image' }] },
      },
      {
        name: 'a file',
        body: messageOf('file', { file_key: 'k1', file_name: 'a.pdf' }),
        event: {
          text: '',
          media: [{ kind: 'document', reference: 'om_1/k1/file', name: 'a.pdf', mime: 'application/pdf' }],
        },
      },
      {
        name: 'a voice message',
        body: messageOf('audio', { file_key: 'k1' }),
        event: { media: [{ kind: 'voice', reference: 'om_1/k1/file' }] },
      },
      {
        name: 'a place',
        body: messageOf('location', { name: 'Office', latitude: '1', longitude: '2' }),
        event: { text: '[location: Office, 1, 2]' },
      },
      {
        name: 'forwarded messages',
        body: messageOf('merge_forward', {}),
        event: { text: '[forwarded messages, which cannot be read here]' },
      },
      {
        name: 'an unknown kind',
        body: messageOf('hologram', {}),
        event: { text: '[a message of a kind that cannot be read here]' },
      },
      {
        name: 'a message of another bot',
        body: messageOf('text', { text: 'hi' }, {}, { sender_type: 'app' }),
        event: { sender: { ...person, isBot: true } },
      },
      {
        name: 'being added',
        body: eventOf('im.chat.member.bot.added_v1', { chat_id: 'oc_group', operator_id: { open_id: 'ou_anna' } }),
        event: { kind: 'lifecycle', change: 'added', address: { chat: 'oc_group' } },
      },
    ],
    ignored: [
      { name: 'an unknown event', body: eventOf('im.message.message_read_v1', {}) },
      { name: 'a message without content', body: messageOf('text', { text: '' }) },
    ],
    encodeMessages: ([message]) =>
      messageOf(
        'text',
        { text: message?.text },
        { message_id: message?.id, chat_id: message?.chat, chat_type: message?.isGroup ? 'group' : 'p2p' },
      ),
    encodePress: ({ id, data }) =>
      eventOf(
        'card.action.trigger',
        {
          operator: { open_id: 'ou_anna' },
          action: { value: { data } },
          context: { open_message_id: 'om_9', open_chat_id: feishuChat },
        },
        id,
      ),
    encrypt: async (body, { secrets }) =>
      encryptFeishu(withToken(body, secrets['verification_token'] ?? ''), secrets['encrypt_key'] ?? 'x'),
    sign: (body, { secrets }, at) => signFeishu(body, secrets['encrypt_key'] ?? 'x', at),
    handshakes: [],
    api: {
      failNext: (failure) => api.overrideNext(failures[failure]),
      texts: () => api.texts.map((one) => one.replaceAll('\\', '')),
      files: () => api.files,
    },
  }
})

describe('feishu: proofs and presses', () => {
  const at = 1_800_000_000_000
  const challengeOf = (token: string) => JSON.stringify({ type: 'url_verification', challenge: 'c1', token })

  it('answers the check of the address when it is encrypted and has the token', async () => {
    const { connection } = createConnection()
    const { encrypt_key: key = '', verification_token: token = '' } = connection.secrets
    const ask = async (text: string) => {
      const body = new TextEncoder().encode(text)
      const request = { method: 'POST', url: new URL(webhookUrl), headers: new Headers(), body, receivedAt: at }
      return (await feishu.receive(request, connection)).response
    }
    expect(await (await ask(await encryptFeishu(challengeOf(token), key)))?.json()).toEqual({ challenge: 'c1' })
    for (const wrong of [
      challengeOf(token),
      await encryptFeishu(challengeOf('x'), key),
      await encryptFeishu(challengeOf(token), 'x'),
    ])
      expect((await ask(wrong))?.status).toBe(401)
    // An event needs the signature, too.
    expect((await ask(await encryptFeishu(withToken(messageOf('text', { text: 'hi' }), token), key)))?.status).toBe(401)
  })

  it('ignores an event that is signed, but not encrypted', async () => {
    const { connection } = createConnection()
    const { encrypt_key: key = '', verification_token: token = '' } = connection.secrets
    const body = new TextEncoder().encode(withToken(messageOf('text', { text: 'hi' }), token))
    const headers = new Headers(await signFeishu(body, key, at))
    const request = { method: 'POST', url: new URL(webhookUrl), headers, body, receivedAt: at }
    expect((await feishu.receive(request, connection)).events).toEqual([])
  })

  it('sends cards into the thread, and renews a refused token once', async () => {
    const { api, connection } = createConnection()
    const buttons = [[{ label: 'Yes', data: 'ask:1:0' }]]
    const address = { chat: feishuChat, thread: 'om_0' }
    const send = (text: string) => feishu.send(connection, { address, chunk: { text, spans: [], buttons } }, text)
    expect((await send('a')).kind).toBe('sent')
    api.token = 'revoked'
    expect((await send('b')).kind).toBe('sent')
    expect([api.issued, api.texts]).toEqual([2, ['a', 'b']])
    expect(api.calls.map(({ path }) => path)).toEqual(
      Array.from({ length: 2 }, () => '/open-apis/im/v1/messages/om_0/reply'),
    )
    expect(JSON.stringify(api.calls[0]?.body)).toContain('om_0')
  })
})

import { computeHmac } from '#channels/hmac.ts'
import { instagram } from '#channels/meta/instagram.ts'
import { messenger } from '#channels/meta/messenger.ts'
import { toHex } from '#durable/platform/hash.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createMetaApi, metaFile } from '../../support/meta-api.ts'
import { graphError } from '../../support/whatsapp-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const failures = (subcode: number): Readonly<Record<ApiFailure, Override>> => ({
  busy: () =>
    new Response('{"error":{"code":613,"message":"Calls to this api have exceeded the rate limit."}}', {
      status: 429,
      headers: { 'retry-after': '2' },
    }),
  unavailable: () => new Response('<html>', { status: 503 }),
  lost: 'lost',
  forbidden: () => graphError(400, 551, "This person isn't available right now."),
  'too-long': () => graphError(400, 100, 'Length of param message[text] must be less than or equal to 2000'),
  format: () => graphError(400, 1, ''),
  window: () =>
    Response.json(
      { error: { code: 10, error_subcode: subcode, message: 'This message is sent late.' } },
      { status: 400 },
    ),
})

const person = { id: '6543210987', name: '6543210987' }
const platforms = [
  {
    channel: messenger,
    object: 'page',
    token: 'page_access_token',
    account: 'page_id',
    own: '101580000000001',
    subcode: 2_018_278,
  },
  {
    channel: instagram,
    object: 'instagram',
    token: 'access_token',
    account: 'account_id',
    own: '178414000000001',
    subcode: 2_534_022,
  },
] as const

for (const { channel, object, token: tokenName, account, own, subcode } of platforms) {
  const webhookUrl = `https://talaria.test/webhooks/${channel.platform}/ch_1`
  const base = { sender: { id: person.id }, recipient: { id: own }, timestamp: 1_800_000_000_000 }
  const bodyOf = (...messaging: readonly unknown[]) =>
    JSON.stringify({ object, entry: [{ id: own, time: 1_800_000_000_001, messaging }] })
  const messageOf = (message: object, more: object = {}) =>
    bodyOf({ ...base, message: { mid: 'm_1', ...message }, ...more })
  const attached = (type: string, payload: object, more: object = {}) =>
    messageOf({ attachments: [{ type, payload, ...more }] })

  const samples = [
    {
      name: 'a text',
      body: messageOf({ text: 'hi' }),
      event: { key: 'm_1', text: 'hi', sender: person, isGroup: false },
    },
    {
      name: 'a picture',
      body: attached('image', { url: 'https://cdn.example/p.jpg' }),
      event: { text: '', media: [{ kind: 'image', reference: 'https://cdn.example/p.jpg' }] },
    },
    {
      name: 'a file with a text',
      body: messageOf({ text: 'look', attachments: [{ type: 'file', payload: { url: 'https://cdn.example/a.pdf' } }] }),
      event: { text: 'look', media: [{ kind: 'document', reference: 'https://cdn.example/a.pdf' }] },
    },
    {
      name: 'an answer to a message',
      body: messageOf({ text: 'why?', reply_to: { mid: 'm_0' } }),
      event: { text: 'why?', quote: { messageId: 'm_0' } },
    },
    {
      name: 'an answer to a story',
      body: messageOf({ text: 'nice', reply_to: { story: { id: '1', url: 'https://cdn.example/s' } } }),
      event: { text: 'nice\n[about the story: https://cdn.example/s]' },
    },
    {
      name: 'a place',
      body: attached('location', { coordinates: { lat: 1.5, long: 2.5 } }, { title: 'Office' }),
      event: { text: '[location: Office, 1.5, 2.5]' },
    },
    {
      name: 'a shared link',
      body: attached('fallback', {}, { title: 'A page', url: 'https://a.example' }),
      event: { text: '[link: A page, https://a.example]', media: [] },
    },
    {
      name: 'a shared reel',
      body: attached('ig_reel', { url: 'https://cdn.example/r', title: 'Dance' }),
      event: { text: '[ig reel: Dance, https://cdn.example/r]' },
    },
    {
      name: 'content that the platform does not show',
      body: messageOf({ is_unsupported: true }),
      event: { text: '[a message of a kind that cannot be read here]' },
    },
    {
      name: 'an attachment without content',
      body: attached('fallback', {}),
      event: { text: '[a message of a kind that cannot be read here]' },
    },
    {
      name: 'an edit',
      body: bodyOf({ ...base, message_edit: { mid: 'm_1', text: 'better', num_edit: 2 } }),
      event: { kind: 'edit', key: 'm_1:edit:2', messageId: 'm_1', text: 'better' },
    },
    {
      name: 'a button of the page, which says what its label says',
      body: bodyOf({ ...base, postback: { mid: 'm_7', title: 'Get started', payload: 'START' } }),
      event: { kind: 'message', key: 'm_7', text: 'Get started' },
    },
    {
      name: 'a press of a postback button',
      body: bodyOf({ ...base, postback: { mid: 'm_8', title: 'Once', payload: 'ask:1:0' } }),
      event: { kind: 'press', pressId: 'm_8', data: 'ask:1:0' },
    },
    {
      name: 'one known event among others',
      body: bodyOf(null, 7, { ...base, read: { watermark: 1 } }, { ...base, message: { mid: 'm_9', text: 'x' } }),
      event: { key: 'm_9', text: 'x' },
    },
  ]

  testChannel(() => {
    const { api, token } = createMetaApi()
    const connectionOf = (name: string) => ({
      apiBase: channel.apiBase.variable === 'MESSENGER_API_BASE' ? 'https://messenger.test' : 'https://instagram.test',
      secrets: { [tokenName]: token, app_secret: `app-${name}`, verify_token: `verify-${name}`, [account]: own },
      webhookUrl,
      fetchForeign,
    })
    const file = (name: string) => ({ kind: 'document' as const, reference: `https://messenger.test/${name}` })
    return {
      channel,
      connection: connectionOf('1'),
      other: connectionOf('2'),
      maxEventsPerRequest: 3,
      signs: { body: true, time: false },
      chats: { direct: { chat: person.id }, group: { chat: person.id } },
      person,
      hasNoGroups: true,
      unknownFailures: ['format'],
      media: { known: file('file-1'), bytes: metaFile, unknown: file('file-2') },
      targets: { known: { chat: person.id }, unknown: { chat: 'anna' } },
      samples,
      ignored: [
        { name: 'its own message', body: messageOf({ text: 'x', is_echo: true, app_id: 1 }) },
        { name: 'a message that the account sent itself', body: messageOf({ text: 'x' }, { sender: { id: own } }) },
        { name: 'a message that was taken back', body: messageOf({ is_deleted: true }) },
        { name: 'a receipt', body: bodyOf({ ...base, read: { watermark: 1 } }) },
        { name: 'a reaction', body: bodyOf({ ...base, reaction: { mid: 'm_1', action: 'react', emoji: 'x' } }) },
        {
          name: 'a chat in which another app answers',
          body: JSON.stringify({
            object,
            entry: [{ id: own, standby: [{ ...base, message: { mid: 'm_1', text: 'x' } }] }],
          }),
        },
        {
          name: 'an event of another account',
          body: JSON.stringify({
            object,
            entry: [{ id: '999', messaging: [{ ...base, message: { mid: 'm_1', text: 'x' } }] }],
          }),
        },
        {
          name: 'an event of another product',
          body: messageOf({ text: 'x' }).replace(`"${object}"`, '"whatsapp_business_account"'),
        },
      ],
      encodeMessages: (messages) =>
        bodyOf(...messages.map(({ id, text }) => ({ ...base, message: { mid: `m_${id}`, text } }))),
      encodePress: ({ id, data }) =>
        bodyOf({ ...base, message: { mid: id, text: 'Once', quick_reply: { payload: data } } }),
      sign: async (body, { secrets }) => ({
        'x-hub-signature-256': `sha256=${toHex(await computeHmac('SHA-256', secrets['app_secret'] ?? '', body))}`,
      }),
      handshakes: [
        {
          name: 'the challenge',
          answer: '1158201444',
          request: {
            method: 'GET',
            url: new URL(`${webhookUrl}?hub.mode=subscribe&hub.verify_token=verify-1&hub.challenge=1158201444`),
            headers: new Headers(),
            body: new Uint8Array(),
            receivedAt: 1,
          },
        },
      ],
      api: { failNext: (failure) => api.overrideNext(failures(subcode)[failure]), texts: () => api.texts },
    }
  })
}

import { expect } from 'vitest'
import { computeHmac } from '#channels/hmac.ts'
import { whatsapp } from '#channels/whatsapp/whatsapp.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createWhatsappApi, graphError, whatsappFile } from '../../support/whatsapp-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'
import { toHex } from '#durable/platform/hash.ts'

const webhookUrl = 'https://talaria.test/webhooks/whatsapp/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () =>
    new Response('{"error":{"code":130429,"message":"Rate limit hit"}}', {
      status: 429,
      headers: { 'retry-after': '2' },
    }),
  unavailable: () => new Response('<html>', { status: 503 }),
  lost: 'lost',
  forbidden: () => graphError(400, 131_026, 'Message undeliverable'),
  'too-long': () => graphError(400, 100, 'Param text.body must be at most 4096 characters long'),
  format: () => graphError(400, 1, ''),
  window: () => graphError(400, 131_047, 'Re-engagement message'),
}

const valueOf = (value: object, metadata = { display_phone_number: '15550001111', phone_number_id: 'PNID' }) =>
  JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [
      { id: 'WABA', changes: [{ field: 'messages', value: { messaging_product: 'whatsapp', metadata, ...value } }] },
    ],
  })
const contacts = [{ profile: { name: 'T' }, wa_id: '15550002222' }]
const base = { from: '15550002222', id: 'wamid.1', timestamp: '1772998024' }
const person = { id: '15550002222', name: 'T', aliases: [] }
const messageOf = (fields: object) => valueOf({ contacts, messages: [{ ...base, ...fields }] })

const samples = [
  {
    name: 'a text',
    body: messageOf({ type: 'text', text: { body: 'hi' } }),
    event: { key: 'wamid.1', text: 'hi', sender: person },
  },
  {
    name: 'a picture with a caption',
    body: messageOf({ type: 'image', image: { id: '9', mime_type: 'image/jpeg', caption: 'look' } }),
    event: { text: 'look', media: [{ kind: 'image', reference: '9', mime: 'image/jpeg' }] },
  },
  {
    name: 'a voice message',
    body: messageOf({ type: 'audio', audio: { id: '9', mime_type: 'audio/ogg; codecs=opus', voice: true } }),
    event: { text: '', media: [{ kind: 'voice', reference: '9', mime: 'audio/ogg; codecs=opus' }] },
  },
  {
    name: 'an answer to a message',
    body: messageOf({ type: 'text', text: { body: 'why?' }, context: { from: '15550001111', id: 'wamid.0' } }),
    event: { quote: { messageId: 'wamid.0', sender: { id: '15550001111', name: '15550001111' } } },
  },
  {
    name: 'a person without a visible number',
    body: valueOf({
      contacts: [{ profile: { name: 'T' }, user_id: 'US.1349' }],
      messages: [{ id: 'wamid.2', from_user_id: 'US.1349', type: 'text', text: { body: 'hi' } }],
    }),
    event: { address: { chat: 'US.1349' }, sender: { id: 'US.1349', name: 'T', aliases: [] } },
  },
  {
    name: 'a person with both ids',
    body: valueOf({
      contacts: [{ profile: { name: 'T' }, wa_id: '15550002222', user_id: 'US.1349' }],
      messages: [{ ...base, type: 'text', text: { body: 'hi' } }],
    }),
    event: { sender: { ...person, aliases: ['US.1349'] } },
  },
  {
    name: 'a failed message, among others',
    body: valueOf({
      statuses: [
        { id: 'wamid.8', status: 'read', recipient_id: '15550002222' },
        { id: 'wamid.8', status: 'delivered', recipient_id: '15550002222' },
        {
          id: 'wamid.9',
          status: 'failed',
          recipient_id: '15550002222',
          errors: [{ code: 131_047, title: 'Re-engagement message' }],
        },
      ],
    }),
    event: {
      kind: 'lifecycle',
      change: 'not-delivered',
      messageId: 'wamid.9',
      outcome: { kind: 'window', detail: expect.any(String) },
    },
  },
  {
    name: 'a new number',
    body: messageOf({ type: 'system', system: { type: 'user_changed_number', wa_id: '15550003333' } }),
    event: { kind: 'lifecycle', change: 'moved', to: '15550003333', address: { chat: '15550002222' } },
  },
  {
    name: 'one known message among unknown ones and those of another number',
    body: JSON.stringify({
      object: 'whatsapp_business_account',
      entry: [
        messageOf({ type: 'text', text: { body: 'x' } }),
        valueOf(
          { messages: [{ ...base, type: 'text', text: { body: 'y' } }] },
          { display_phone_number: '1', phone_number_id: 'OTHER' },
        ),
      ]
        .flatMap((one) => (JSON.parse(one) as { entry: object[] }).entry)
        .concat([{ changes: [{ field: 'account_update', value: null }] }]),
    }),
    event: { text: 'x' },
  },
]

testChannel(() => {
  const { api, token } = createWhatsappApi()
  const connectionOf = (name: string) => ({
    apiBase: 'https://whatsapp.test',
    secrets: {
      access_token: token,
      app_secret: `app-${name}`,
      verify_token: `verify-${name}`,
      phone_number_id: 'PNID',
    },
    webhookUrl,
    fetchForeign,
  })
  const challenge = '?hub.mode=subscribe&hub.verify_token=verify-1&hub.challenge=1158201444'
  return {
    channel: whatsapp,
    connection: connectionOf('1'),
    other: connectionOf('2'),
    maxEventsPerRequest: 3,
    signs: { body: true, time: false },
    chats: { direct: { chat: '15550002222' }, group: { chat: 'Y2FwaV9ncm91cDoxNzA1NTU1' } },
    person: { id: '15550002222', name: 'Anna', aliases: [] },
    unknownFailures: ['format'],
    media: {
      known: { kind: 'document', reference: 'file-1' },
      bytes: whatsappFile,
      unknown: { kind: 'document', reference: 'file-2' },
    },
    targets: { known: { chat: '15550002222' }, unknown: { chat: 'anna' } },
    samples,
    encodeMessages: (messages) =>
      valueOf({
        contacts: [{ profile: { name: 'Anna' }, wa_id: '15550002222' }],
        messages: messages.map(({ id, chat, isGroup, sender, text }) => ({
          id: `wamid.${id}`,
          from: sender.id,
          ...(isGroup && { group_id: chat }),
          type: 'text',
          text: { body: text },
        })),
      }),
    encodePress: ({ id, data }) =>
      valueOf({
        contacts: [{ profile: { name: 'Anna' }, wa_id: '15550002222' }],
        messages: [
          {
            ...base,
            id,
            type: 'interactive',
            context: { id: 'wamid.0' },
            interactive: { type: 'button_reply', button_reply: { id: data, title: 'Once' } },
          },
        ],
      }),
    sign: async (body, { secrets }) => ({
      'x-hub-signature-256': `sha256=${toHex(await computeHmac('SHA-256', secrets['app_secret'] ?? '', body))}`,
    }),
    handshakes: [
      {
        name: 'the challenge',
        answer: '1158201444',
        request: {
          method: 'GET',
          url: new URL(webhookUrl + challenge),
          headers: new Headers(),
          body: new Uint8Array(),
          receivedAt: 1,
        },
      },
    ],
    api: {
      failNext: (failure) => api.overrideNext(failures[failure]),
      texts: () => api.texts,
      files: () => api.files,
      calls: () => api.calls.map(({ body }) => body),
    },
  }
})

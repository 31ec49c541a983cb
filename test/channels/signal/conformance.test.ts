import type { ChannelConnection } from '#channels/channel.ts'
import { signal } from '#channels/signal/signal.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createSignalApi, signalError, signalFile, signalPerson, signalUuid } from '../../support/signal-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/signal/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () => new Response('{"error":"Rate limit exceeded"}', { status: 429, headers: { 'retry-after': '2' } }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () => signalError('Unregistered user "+1"'),
  'too-long': () => signalError('Message too long'),
  format: () => signalError('x'),
  window: () => signalError('x'),
}

const own = '+15550001111'
const person = { id: signalPerson, name: 'Anna', aliases: [signalUuid] }
const group = `group.${btoa('G1==')}`
const envelopeOf = (fields: object, more: object = {}) =>
  JSON.stringify({
    envelope: { sourceNumber: signalPerson, sourceUuid: signalUuid, sourceName: 'Anna', timestamp: 17, ...fields },
    account: own,
    ...more,
  })
const messageOf = (data: object, more: object = {}) => envelopeOf({ dataMessage: { timestamp: 17, ...data }, ...more })

testChannel(() => {
  const { api, secrets } = createSignalApi()
  const connection: ChannelConnection = { apiBase: 'https://signal.test', secrets, webhookUrl, fetchForeign }
  return {
    channel: signal,
    connection,
    other: { ...connection, secrets: { ...secrets, webhook_secret: 'o'.repeat(20) } },
    maxEventsPerRequest: 1,
    signs: { body: false, time: false },
    chats: { direct: { chat: signalPerson }, group: { chat: group } },
    person,
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'document', reference: 'file1' },
      bytes: signalFile,
      unknown: { kind: 'document', reference: 'file2' },
    },
    targets: { known: { chat: signalPerson }, unknown: { chat: 'group.none' } },
    samples: [
      {
        name: 'a message in JSON-RPC, of a person without a number',
        body: JSON.stringify({
          jsonrpc: '2.0',
          method: 'receive',
          params: { envelope: { sourceUuid: signalUuid, timestamp: 18, dataMessage: { message: 'hi' } } },
        }),
        event: { text: 'hi', sender: { id: signalUuid, name: signalUuid, aliases: [] }, address: { chat: signalUuid } },
      },
      {
        name: 'a mention in a group',
        body: messageOf({
          message: '\uFFFC ask \uFFFC',
          groupInfo: { groupId: 'G1==', type: 'DELIVER' },
          mentions: [
            { start: 0, length: 1, number: own, name: 'Talaria' },
            { start: 6, length: 1, uuid: 'u2', name: 'Bob' },
          ],
        }),
        event: { text: '@Talaria ask @Bob', isGroup: true, mentions: [own, 'u2'], address: { chat: group } },
      },
      {
        name: 'an answer to the bot',
        body: messageOf({ message: 'why?', quote: { id: 16, authorNumber: own, text: 'the plan' } }),
        event: { text: 'why?', quote: { messageId: '16', sender: { id: own, name: own }, text: 'the plan' } },
      },
      {
        name: 'a voice message',
        body: messageOf({
          message: null,
          attachments: [{ id: 'file1', contentType: 'audio/aac', size: 3, voiceNote: true }],
        }),
        event: { text: '', media: [{ kind: 'voice', reference: 'file1', mime: 'audio/aac', bytes: 3 }] },
      },
      {
        name: 'an edit',
        body: envelopeOf({
          timestamp: 19,
          editMessage: { targetSentTimestamp: 17, dataMessage: { timestamp: 19, message: 'new' } },
        }),
        event: { kind: 'edit', messageId: '17', text: 'new', key: `${signalUuid}:19` },
      },
      {
        name: 'a reaction that chooses',
        body: messageOf({ reaction: { emoji: '2️⃣', targetAuthorNumber: own, targetSentTimestamp: 16 } }),
        event: { text: '2', mentions: [own] },
      },
      { name: 'a sticker', body: messageOf({ sticker: { emoji: '😀' } }), event: { text: '[sticker: 😀]' } },
      {
        name: 'a contact',
        body: messageOf({ contacts: [{ name: { display: 'Bob' }, phone: [{ value: '+1555' }] }] }),
        event: { text: '[contact: Bob, +1555]' },
      },
      {
        name: 'something unknown',
        body: messageOf({}),
        event: { text: '[a message of a kind that cannot be read here]' },
      },
    ],
    ignored: [
      { name: 'a receipt', body: envelopeOf({ receiptMessage: { isRead: true } }) },
      { name: 'a typing indicator', body: envelopeOf({ typingMessage: { action: 'STARTED' } }) },
      {
        name: 'its own message of another device',
        body: envelopeOf({ syncMessage: { sentMessage: { message: 'x' } } }),
      },
      { name: 'its own message', body: messageOf({ message: 'hi' }, { sourceNumber: own }) },
      { name: 'another reaction', body: messageOf({ reaction: { emoji: '👍', targetAuthorNumber: own } }) },
      {
        name: 'a number below a message of another person',
        body: messageOf({ reaction: { emoji: '1️⃣', targetAuthorNumber: '+2' } }),
      },
      { name: 'a change of the group', body: messageOf({ groupInfo: { groupId: 'G1==', type: 'UPDATE' } }) },
    ],
    encodeMessages: ([message]) =>
      messageOf(
        {
          timestamp: Number(message?.id),
          message: message?.text,
          ...(message?.isGroup && { groupInfo: { groupId: 'G1==', type: 'DELIVER' } }),
        },
        { timestamp: Number(message?.id) },
      ),
    prove: async (request, { secrets: { webhook_secret: secret } }) => ({
      ...request,
      url: new URL(`${webhookUrl}/${secret}`),
    }),
    handshakes: [],
    api: {
      failNext: (failure) => api.overrideNext(failures[failure]),
      texts: () => api.texts,
      files: () => api.files,
      calls: () =>
        api.callsTo('/v2/send').map(({ body }) => (body['message'] === '' ? {} : { caption: body['message'] })),
    },
  }
})

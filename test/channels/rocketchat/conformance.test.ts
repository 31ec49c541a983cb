import type { ChannelConnection } from '#channels/channel.ts'
import { rocketchat } from '#channels/rocketchat/rocketchat.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import { createRocketApi, hookFile, rocketError, rocketRoom } from '../../support/hook-apis.ts'
import type { Override } from '../../support/json-api.ts'
import { proveByToken } from '../../support/prove-by-token.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/rocketchat/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () =>
    new Response('{"success":false,"error":"Error, too many requests."}', {
      status: 429,
      headers: { 'retry-after': '2' },
    }),
  unavailable: () => new Response('<html>', { status: 502 }),
  lost: 'lost',
  forbidden: () => rocketError(400, 'Not allowed', 'error-not-allowed'),
  'too-long': () => rocketError(400, 'Message size exceeds Message_MaxAllowedSize', 'error-message-size-exceeded'),
  format: () => rocketError(400, 'x'),
  window: () => rocketError(400, 'x'),
}

const messageOf = (fields: object) =>
  JSON.stringify({
    bot: false,
    channel_id: rocketRoom,
    message_id: 'm1',
    timestamp: '2026-11-27T10:00:00Z',
    user_id: '11',
    user_name: 'Anna',
    text: 'hi',
    ...fields,
  })

testChannel(() => {
  const { api, secrets } = createRocketApi()
  const connection: ChannelConnection = { apiBase: 'https://rocketchat.test', secrets, webhookUrl, fetchForeign }
  return {
    channel: rocketchat,
    connection,
    other: { ...connection, secrets: { ...secrets, token: 'other' } },
    maxEventsPerRequest: 1,
    signs: { body: false, time: false },
    chats: { direct: { chat: rocketRoom }, group: { chat: 'GENERAL' } },
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'document', reference: 'file1' },
      bytes: hookFile,
      unknown: { kind: 'document', reference: 'file2' },
    },
    targets: { known: { chat: rocketRoom }, unknown: { chat: 'none' } },
    samples: [
      {
        name: 'a mention in a thread of a channel',
        body: messageOf({ channel_id: 'GENERAL', channel_name: 'general', text: '@Talaria hi a@b.test', tmid: 'm0' }),
        event: { isGroup: true, mentions: ['talaria'], address: { chat: 'GENERAL', thread: 'm0' }, key: 'm1' },
      },
      {
        name: 'an edit',
        body: messageOf({ isEdited: true, text: 'new' }),
        event: { kind: 'edit', messageId: 'm1', text: 'new' },
      },
      {
        name: 'a message that is only a file',
        body: messageOf({ text: '' }),
        event: { text: '', media: [{ kind: 'document', reference: 'm1' }] },
      },
      {
        name: 'a message of an integration',
        body: messageOf({ bot: true, alias: 'CI' }),
        event: { sender: { id: '11', name: 'CI', isBot: true } },
      },
    ],
    ignored: [{ name: 'its own message', body: messageOf({ user_id: secrets.user_id }) }],
    encodeMessages: ([message]) =>
      messageOf({
        message_id: message?.id,
        text: message?.text,
        channel_id: message?.chat,
        ...(message?.isGroup && { channel_name: 'general' }),
      }),
    prove: proveByToken,
    handshakes: [],
    api: {
      failNext: (failure) => api.overrideNext(failures[failure]),
      texts: () => api.texts,
      files: () => api.files,
      calls: () =>
        api.callsTo(/mediaConfirm/).map(({ body }) => (body['msg'] === undefined ? {} : { caption: body['msg'] })),
    },
  }
})

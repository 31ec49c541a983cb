import { expect } from 'vitest'
import { sms } from '#channels/sms/sms.ts'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createTwilioApi, signTwilioForm, twilioError, twilioFile } from '../../support/twilio-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const webhookUrl = 'https://talaria.test/webhooks/sms/ch_1'
const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () =>
    new Response('{"code":20429,"message":"Too Many Requests"}', { status: 429, headers: { 'retry-after': '2' } }),
  unavailable: () => new Response('<html>', { status: 503 }),
  lost: 'lost',
  forbidden: () => twilioError(400, 21_610, 'Attempt to send to unsubscribed recipient'),
  'too-long': () => twilioError(400, 21_617, 'The concatenated message body exceeds the 1600 character limit'),
  format: () => twilioError(400, 1, ''),
  window: () => twilioError(400, 1, ''),
}
const formOf = (fields: Record<string, string>) => new URLSearchParams(fields).toString()
const base = { MessageSid: 'SM1', AccountSid: 'AC1', From: '+15550002222', To: '+15550001111', SmsStatus: 'received' }
const samples = [
  {
    name: 'a text',
    body: formOf({ ...base, Body: 'hi', NumMedia: '0' }),
    event: { key: 'SM1', text: 'hi', address: { chat: '+15550002222' } },
  },
  {
    name: 'a picture',
    body: formOf({
      ...base,
      Body: '',
      NumMedia: '1',
      MediaUrl0: 'https://api.twilio.com/m',
      MediaContentType0: 'image/png',
    }),
    event: { text: '', media: [{ kind: 'image', reference: 'https://api.twilio.com/m', mime: 'image/png' }] },
  },
  {
    name: 'the word STOP',
    body: formOf({ ...base, Body: 'Stop', OptOutType: 'STOP' }),
    event: { kind: 'lifecycle', change: 'removed' },
  },
  {
    name: 'the word STOP without its type',
    body: formOf({ ...base, Body: ' stop\n' }),
    event: { kind: 'lifecycle', change: 'removed' },
  },
  {
    name: 'the word UNSTOP',
    body: formOf({ ...base, Body: 'Unstop' }),
    event: { kind: 'lifecycle', change: 'added' },
  },
  {
    name: 'a sentence with the word STOP',
    body: formOf({ ...base, Body: 'Stop the server' }),
    event: { kind: 'message', text: 'Stop the server' },
  },
  {
    name: 'a message that did not arrive',
    body: formOf({
      MessageSid: 'SM9',
      MessageStatus: 'undelivered',
      To: '+15550002222',
      From: '+15550001111',
      ErrorCode: '30003',
    }),
    event: {
      kind: 'lifecycle',
      change: 'not-delivered',
      messageId: 'SM9',
      outcome: { kind: 'forbidden', detail: expect.any(String) },
    },
  },
]

testChannel(() => {
  const { api, sid, token } = createTwilioApi()
  const connectionOf = (auth_token: string) => ({
    apiBase: 'https://twilio.test',
    secrets: { account_sid: sid, auth_token, from: '+15550001111' },
    webhookUrl,
    fetchForeign,
  })
  return {
    channel: sms,
    connection: connectionOf(token),
    other: connectionOf('another-token'),
    maxEventsPerRequest: 1,
    // The signature covers the fields of the form, not its bytes (signatures.test.ts).
    signs: { body: false, time: false },
    chats: { direct: { chat: '+15550002222' }, group: { chat: '+15550002222' } },
    person: { id: '+15550002222', name: 'Anna' },
    hasNoGroups: true,
    unknownFailures: ['format', 'window'],
    media: {
      known: { kind: 'document', reference: 'https://twilio.test/media/known' },
      bytes: twilioFile,
      unknown: { kind: 'document', reference: 'https://twilio.test/media/unknown' },
    },
    targets: { known: { chat: '+15550002222' }, unknown: { chat: 'anna' } },
    samples,
    encodeMessages: ([message]) =>
      formOf({
        ...base,
        MessageSid: `SM${message?.id}`,
        From: message?.sender.id ?? '',
        ProfileName: message?.sender.name ?? '',
        Body: message?.text ?? '',
      }),
    sign: (body, { secrets }) => signTwilioForm(webhookUrl, body, secrets['auth_token'] ?? ''),
    handshakes: [],
    api: { failNext: (failure) => api.overrideNext(failures[failure]), texts: () => api.texts },
  }
})

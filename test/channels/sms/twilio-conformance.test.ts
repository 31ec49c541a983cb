/** Tests WhatsApp and RCS through Twilio. conformance.test.ts tests SMS over the same code. */

import { rcs } from '#channels/sms/rcs.ts'
import { twilioWhatsapp } from '#channels/sms/twilio-whatsapp.ts'
import { expect, it } from 'vitest'
import { fetchForeign } from '../../support/fetch-foreign.ts'
import type { Override } from '../../support/json-api.ts'
import { createTwilioApi, signTwilioForm, twilioError, twilioFile } from '../../support/twilio-api.ts'
import { type ApiFailure, testChannel } from '../conformance.ts'

const failures: Readonly<Record<ApiFailure, Override>> = {
  busy: () =>
    new Response('{"code":20429,"message":"Too Many Requests"}', { status: 429, headers: { 'retry-after': '2' } }),
  unavailable: () => new Response('<html>', { status: 503 }),
  lost: 'lost',
  forbidden: () => twilioError(400, 21_610, 'Attempt to send to unsubscribed recipient'),
  'too-long': () => twilioError(400, 21_617, 'The concatenated message body exceeds the 1600 character limit'),
  format: () => twilioError(400, 1, ''),
  window: () => twilioError(400, 63_016, 'Failed to send freeform message because you are outside the allowed window'),
}
const formOf = (fields: Record<string, string>) => new URLSearchParams(fields).toString()
const platforms = [
  { channel: twilioWhatsapp, prefix: 'whatsapp:', from: '+15550001111' },
  { channel: rcs, prefix: 'rcs:', from: 'brand_agent' },
]

for (const { channel, prefix, from } of platforms) {
  const webhookUrl = `https://talaria.test/webhooks/${channel.platform}/ch_1`
  const base = { MessageSid: 'SM1', AccountSid: 'AC1', From: `${prefix}+15550002222`, To: prefix + from }
  const sampleOf = (fields: Record<string, string>) => formOf({ ...base, Body: '', ...fields })
  const chat = '+15550002222'

  const samples = [
    {
      name: 'a text without the prefix of its sender',
      body: sampleOf({ Body: 'hi', ProfileName: 'Anna' }),
      event: { key: 'SM1', text: 'hi', address: { chat }, sender: { id: chat, name: 'Anna' } },
    },
    {
      name: 'a picture',
      body: sampleOf({ NumMedia: '1', MediaUrl0: 'https://api.twilio.com/m', MediaContentType0: 'image/png' }),
      event: { text: '', media: [{ kind: 'image', reference: 'https://api.twilio.com/m', mime: 'image/png' }] },
    },
    {
      name: 'a place',
      body: sampleOf({ Latitude: '1.5', Longitude: '2.5', Label: 'Office', Address: 'Street 1' }),
      event: { text: '[location: Office, Street 1, 1.5, 2.5]' },
    },
    {
      name: 'a forwarded message',
      body: sampleOf({ Body: 'Pay now', Forwarded: 'true' }),
      event: { text: '[Forwarded:]\nPay now' },
    },
    {
      name: 'an answer to a message',
      body: sampleOf({ Body: 'why?', OriginalRepliedMessageSid: 'SM0' }),
      event: { text: 'why?', quote: { messageId: 'SM0' } },
    },
    {
      name: 'a word that Twilio took as the end of a subscription',
      body: sampleOf({ Body: 'Stop', OptOutType: 'STOP' }),
      event: { kind: 'lifecycle', change: 'removed' },
    },
    {
      name: 'a message outside of the window',
      body: formOf({ ...base, MessageStatus: 'undelivered', To: `${prefix}${chat}`, ErrorCode: '63016' }),
      event: {
        kind: 'lifecycle',
        change: 'not-delivered',
        address: { chat },
        outcome: { kind: 'window', detail: expect.any(String) },
      },
    },
  ]

  testChannel(() => {
    const { api, sid, token } = createTwilioApi()
    const connectionOf = (auth_token: string) => ({
      apiBase: 'https://twilio.test',
      secrets: { account_sid: sid, auth_token, from },
      webhookUrl,
      fetchForeign,
    })
    const file = (name: string) => ({ kind: 'document' as const, reference: `https://twilio.test/media/${name}` })
    return {
      channel,
      connection: connectionOf(token),
      other: connectionOf('another-token'),
      maxEventsPerRequest: 1,
      // The signature covers the fields of the form, not its bytes (signatures.test.ts).
      signs: { body: false, time: false },
      chats: { direct: { chat }, group: { chat } },
      person: { id: chat, name: 'Anna' },
      hasNoGroups: true,
      unknownFailures: ['format'],
      media: { known: file('known'), bytes: twilioFile, unknown: file('unknown') },
      targets: { known: { chat }, unknown: { chat: 'anna' } },
      samples,
      ignored: [
        { name: 'a receipt', body: formOf({ ...base, MessageStatus: 'delivered' }) },
        { name: 'a message of another channel', body: sampleOf({ Body: 'x', From: `messenger:${chat}` }) },
      ],
      encodeMessages: ([message]) =>
        sampleOf({
          MessageSid: `SM${message?.id}`,
          From: `${prefix}${message?.sender.id}`,
          ProfileName: message?.sender.name ?? '',
          Body: message?.text ?? '',
        }),
      sign: (body, { secrets }) => signTwilioForm(webhookUrl, body, secrets['auth_token'] ?? ''),
      handshakes: [],
      api: { failNext: (failure) => api.overrideNext(failures[failure]), texts: () => api.texts },
    }
  })
}

async function sendFrom(channel: typeof rcs, from: string, text = '**Hi**') {
  const { api, sid, token } = createTwilioApi()
  const connection = {
    apiBase: 'https://twilio.test',
    secrets: { account_sid: sid, auth_token: token, from },
    webhookUrl: 'https://talaria.test/webhooks/x/ch_1',
    fetchForeign,
  }
  const [chunk] = channel.render(text, 'markdown')
  await channel.send(connection, { address: { chat: '+15550002222' }, chunk: chunk! }, 'k1')
  return api.calls[0]?.body
}

it('writes the prefix of the channel before both numbers, and its marks', async () => {
  expect(await sendFrom(twilioWhatsapp, '+15550001111')).toEqual({
    To: 'whatsapp:+15550002222',
    From: 'whatsapp:+15550001111',
    Body: '*Hi*',
    StatusCallback: 'https://talaria.test/webhooks/x/ch_1',
  })
  expect(await sendFrom(rcs, 'brand_agent')).toMatchObject({
    To: 'rcs:+15550002222',
    From: 'rcs:brand_agent',
    Body: 'Hi',
  })
})

it('lets a messaging service of RCS fall back to SMS, and accepts the answer', async () => {
  expect(await sendFrom(rcs, 'MG1')).toMatchObject({ To: '+15550002222', MessagingServiceSid: 'MG1' })
})

it('reads a number with or without the prefix of the channel', () => {
  const ids = ['whatsapp:+1 (555) 000-2222', '+15550002222', '15550002222'].map((id) =>
    twilioWhatsapp.normalizeId?.(id),
  )
  expect(ids).toEqual(Array.from({ length: 3 }, () => '+15550002222'))
})

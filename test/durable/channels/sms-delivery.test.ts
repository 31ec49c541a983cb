/** Tests the delivery of SMS, a platform that shows no typing and has no idempotency keys. */

import { beforeAll, expect, it } from 'vitest'
import { duplicateMark } from '#agent/policy/delivery-attempt.ts'
import { computeHmac } from '#channels/hmac.ts'
import { getSessionId, listOutbox, settleDeliveries } from '../../support/chat.ts'
import { model, says, until } from '../../support/scripted-model.ts'
import { createTwilioApi } from '../../support/twilio-api.ts'
import { applyMigrations, call, request } from '../../worker/client.ts'

beforeAll(applyMigrations)

const person = '+15550002222'

async function createPhone(reply: string) {
  const { api, sid, token } = createTwilioApi()
  await call('PATCH', '/api/settings', { body: { model: { default: model([says(reply)]).id } } })
  const { body } = await call<{ id: string; webhook_url: string }>('POST', '/api/channels', {
    body: {
      platform: 'sms',
      secrets: { account_sid: sid, auth_token: token, from: '+15550001111' },
      settings: { allow_users: [person] },
    },
  })
  const receive = async (text: string) => {
    const fields = { Body: text, From: person, MessageSid: 'SM1', NumMedia: '0' }
    const signed = body.webhook_url + Object.entries(fields).flat().join('')
    const digest = await computeHmac('SHA-1', token, new TextEncoder().encode(signed))
    return request('POST', `/webhooks/sms/${body.id}`, {
      key: null,
      body: new TextEncoder().encode(new URLSearchParams(fields).toString()),
      headers: { 'x-twilio-signature': btoa(String.fromCodePoint(...digest)) },
    })
  }
  return { api, receive, session: await getSessionId({ channel: body.id }, person) }
}

it('a platform that refuses connections gets the answer once, when it is back', async () => {
  const { api, receive, session } = await createPhone('Hello.')
  api.isDown = true
  expect((await receive('hi')).status).toBe(200)
  const tries = async () => {
    const [row] = await listOutbox(session)
    return row ? (JSON.parse(row.body) as { custody: { tries: number } }).custody.tries : 0
  }
  await until(async () => (await tries()) >= 3)
  expect((await listOutbox(session)).map(({ state }) => state)).toEqual(['prepared'])
  api.isDown = false
  await settleDeliveries(session)
  expect(api.texts).toEqual([`${duplicateMark}Hello.`])
})

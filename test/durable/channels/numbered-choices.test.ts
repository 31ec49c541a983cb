/** Tests that a number alone answers on a platform without buttons. */

import { beforeAll, expect, it } from 'vitest'
import { calls, model, type Reply, says, until } from '../../support/scripted-model.ts'
import { createTwilioApi, signTwilioForm } from '../../support/twilio-api.ts'
import { applyMigrations, call, newTenant, request } from '../../worker/client.ts'

beforeAll(applyMigrations)

const person = '+15550002222'

async function createPhone(replies: readonly Reply[]) {
  const { key } = await newTenant()
  const { api, sid, token } = createTwilioApi()
  const scripted = model(replies)
  const rules = [{ do: 'ask', tool: 'terminal', match: '*' }]
  const settings = { model: { default: scripted.id }, approvals: { mode: 'manual', rules } }
  await call('PATCH', '/api/settings', { key, body: settings })
  const { body } = await call<{ id: string; webhook_url: string }>('POST', '/api/channels', {
    key,
    body: {
      platform: 'sms',
      secrets: { account_sid: sid, auth_token: token, from: '+15550001111' },
      settings: { allow_users: [person] },
    },
  })
  let count = 0
  const receive = async (text: string, sid = `SM${++count}`) => {
    const form = new URLSearchParams({ Body: text, From: person, MessageSid: sid, NumMedia: '0' })
    const bytes = new TextEncoder().encode(form.toString())
    const headers = await signTwilioForm(body.webhook_url, bytes, token)
    const answer = await request('POST', `/webhooks/sms/${body.id}`, { key: null, body: bytes, headers })
    expect(answer.status).toBe(200)
  }
  const requestsText = () => JSON.stringify(scripted.requests.at(-1)?.messages)
  return { api, receive, scripted, requestsText }
}

it('answers a question with its choice, and other texts as they are', async () => {
  const ask = calls({ name: 'clarify', input: { question: 'Which day?', choices: ['Monday', 'Tuesday'] } })
  const { api, receive, requestsText } = await createPhone([ask, ask, says('Done.')])
  await receive('plan it')
  await until(() => api.texts.length > 0)
  expect(api.texts).toEqual(['Which day?\n\n1. Monday\n2. Tuesday\n\nWrite a number, or an answer.'])
  await receive(' 2 ')
  await until(() => api.texts.length > 1)
  expect(requestsText()).toContain('\\"user_response\\":\\"Tuesday\\"')
  await receive('7')
  await until(() => api.texts.includes('Done.'))
  expect(requestsText()).toContain('\\"user_response\\":\\"7\\"')
})

it('decides an approval, once for every delivery of the number', async () => {
  const run = calls({ name: 'terminal', input: { command: 'echo x' } })
  const { api, receive, scripted, requestsText } = await createPhone([run, says('Ran.'), says('One?')])
  await receive('go')
  await until(() => api.texts.length > 0)
  expect(api.texts[0]).toMatch(/1\. Allow once\n.*Deny\n\nWrite a number, or \/approve or \/deny/s)
  await receive('1', 'SM-number')
  await until(() => api.texts.includes('Ran.'))
  await receive('1', 'SM-number')
  expect([scripted.requests.length, requestsText().includes('"1"')]).toEqual([2, false])
  // Nothing waits any more: a number is an ordinary message.
  await receive('1')
  await until(() => api.texts.includes('One?'))
})

it('denies by the number of the last choice', async () => {
  const run = calls({ name: 'terminal', input: { command: 'echo x' } })
  const { api, receive, requestsText } = await createPhone([run, says('Not run.')])
  await receive('go')
  await until(() => api.texts.length > 0)
  const number = /(\d)\. Deny/.exec(api.texts[0] ?? '')?.[1] ?? ''
  await receive(number)
  await until(() => api.texts.includes('Not run.'))
  expect(requestsText()).toMatch(/den(ied|y)/i)
})

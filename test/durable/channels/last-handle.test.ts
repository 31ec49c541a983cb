/** Tests that a platform on which a bot only answers gets each answer by a message that can still be answered. */

import { beforeAll, expect, it } from 'vitest'
import { calls, Gate, model, type Reply, says, until } from '../../support/scripted-model.ts'
import { createWecomApi, sealWecom, signWecom } from '../../support/wecom-api.ts'
import { applyMigrations, call, newTenant, request } from '../../worker/client.ts'

beforeAll(applyMigrations)

async function createBot(replies: readonly Reply[], settings: object = {}) {
  const { key } = await newTenant()
  const { api, code, secrets } = createWecomApi()
  api.isPatient = false
  const scripted = model(replies)
  const rules = [{ do: 'ask', tool: 'terminal', match: '*' }]
  const body = { model: { default: scripted.id }, approvals: { mode: 'manual', rules } }
  await call('PATCH', '/api/settings', { key, body })
  const made = await call<{ id: string; webhook_url: string }>('POST', '/api/channels', {
    key,
    body: { platform: 'wecom', secrets, settings: { allow_users: ['anna'], ...settings } },
  })
  let count = 0
  const receive = async (content: string) => {
    const message = {
      msgid: `m${++count}`,
      chattype: 'single',
      from: { userid: 'anna' },
      response_url: `https://qyapi.weixin.qq.com/cgi-bin/aibot/response?response_code=${code}-${count}`,
      msgtype: 'text',
      text: { content },
    }
    const encrypt = await sealWecom(JSON.stringify(message), secrets.encoding_aes_key)
    const url = await signWecom(new URL(made.body.webhook_url), encrypt, { token: secrets.token, at: Date.now() })
    const answer = await request('POST', url.pathname + url.search, { key: null, body: { encrypt } })
    expect(answer.status).toBe(200)
  }
  const used = () => api.calls.map(({ query }) => query.get('response_code')?.split('-').at(-1))
  return { api, receive, used }
}

it('an approval leaves by the first message, and the result by the message that decides', async () => {
  const run = calls({ name: 'terminal', input: { command: 'echo x' } })
  const { api, receive, used } = await createBot([run, says('Ran.'), says('Again.')])
  await receive('go')
  await until(() => api.texts.length > 0)
  expect(api.texts[0]).toContain('Allow once')
  await receive('1')
  await until(() => api.texts.includes('Ran.'))
  await receive('and now?')
  await until(() => api.texts.includes('Again.'))
  expect(used()).toEqual(['1', '2', '3'])
})

it('a message that waits keeps its own, and is not confirmed', async () => {
  const gate = new Gate()
  const { api, receive, used } = await createBot([[gate, ...(says('First.') as string[])], says('Second.')], {
    busy_mode: 'queue',
    busy_notice: true,
  })
  await receive('one')
  await gate.waitUntilReached()
  await receive('two')
  gate.open()
  await until(() => api.texts.includes('Second.'))
  expect([used(), api.texts]).toEqual([
    ['1', '2'],
    ['First.', 'Second.'],
  ])
})

/** Tests that a call is no repetition of one of an earlier turn that has the same id: some models number their calls anew. */

import { beforeAll, expect, it } from 'vitest'
import { createChat, receiveMessage } from '../support/chat.ts'
import { calls, model, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newSession, newTenant } from './client.ts'

beforeAll(applyMigrations)

/** A session in which each turn makes one call with the id `call_0`. */
async function numbered(key: string, name: string, inputs: readonly object[]) {
  const scripted = model((_, nth) =>
    nth % 2 ? says('done') : calls({ id: 'call_0', name, input: inputs[nth / 2] ?? {} }),
  )
  const { id } = await newSession({ model: scripted.id }, key)
  for (const _ of inputs) await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
}

it('a job, also one like an earlier one', async () => {
  const { key } = await newTenant()
  const job = { action: 'create', schedule: 'every 9h', prompt: 'Look for news.' }
  await numbered(key, 'cronjob', [job, { ...job, prompt: 'Look for rain.' }, job])
  const { data } = (await call<{ data: { prompt: string }[] }>('GET', '/api/jobs', { key })).body
  expect(data.map(({ prompt }) => prompt).toSorted()).toEqual(['Look for news.', 'Look for news.', 'Look for rain.'])
})

it('a memory that was taken back in between', async () => {
  const { key } = await newTenant()
  const add = { action: 'add', target: 'memory', content: 'Deploys happen on Friday.' }
  await numbered(key, 'memory', [add, { action: 'remove', target: 'memory', old_text: 'Deploys happen' }, add])
  expect(JSON.stringify((await call('GET', '/api/memory', { key })).body)).toContain('Deploys happen on Friday.')
})

it('a message to a chat', async () => {
  const { key } = await newTenant()
  const chat = await createChat([says('hello')], { admins: ['11'] }, key)
  await receiveMessage(chat, 'hi')
  await chat.api.waitForText('hello')
  await call('PATCH', '/api/settings', {
    key,
    body: { plugins: { enabled: ['send_message'] }, approvals: { mode: 'off' } },
  })
  const target = `${chat.channel}:11`
  await numbered(key, 'send_message', [
    { target, text: 'The first.' },
    { target, text: 'The second.' },
  ])
  await chat.api.waitForText('The second.')
  expect(chat.api.messageTexts.filter((text) => text.startsWith('The '))).toEqual(['The first.', 'The second.'])
})

/** Tests that secrets of a tenant and of the deployment appear in no result, event or error. */

import { beforeAll, expect, it } from 'vitest'
import { calls, model, says } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, newSession, newTenant } from './client.ts'

beforeAll(applyMigrations)

/** No pattern finds these: only their exact values do. */
const own = 'canary value of the tenant'.replaceAll(' ', '-')
const deployment = bindings.ADMIN_KEY ?? ''
const secrets = [own, deployment, btoa(`me:${own}`).slice(4, -4), encodeURIComponent(`${own}/`).slice(0, -3)]

it('tools return secrets masked, however they print them', async () => {
  const { key } = await newTenant()
  await call('POST', '/api/credentials', { key, body: { provider: 'xai', key: own } })
  const file = `a ${own}\nb ${deployment}\nc ${btoa(`me:${own}`)}\n`
  const script = [
    calls({ name: 'terminal', input: { command: 'cat leak.txt' } }),
    calls({ name: 'terminal', input: { command: 'base64 leak.txt' } }),
    calls({ name: 'read_file', input: { path: 'leak.txt' } }),
    calls({ name: 'search_files', input: { pattern: 'canary', path: '.' } }),
    calls({
      name: 'execute_code',
      input: { code: "const file = await read_file({ path: 'leak.txt' }); console.log(JSON.stringify(file))" },
    }),
    says('Done.'),
  ]
  const scripted = model(script)
  const { id } = await newSession({ model: scripted.id }, key)
  const url = `https://talaria.test/api/sessions/${id}/files/leak.txt`
  const { createApp } = await import('#worker/app.ts')
  const context = { waitUntil() {}, passThroughOnException() {} } as unknown as ExecutionContext
  const headers = { authorization: `Bearer ${key}` }
  await createApp().fetch(new Request(url, { method: 'PUT', headers, body: file }), bindings, context)
  const run = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'Look for leaks.' } })
  expect(run.body).toMatchObject({ status: 'completed', output: 'Done.' })
  const { body } = await call<{ data: { role: string; content: string }[] }>('GET', `/api/sessions/${id}/messages`, {
    key,
  })
  const results = body.data.filter(({ role }) => role === 'tool').map(({ content }) => content)
  expect(results).toHaveLength(5)
  for (const text of [...results, JSON.stringify(scripted.requests)])
    expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
  expect(results.filter((text) => text.includes('***'))).toHaveLength(5)
})

it('an error of a provider is shown without secrets', async () => {
  const { key } = await newTenant()
  await call('POST', '/api/credentials', { key, body: { provider: 'xai', key: own } })
  const scripted = model([
    { status: 400, body: JSON.stringify({ error: { message: `Bad key ${own} or ${deployment}` } }) },
  ])
  const { id } = await newSession({ model: scripted.id }, key)
  const run = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hi' } })
  expect(JSON.stringify(run.body)).toContain('Bad key ***')
  expect(secrets.filter((secret) => JSON.stringify(run.body).includes(secret))).toEqual([])
})

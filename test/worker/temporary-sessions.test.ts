/** Tests temporary chats: they work as others, are found nowhere, and the agent keeps nothing of them. */

import { beforeAll, expect, it, vi } from 'vitest'
import { clock } from '#durable/platform/clock.ts'
import { runDurableObjectAlarm } from 'cloudflare:test'
import { calls, model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

type Session = { readonly id: string; readonly source: string }

async function setUp(replies: Parameters<typeof model>[0]) {
  const { id: tenant, key } = await newTenant()
  const main = model(replies)
  const disabled = { toolsets: { disabled: ['web'] }, approvals: { mode: 'manual' } }
  await call('PATCH', '/api/settings', { key, body: disabled })
  const body = { temporary: true, model: main.id, source: 'web' }
  const { id } = (await call<Session>('POST', '/api/sessions', { key, body })).body
  const say = (input: string) => call('POST', `/api/sessions/${id}/chat`, { key, body: { input } })
  return { tenant, key, id, main, say }
}

it('is in no list and no search, gets no title by a model, and has no tools that keep something', async () => {
  const { key, id, main, say } = await setUp(() => says('The walrus.'))
  const { body } = await say('Which animal is it?')
  expect(body['output']).toBe('The walrus.')
  await say('And now?')
  const listed = async (query: string) => (await call<{ data: Session[] }>('GET', query, { key })).body.data
  expect(await listed('/api/sessions?archived=all')).toEqual([])
  expect(await listed('/api/search?q=walrus')).toEqual([])
  expect((await call<Session>('GET', `/api/sessions/${id}`, { key })).body.source).toBe('temporary')
  const tools = main.requests[0]?.tools?.map(({ function: { name } }) => name) ?? []
  expect(tools).toContain('read_file')
  for (const name of ['memory', 'skill_manage', 'cronjob', 'web_search']) expect(tools).not.toContain(name)
  expect(main.requests).toHaveLength(2)
  expect((await request('DELETE', `/api/sessions/${id}`, { key })).status).toBe(204)
  expect((await call('GET', `/api/sessions/${id}`, { key })).status).toBe(404)
})

it('asks before a dangerous call, as other chats of the page', async () => {
  const { key, id, say } = await setUp([
    calls({ name: 'terminal', input: { command: 'rm -rf /workspace' } }),
    says('ok'),
  ])
  void say('Clean up')
  type Page = { data: { session_id: string }[] }
  const waiting = async () =>
    (await call<Page>('GET', '/api/approvals', { key })).body.data.map((one) => one.session_id)
  await until(async () => (await waiting()).length > 0)
  expect(await waiting()).toEqual([id])
})

it('is deleted after a day without a message', async () => {
  const { tenant, key, id, say } = await setUp(() => says('Yes.'))
  await say('Are you there?')
  const stub = bindings.SESSION.getByName(`t/${tenant}/s/${id}`)
  const now = clock.now()
  const later = vi.spyOn(clock, 'now').mockImplementation(() => now + 23 * 3_600_000)
  await runDurableObjectAlarm(stub)
  expect((await call('GET', `/api/sessions/${id}`, { key })).status).toBe(200)
  later.mockImplementation(() => now + 25 * 3_600_000)
  await runDurableObjectAlarm(stub)
  later.mockRestore()
  expect((await call('GET', `/api/sessions/${id}`, { key })).status).toBe(404)
})

/** Tests the export of a tenant: it has everything of this tenant, nothing of another one, and no secret. */

import { beforeAll, expect, it } from 'vitest'
import { calls, model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, newSession, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

type Line = { readonly type: string; readonly [more: string]: unknown }

async function exportOf(id: string) {
  const response = await request('GET', `/api/admin/tenants/${id}/export`)
  const text = await response.text()
  const lines = text
    .trimEnd()
    .split('\n')
    .map((each) => JSON.parse(each) as Line)
  return { response, text, lines, of: (type: string) => lines.filter((each) => each.type === type) }
}

async function filledTenant(canary: string) {
  const tenant = await newTenant()
  const write = { name: 'write_file', input: { path: 'notes/a.txt', content: canary } }
  const { id } = await newSession(
    { model: model([calls(write), says(`${canary} answer`)]).id, title: canary },
    tenant.key,
  )
  await call('POST', `/api/sessions/${id}/chat`, { key: tenant.key, body: { input: `${canary} question` } })
  const provider = { base_url: 'https://models.example.com/v1', headers: { 'x-secret': `${canary}-header` } }
  const settings = { instructions: canary, providers: { 'custom:mine': provider } }
  expect((await call('PATCH', '/api/settings', { key: tenant.key, body: settings })).status).toBe(200)
  const credential = { provider: 'openai', key: `sk-${canary}-credential-0000` }
  await call('POST', '/api/credentials', { key: tenant.key, body: credential })
  const secret = { name: 'DEPLOY_TOKEN', value: `${canary}-secret-0000` }
  await call('POST', '/api/secrets', { key: tenant.key, body: secret })
  const entry = { name: 'bank', origins: ['https://bank.example.com'], fields: { password: `${canary}-secret-1111` } }
  await call('POST', '/api/vault', { key: tenant.key, body: entry })
  const content = `---\nname: notes\ndescription: ${canary}\n---\n\n${canary}\n`
  await call('POST', '/api/skills', { key: tenant.key, body: { name: 'notes', content } })
  const project = await call<{ id: string }>('POST', '/api/projects', { key: tenant.key, body: { name: canary } })
  await request('PUT', `/api/projects/${project.body.id}/files/a.txt`, { key: tenant.key, body: canary })
  for (const name of ['daily', 'weekly']) {
    const job = { name, prompt: canary, schedule: 'every 9h' }
    expect((await call('POST', '/api/jobs', { key: tenant.key, body: job })).status).toBe(201)
  }
  await bindings.BLOBS!.put(`t/${tenant.id}/s/${id}/attachment`, canary)
  await until(async () => (await exportOf(tenant.id)).of('session').length === 1)
  return { ...tenant, session: id }
}

it('has all data of the tenant, and none of another one', async () => {
  const [one, other] = [await filledTenant('canary-one'), await filledTenant('canary-two')]
  const { response, text, lines, of } = await exportOf(one.id)
  expect(response.headers.get('content-type')).toContain('application/x-ndjson')
  expect(lines[0]).toMatchObject({ type: 'export', format: 'talaria.tenant', version: 1, tenant_id: one.id })
  expect(lines.at(-1)).toEqual({ type: 'end', failed_sessions: [] })
  expect(of('tenant')).toMatchObject([{ id: one.id, status: 'active' }])
  expect(of('settings')).toMatchObject([{ settings: { instructions: 'canary-one' } }])
  expect(of('key')).toHaveLength(1)
  expect(of('credential')).toMatchObject([{ provider: 'openai', last_four: '0000' }])
  expect(of('secret')).toMatchObject([{ name: 'DEPLOY_TOKEN', last_four: '0000' }])
  expect(of('vault')).toMatchObject([{ name: 'bank', fields: ['password'], origins: ['https://bank.example.com'] }])
  expect(of('skill')).toMatchObject([{ name: 'notes', source: 'user', files: [{ path: 'SKILL.md' }] }])
  expect(text).toContain(btoa('---\nname: notes\ndescription: canary-one\n---\n\ncanary-one\n'))
  expect(of('project')).toMatchObject([{ name: 'canary-one', files: [{ path: 'a.txt', data: btoa('canary-one') }] }])
  expect(of('job')).toMatchObject([
    { name: 'weekly', prompt: 'canary-one', schedule: 'every 9h', state: 'scheduled' },
    { name: 'daily', prompt: 'canary-one' },
  ])
  expect(of('session')).toMatchObject([{ session_id: one.session, session: { session: { title: 'canary-one' } } }])
  expect(of('message').map(({ message }) => (message as { role: string }).role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
  ])
  expect(of('file')).toMatchObject([{ session_id: one.session, path: expect.stringContaining('notes/a.txt') }])
  expect(of('blob').map(({ key }) => key)).toContain(`t/${one.id}/s/${one.session}/attachment`)
  expect(of('usage').map(({ group }) => group)).toEqual(expect.arrayContaining(['day', 'model', 'session', 'source']))
  for (const foreign of ['canary-two', other.id, other.session, other.key]) expect(text).not.toContain(foreign)
})

it('has no secret', async () => {
  const tenant = await filledTenant('canary-three')
  const { text } = await exportOf(tenant.id)
  const [, , secret = ''] = tenant.key.split('_')
  for (const hidden of [tenant.key, secret, 'canary-three-header', 'canary-three-credential', 'canary-three-secret'])
    expect(text).not.toContain(hidden)
  const { results } = await bindings.DB.prepare('SELECT hash FROM api_key WHERE tenant_id = ?')
    .bind(tenant.id)
    .all<{ hash: string }>()
  expect(results.length).toBeGreaterThan(0)
  for (const { hash } of results) expect(text).not.toContain(hash)
})

it('is for the owner only, and of tenants that exist', async () => {
  const tenant = await newTenant()
  expect((await request('GET', `/api/admin/tenants/${tenant.id}/export`, tenant)).status).toBe(403)
  expect((await request('GET', '/api/admin/tenants/nobody/export')).status).toBe(404)
})

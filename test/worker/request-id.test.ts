import { beforeAll, expect, it, vi } from 'vitest'
import { applyMigrations, bindings, request } from './client.ts'

beforeAll(applyMigrations)

it.each([
  ['one that the client sent', { 'x-request-id': 'req-1.a:b' }, /^req-1\.a:b$/],
  ['a new one for an empty one', { 'x-request-id': '' }, /^[0-9a-f-]{36}$/],
  ['a new one for an unsafe one', { 'x-request-id': 'a b' }, /^[0-9a-f-]{36}$/],
])('a response has %s', async (_, headers, expected) => {
  for (const path of ['/api/sessions', '/health', '/api/nothing', '/v1/models'])
    expect((await request('GET', path, { headers })).headers.get('x-request-id'), path).toMatch(expected)
  expect((await request('GET', '/api/sessions', { key: null, headers })).headers.get('x-request-id')).toMatch(expected)
})

it('is in the log of an unexpected error, which has no key in it', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  await bindings.DB.exec('ALTER TABLE tenant RENAME TO tenant_gone')
  try {
    const response = await request('GET', '/api/admin/tenants', { headers: { 'x-request-id': 'req-7' } })
    expect(response.status).toBe(500)
  } finally {
    await bindings.DB.exec('ALTER TABLE tenant_gone RENAME TO tenant')
  }
  const line = JSON.parse(String(printed.mock.calls.at(-1)?.[0])) as Record<string, unknown>
  expect(line).toMatchObject({ level: 'error', event: 'request.failed', request_id: 'req-7' })
  printed.mockRestore()
})

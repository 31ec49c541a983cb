/** Tests that headers of custom providers are stored sealed, shown masked, and sent only to their address. */

import { runInDurableObject } from 'cloudflare:test'
import { beforeAll, expect, it } from 'vitest'
import { applyMigrations, bindings, call, newSession, newTenant } from './client.ts'

beforeAll(applyMigrations)

const secret = 'the-secret-of-the-header-1234'
const mine = (headers: object, base_url = 'https://llm.example.com/v1') => ({
  providers: { 'custom:mine': { base_url, headers } },
})
type Shown = { readonly providers?: Readonly<Record<string, { readonly headers?: object }>> }
const headersIn = (body: unknown) => (body as Shown).providers?.['custom:mine']?.headers

it('headers are sealed in the storage of the tenant, and every answer masks them', async () => {
  const { id, key } = await newTenant()
  const patched = await call('PATCH', '/api/settings', { key, body: mine({ 'x-team': secret }) })
  const shown = await call('GET', '/api/settings', { key })
  expect([headersIn(patched.body), headersIn(shown.body)]).toEqual([{ 'x-team': '****1234' }, { 'x-team': '****1234' }])
  const stored = await runInDurableObject(bindings.TENANT.getByName(`t/${id}`), (_, { storage }) =>
    JSON.stringify(storage.sql.exec('SELECT * FROM kept').toArray()),
  )
  expect(stored).toContain('sealed:1234:v2.')
  expect(stored).not.toContain('the-secret')
})

it('the shown value keeps the stored one, and another value replaces it', async () => {
  const { key } = await newTenant()
  await call('PATCH', '/api/settings', { key, body: mine({ 'x-team': secret }) })
  const { body } = await call('GET', '/api/settings', { key })
  expect((await call('PATCH', '/api/settings', { key, body })).status).toBe(200)
  expect(await sentHeader(key)).toBe(secret)
  await call('PATCH', '/api/settings', { key, body: mine({ 'x-team': 'another-secret-5678' }) })
  expect(await sentHeader(key)).toBe('another-secret-5678')
})

it('a changed address needs the headers again', async () => {
  const { key } = await newTenant()
  await call('PATCH', '/api/settings', { key, body: mine({ 'x-team': secret }) })
  const moved = mine({ 'x-team': '****1234' }, 'https://evil.example.com/v1')
  expect((await call('PATCH', '/api/settings', { key, body: moved })).status).toBe(400)
  const address = { providers: { 'custom:mine': { base_url: 'https://evil.example.com/v1' } } }
  expect((await call('PATCH', '/api/settings', { key, body: address })).status).toBe(400)
  const forged = mine({ 'x-team': 'sealed:1234:v2.0.a:b.c' })
  expect((await call('PATCH', '/api/settings', { key, body: forged })).status).toBe(400)
})

it('headers of a session are masked and sealed as well', async () => {
  const { id: tenant, key } = await newTenant()
  const { id, settings } = await newSession({ settings: mine({ 'x-team': secret }) }, key)
  expect(headersIn(settings)).toEqual({ 'x-team': '****1234' })
  const shown = await call<{ settings: object }>('GET', `/api/sessions/${id}`, { key })
  expect(headersIn(shown.body.settings)).toEqual({ 'x-team': '****1234' })
  const body = { settings: shown.body.settings }
  expect((await call('PATCH', `/api/sessions/${id}`, { key, body })).status).toBe(200)
  const rows = await runInDurableObject(bindings.SESSION.getByName(`t/${tenant}/s/${id}`), (_, { storage }) =>
    JSON.stringify(
      storage.sql
        .exec<{ name: string }>(
          "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'",
        )
        .toArray()
        .map(({ name }) => storage.sql.exec(`SELECT * FROM "${name}"`).toArray()),
    ),
  )
  expect(rows).toContain('sealed:1234:v2.')
  expect(rows).not.toContain('the-secret')
})

/** Runs a turn with the provider and returns the header that was sent. */
async function sentHeader(key: string): Promise<string | null> {
  const sent: (string | null)[] = []
  const outside = globalThis.fetch
  globalThis.fetch = async (input, init) => {
    const received = new Request(input as RequestInfo, { ...init, signal: null })
    if (!received.url.startsWith('https://llm.example.com/')) return outside(input as RequestInfo, init)
    sent.push(received.headers.get('x-team'))
    return Response.json({ choices: [{ message: { content: 'Done.' }, finish_reason: 'stop' }] })
  }
  try {
    const { id } = await newSession({ model: 'custom:mine/some-model' }, key)
    await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hi' } })
  } finally {
    globalThis.fetch = outside
  }
  return sent[0] ?? null
}

/** Tests that another tenant and keys without a scope cannot reach a session. */

import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from './support/client.ts'
import { owner, server, createTenant } from './support/here.ts'

type Probe = readonly [method: string, path: string, body?: unknown]

/** Every route that names a session, from the document that the server itself publishes. */
async function sessionRoutes(): Promise<readonly Probe[]> {
  const { json } = await owner.get('/openapi.json')
  return Object.entries(json.paths as Record<string, Record<string, unknown>>).flatMap(([path, methods]) =>
    path.startsWith('/api/sessions/{') ? Object.keys(methods).map((method): Probe => [method.toUpperCase(), path]) : [],
  )
}

const bodies: Record<string, unknown> = {
  '/chat': { input: 'hello' },
  '/chat/stream': { input: 'hello' },
  '/steer': { input: 'hello' },
  '/import': {},
  '/goal': { text: 'anything' },
  '/previews': { path: 'a.txt' },
  '/messages/{seq}/rating': { value: 'good' },
  '/checkpoints': { name: 'before' },
  '/browser/input': { type: 'key', key: 'Tab' },
  '/versions': { version: 'msg_1' },
  '/files/{path}/move': { to: 'b.txt' },
}

const filled = (path: string, session: string) =>
  path.replace(/\{(id|session_?[iI]d)\}/, session).replaceAll(/\{[^}]+\}/g, 'run_x')

async function probe(client: Client, [method, path]: Probe, session: string) {
  const ending = path.slice(path.indexOf('}') + 1)
  const raw = method === 'PUT' && !(ending in bodies) ? 'bytes' : undefined
  const bodied = raw === undefined && method !== 'GET' && method !== 'DELETE'
  const target = filled(path, session) + (ending === '/export' ? '?format=json' : '')
  const { status, text, headers } = await client.send(method, target, {
    ...(bodied && { body: bodies[ending] ?? {} }),
    ...(raw && { raw }),
  })
  return { status, text, type: headers.get('content-type') }
}

describe('another tenant', () => {
  let first: Awaited<ReturnType<typeof createTenant>>
  let second: Awaited<ReturnType<typeof createTenant>>
  let session: string
  let before: string

  beforeAll(async () => {
    first = await createTenant()
    second = await createTenant()
    session = await first.client.newSession({ title: 'Private' })
    await first.client.chat(session, '[[call write_file {"path":"a.txt","content":"zanzibar"} then say kept]]')
    before = (await first.client.get(`/api/sessions/${session}/messages`)).text
  })

  it('gets the same 404 bytes on every session route as for an unknown session', async () => {
    const probes = await sessionRoutes()
    expect(probes.length).toBeGreaterThan(10)
    for (const one of probes) {
      const foreign = await probe(second.client, one, session)
      const unknown = await probe(second.client, one, 'ses_00000000000000000000000000000000')
      expect([one, foreign]).toEqual([one, unknown])
      expect([one, foreign.status]).toEqual([one, 404])
    }
  })

  it('gets it for malformed ids as well', async () => {
    const unknown = await second.client.get('/api/sessions/ses_00000000000000000000000000000000')
    for (const id of ['x'.repeat(200), '%00', 'a%2Fb', 't%2Fdefault%2Fs%2Fx', '..%2F..', 'é', '%20']) {
      const { status, text } = await second.client.get(`/api/sessions/${id}`)
      expect([id, status, text]).toEqual([id, 404, unknown.text])
    }
  })

  it('cannot reach it over the header of the OpenAI route either', async () => {
    const body = { model: 'talaria', messages: [{ role: 'user', content: 'hello' }] }
    const ask = (id: string) => second.client.post('/v1/chat/completions', body, { 'x-talaria-session-id': id })
    const foreign = await ask(session)
    const unknown = await ask('ses_00000000000000000000000000000000')
    expect(foreign.status).toBe(404)
    expect(foreign.text).toBe(unknown.text)
  })

  it('neither lists nor finds it', async () => {
    const listed = await second.client.get('/api/sessions')
    expect(listed.json.data).toEqual([])
    expect((await second.client.get('/api/search?q=zanzibar')).json.data).toEqual([])
  })

  it('has changed nothing', async () => {
    expect((await first.client.get(`/api/sessions/${session}/messages`)).text).toBe(before)
    expect((await first.client.get(`/api/sessions/${session}`)).json.title).toBe('Private')
  })
})

describe('a key', () => {
  it('without the scope gets 403 by name, on each kind of route', async () => {
    const reader = await createTenant()
    const made = await owner.post('/api/admin/keys', { tenant_id: reader.id, scopes: ['read'] })
    const client = owner.as(made.json.key)
    expect((await client.get('/api/sessions')).status).toBe(200)
    const refused = await client.post('/api/sessions', {})
    expect(refused.status).toBe(403)
    expect(refused.json.error).toMatchObject({ code: 'insufficient_scope', param: 'chat' })
  })

  it('with the scope admin counts only in tenant default', async () => {
    const other = await createTenant()
    const made = await owner.post('/api/admin/keys', { tenant_id: other.id, scopes: ['admin', 'read'] })
    expect((await owner.as(made.json.key).get('/api/admin/tenants')).status).toBe(403)
  })

  it('is shown once', async () => {
    const { id, key } = await createTenant()
    const listed = await owner.get(`/api/admin/keys?tenant_id=${id}`)
    expect(listed.json.data).toHaveLength(1)
    expect(listed.text).not.toContain(key)
    expect(listed.json.data[0]).not.toHaveProperty('key')
  })

  it('that was revoked is refused', async () => {
    const { id, client } = await createTenant()
    expect((await client.get('/api/sessions')).status).toBe(200)
    const [{ id: keyId }] = (await owner.get(`/api/admin/keys?tenant_id=${id}`)).json.data
    expect((await owner.send('DELETE', `/api/admin/keys/${keyId}`)).status).toBe(204)
    expect((await client.get('/api/sessions')).status).toBe(401)
  })

  it('is needed on every route but the open ones', async () => {
    const nobody = owner.as(undefined)
    for (const path of ['/health', '/v1/health', '/openapi.json', '/docs', '/'])
      expect([path, (await nobody.get(path)).status]).toEqual([path, 200])
    const { json } = await nobody.get('/openapi.json')
    for (const [path, methods] of Object.entries(json.paths as Record<string, Record<string, unknown>>))
      for (const method of Object.keys(methods)) {
        if (
          /^\/(health|v1\/health|openapi\.json|docs|webhooks|_matrix\/push|files|shared|oauth\/|\.well-known\/|api\/login$)/.test(
            path,
          ) &&
          path !== '/health/detailed'
        )
          continue
        const { status } = await nobody.send(method.toUpperCase(), filled(path, 'ses_x'))
        expect([method, path, status]).toEqual([method, path, 401])
      }
    expect(server.key.length).toBeGreaterThan(15)
  })
})

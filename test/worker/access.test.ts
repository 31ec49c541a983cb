/** Tests keys, scopes and tenant isolation on every route of the table, so that new routes are covered automatically. */

import { createExecutionContext, runInDurableObject } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { scopes } from '#agent/core/permission/authority.ts'
import { createApp, routes } from '#worker/app.ts'
import { clearKeyCache } from '#worker/auth.ts'
import { calls, Gate, hangs, model, says, until } from '../support/scripted-model.ts'
import { bindings, call, applyMigrations, newKey, newSession, newTenant, type ErrorBody, request } from './client.ts'
import { subscribe, send } from './listen.ts'

beforeAll(applyMigrations)

const at = (path: string, id = 'x') => path.replace(/:\w+(\{[^}]*\})?/g, id)
const all = routes.map(({ method, path, scope, body }) => ({ method: method.toUpperCase(), path, scope, body }))
const table = all.map(({ method, path, scope }) => [`${method} ${path}`, { method, path, scope }] as const)

describe('a key', () => {
  it.each(table)('is needed for %s', async (_name, { method, path }) => {
    const bad = 'tal_aaaaaaaaaaaaaaaa_0000000000000000000000000000000000000000000'
    const answers = await Promise.all([null, 'nonsense', bad].map((key) => call<ErrorBody>(method, at(path), { key })))
    for (const { status, headers, body } of answers) {
      expect(status).toBe(401)
      expect(headers.get('www-authenticate')).toBe('Bearer')
      expect(body.error).toMatchObject({ type: 'authentication_error', code: 'invalid_api_key', param: null })
    }
  })

  it.each(table)('needs its scope for %s', async (_name, { method, path, scope }) => {
    const others = scopes.filter((one) => one !== scope)
    const tenant = await newTenant(others)
    const { status, body } = await call<ErrorBody>(method, at(path), { key: tenant.key })
    expect([status, body.error.code, body.error.param]).toEqual([403, 'insufficient_scope', scope])
  })

  it('with the scope admin only works in the tenant default', async () => {
    const { key } = await newTenant(['admin'])
    const { status, body } = await call<ErrorBody>('GET', '/api/admin/tenants', { key })
    expect([status, body.error.code]).toEqual([403, 'insufficient_scope'])
    const own = await newKey('default', ['admin'])
    expect((await call('GET', '/api/admin/tenants', { key: own })).status).toBe(200)
  })

  it('is shown with its secret only once', async () => {
    const { id } = await newTenant()
    const made = await call<{ id: string; key: string }>('POST', '/api/admin/keys', {
      body: { tenant_id: id, scopes: ['chat', 'read'], name: 'mine' },
    })
    expect(made.status).toBe(201)
    expect(made.body.key).toMatch(/^tal_[a-z2-7]{16}_[0-9A-Za-z]{43}$/)
    const list = await call<{ data: object[] }>('GET', `/api/admin/keys?tenant_id=${id}`)
    const { key: _, ...shown } = made.body
    expect(list.body.data[0]).toEqual(shown)
    expect(JSON.stringify(list.body)).not.toContain(made.body.key.slice(21))
  })

  it('works until it is revoked', async () => {
    const { id, key } = await newTenant()
    expect((await call('GET', '/api/settings', { key })).status).toBe(200)
    const { body } = await call<{ data: { id: string }[] }>('GET', `/api/admin/keys?tenant_id=${id}`)
    const path = `/api/admin/keys/${body.data[0]?.id}`
    expect((await call('DELETE', path)).status).toBe(204)
    expect((await call('GET', '/api/settings', { key })).status).toBe(401)
    expect((await call('DELETE', path)).status).toBe(404)
  })

  it('works until it expires', async () => {
    const { id } = await newTenant()
    const keyFor = (ms: number) => newKey(id, ['read'], { expires_at: new Date(Date.now() + ms).toISOString() })
    const statusWith = async (key: string) => (await call('GET', '/api/settings', { key })).status
    expect(await statusWith(await keyFor(3_600_000))).toBe(200)
    // However well it is remembered.
    const short = await keyFor(400)
    await until(async () => (await statusWith(short)) === 401)
  })

  it('of a tenant that is suspended is refused until it is active again', async () => {
    const { id, key } = await newTenant()
    expect((await call('GET', '/api/settings', { key })).status).toBe(200)
    const suspended = await call('PATCH', `/api/admin/tenants/${id}`, { body: { status: 'suspended' } })
    expect(suspended.body).toMatchObject({ id, status: 'suspended' })
    const refused = await call<ErrorBody>('GET', '/api/settings', { key })
    expect([refused.status, refused.body.error.code]).toEqual([403, 'tenant_suspended'])
    await call('PATCH', `/api/admin/tenants/${id}`, { body: { status: 'active' } })
    expect((await call('GET', '/api/settings', { key })).status).toBe(200)
  })

  it('records when it was used', async () => {
    const { id, key } = await newTenant()
    await call('GET', '/api/settings', { key })
    await until(async () => {
      const { body } = await call<{ data: { last_used_at: string | null }[] }>('GET', `/api/admin/keys?tenant_id=${id}`)
      return body.data[0]?.last_used_at
    })
    clearKeyCache()
    expect((await call('GET', '/api/settings', { key })).status).toBe(200)
  })
})

describe('a session of another tenant', () => {
  /** The whole answer, without what names the time. */
  const bytesOf = async (method: string, path: string, key: string, body?: unknown) => {
    const response = await request(method, path, { key, ...(body !== undefined && { body }) })
    return { status: response.status, headers: [...response.headers].toSorted(), text: await response.text() }
  }

  it('gets the same bytes as an unknown id, on every route with an id', async () => {
    const [owner, other] = [await newTenant(), await newTenant()]
    const scripted = model([says('secret answer')])
    const session = await newSession({ model: scripted.id }, owner.key)
    await call('POST', `/api/sessions/${session.id}/chat`, { key: owner.key, body: { input: 'secret' } })
    await request('PUT', `/api/sessions/${session.id}/files/a.txt`, { key: owner.key, body: 'secret' })
    const bodies: Readonly<Record<string, unknown>> = {
      '/api/sessions/:id/chat': { input: 'x' },
      '/api/sessions/:id/chat/stream': { input: 'x' },
      '/api/sessions/:id/steer': { input: 'x' },
      '/api/sessions/:id/goal': { text: 'x' },
      '/api/sessions/:id/previews': { path: 'a.txt' },
      '/api/sessions/:id/versions': { version: 'msg_1' },
      '/api/sessions/:id/messages/:seq/rating': { value: 'good' },
      '/api/sessions/:id/checkpoints': { name: 'before' },
      '/api/sessions/:id/browser/input': { type: 'key', key: 'Tab' },
      '/api/questions/:id': { answer: 'x' },
      '/api/sessions/:id/files/:path{.*}/move': { to: 'b.txt' },
    }
    const own = all.filter(({ path }) => /^\/api\/(sessions|questions)\/:id/.test(path))
    expect(own.length).toBeGreaterThan(15)
    for (const { method, path, body } of own) {
      const ask = (id: string) =>
        bytesOf(
          method,
          path.replace(':id', id).replace(/:\w+(\{[^}]*\})?/g, 'a.txt'),
          other.key,
          body && (bodies[path] ?? {}),
        )
      const theirs = await ask(path.startsWith('/api/questions') ? `${session.id}.c1` : session.id)
      const unknown = await ask(path.startsWith('/api/questions') ? 'ses_unknown.c1' : 'ses_unknown')
      const malformed = await ask('not%2Fan%20id')
      expect([method, path, theirs]).toEqual([method, path, unknown])
      expect([method, path, malformed.status, malformed.text]).toEqual([method, path, 404, unknown.text])
    }
  })

  it('cannot be subscribed to, by events or a WebSocket', async () => {
    const [owner, other] = [await newTenant(), await newTenant()]
    const { id } = await newSession({}, owner.key)
    await expect(subscribe(id, 0, other.key)).rejects.toThrow(/^404/)
    const socket = await request('GET', `/api/sessions/${id}/events`, {
      key: other.key,
      headers: { upgrade: 'websocket' },
    })
    expect([socket.status, socket.webSocket]).toEqual([404, null])
  })

  it('is in no list', async () => {
    const [owner, other] = [await newTenant(), await newTenant()]
    const scripted = model([calls({ id: 'q', name: 'clarify', input: { question: 'canary-question?' } })])
    const { id } = await newSession({ model: scripted.id, title: 'canary-title' }, owner.key)
    await call('PATCH', '/api/settings', { key: owner.key, body: { instructions: 'canary-settings' } })
    await call('POST', `/api/sessions/${id}/steer`, { key: owner.key, body: { input: 'canary-text' } })
    const lists = ['/api/sessions', '/api/search?q=canary', '/api/questions', '/api/settings', '/v1/models']
    await until(async () =>
      (await (await request('GET', '/api/questions', { key: owner.key })).text()).includes('canary'),
    )
    await until(async () =>
      (await (await request('GET', '/api/sessions', { key: owner.key })).text()).includes('canary'),
    )
    for (const list of lists)
      expect(await (await request('GET', list, { key: other.key })).text()).not.toContain('canary')
  })

  it('cannot be used by a session header', async () => {
    const [owner, other] = [await newTenant(), await newTenant()]
    const { id } = await newSession({}, owner.key)
    const { status } = await call('POST', '/v1/chat/completions', {
      key: other.key,
      headers: { 'x-talaria-session-id': id },
      body: { messages: [{ role: 'user', content: 'hi' }] },
    })
    expect(status).toBe(404)
  })

  it('may have a session with the same id, which is a different one', async () => {
    const [one, two] = [await newTenant(), await newTenant()]
    const headers = { 'idempotency-key': 'the-same' }
    const first = await call('POST', '/api/sessions', { key: one.key, headers, body: {} })
    const second = await call('POST', '/api/sessions', { key: two.key, headers, body: {} })
    expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([201, null])
    expect(second.body['id']).not.toBe(first.body['id'])
  })
})

describe('without ADMIN_KEY', () => {
  const ask = async (path: string, env: Partial<Env>) => {
    const app = createApp()
    const response = await app.fetch(
      new Request(`https://talaria.test${path}`, { headers: { authorization: 'Bearer test-admin-key-0123456789' } }),
      { ...bindings, ...env } as Env,
      createExecutionContext(),
    )
    return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() }
  }
  const { ADMIN_KEY: _, ...rest } = bindings

  it.each([
    ['missing', rest],
    ['too short', { ADMIN_KEY: 'short' }],
  ])('(%s) the server says that it is not configured', async (_name, env) => {
    const without = { ADMIN_KEY: '', ...env }
    expect(await ask('/health', without)).toMatchObject({ status: 200, body: { status: 'ok', configured: false } })
    for (const path of ['/api/sessions', '/v1/models', '/api/nothing'])
      expect(await ask(path, without)).toMatchObject({
        status: 503,
        retryAfter: expect.any(String),
        body: { error: { code: 'not_configured', message: expect.stringContaining('ADMIN_KEY') } },
      })
  })

  it('is no longer reported by health once it is set', async () => {
    const { body } = await call('GET', '/health', { key: null })
    expect(body).toMatchObject({ status: 'ok', configured: true })
    expect((await call('GET', '/v1/health', { key: null })).body).toEqual(body)
  })
})

describe('limits', () => {
  it('refuse requests over requests_per_minute with Retry-After', async () => {
    const { id, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${id}`, { body: { limits: { requests_per_minute: 3 } } })
    const answers = []
    for (let i = 0; i < 5; i++) answers.push(await call<ErrorBody>('GET', '/api/settings', { key }))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429])
    const last = answers.at(-1)!
    expect(last.body.error).toMatchObject({
      type: 'rate_limit_error',
      code: 'limit_exceeded',
      param: 'requests_per_minute',
    })
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(Number(last.headers.get('retry-after'))).toBeLessThanOrEqual(60)
  })

  it('can be lowered by the tenant, but not raised', async () => {
    const { id, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${id}`, { body: { limits: { requests_per_minute: 4 } } })
    await call('PATCH', '/api/settings', { key, body: { limits: { requests_per_minute: 1_000 } } })
    const statuses = []
    for (let i = 0; i < 6; i++) statuses.push((await call('GET', '/api/settings', { key })).status)
    expect(statuses).toContain(429)
  })

  describe('on concurrent_turns', () => {
    const limited = async (concurrent_turns = 1) => {
      const tenant = await newTenant()
      await call('PATCH', `/api/admin/tenants/${tenant.id}`, { body: { limits: { concurrent_turns } } })
      return tenant
    }
    const chat = (key: string, id: string, body: object, headers = {}) =>
      call<ErrorBody & { output: string }>('POST', `/api/sessions/${id}/chat`, { key, body, headers })

    it('refuse a further turn and free the place at its end', async () => {
      const { key } = await limited()
      const gate = new Gate()
      const busy = await newSession({ model: model([hangs(gate)]).id }, key)
      const free = await newSession({ model: model([says('now')]).id }, key)
      const asking = chat(key, busy.id, { input: 'go' })
      await gate.waitUntilReached()
      const refused = await chat(key, free.id, { input: 'go' })
      expect(refused.status).toBe(429)
      expect(refused.body.error).toMatchObject({ code: 'limit_exceeded', param: 'concurrent_turns' })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      gate.open()
      await asking
      const answer = await until(async () => {
        const again = await chat(key, free.id, { input: 'go' })
        return again.status === 200 ? again : undefined
      })
      expect(answer.body.output).toBe('now')
    })

    it('free the places of queued turns too', async () => {
      const { id: tenantId, key } = await limited(3)
      const { id } = await newSession({ model: model([says('a'), says('b'), says('c')]).id }, key)
      await Promise.all(['one', 'two', 'three'].map((input) => chat(key, id, { input, mode: 'queue' })))
      await until(async () => (await placesTaken(tenantId)) === 0)
      expect((await chat(key, id, { input: 'four' })).status).toBe(200)
    })

    it('take no place for messages that join a run or are repeated', async () => {
      const { id: tenantId, key } = await limited(2)
      const { id } = await newSession({ model: model([says('a'), says('b')]).id }, key)
      const headers = { 'idempotency-key': 'once' }
      await chat(key, id, { input: 'one' }, headers)
      await chat(key, id, { input: 'one' }, headers)
      await chat(key, id, { input: 'one' }, headers)
      await until(async () => (await placesTaken(tenantId)) === 0)
      expect((await chat(key, id, { input: 'two' })).status).toBe(200)
    })

    it('count the turns that steer and retry begin', async () => {
      const { key } = await limited()
      const gate = new Gate()
      const busy = await newSession({ model: model([hangs(gate)]).id }, key)
      const free = await newSession({ model: model([says('now')]).id }, key)
      await chat(key, free.id, { input: 'first' })
      const asking = chat(key, busy.id, { input: 'go' })
      await gate.waitUntilReached()
      const steered = await call('POST', `/api/sessions/${free.id}/steer`, { key, body: { input: 'x' } })
      const retried = await call('POST', `/api/sessions/${free.id}/retry`, { key, body: {} })
      expect([steered.status, retried.status]).toEqual([429, 429])
      await call('POST', `/api/sessions/${busy.id}/stop`, { key })
      await asking
    })
  })
})

const placesTaken = (tenantId: string): Promise<number> =>
  runInDurableObject(
    bindings.TENANT.getByName(`t/${tenantId}`),
    (_object, { storage }) => storage.sql.exec<{ n: number }>('SELECT count(*) AS n FROM active').one().n,
  )

it('a session of the owner works with the admin key', async () => {
  const { id } = await newSession({ model: model([says('yes')]).id })
  expect(await send(id, 'works?')).toMatchObject({ output: 'yes' })
})

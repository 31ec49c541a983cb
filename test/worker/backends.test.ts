/** Tests the choice of a backend and the limits of the virtual one. */

import { beforeAll, describe, expect, it } from 'vitest'
import { runInDurableObject } from 'cloudflare:test'
import type { Settings } from '#agent/core/settings.ts'
import { createGuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { listBackendStates, openBackend, resolveBackendKind } from '#durable/workspace/open-backend.ts'
import { fileError } from '#worker/routes/files.ts'
import { bindings, call, applyMigrations, newSession, newTenant, type ErrorBody, request } from './client.ts'

beforeAll(applyMigrations)

describe('the choice of a backend', () => {
  it.each([
    [undefined, undefined, 'virtual'],
    ['http', undefined, 'http'],
    ['http', 'virtual', 'virtual'],
    ['', undefined, 'virtual'],
  ] as const)('with %s in the deployment and %s in the settings is %s', (deployment, backend, kind) => {
    const settings = backend ? { terminal: { backend } } : {}
    expect(resolveBackendKind(settings, { ...bindings, SANDBOX_BACKEND: deployment ?? '' })).toBe(kind)
  })

  it('of a deployment must be a known backend', () => {
    expect(() => resolveBackendKind({}, { ...bindings, SANDBOX_BACKEND: 'moon' })).toThrow('SANDBOX_BACKEND is "moon"')
  })

  it('is shown to operators with the missing settings', async () => {
    const { body } = await call<{ backend: string; backends: Record<string, string> }>('GET', '/health/detailed')
    expect(body.backend).toBe('virtual')
    expect(body.backends).toMatchObject({
      virtual: 'ready',
      http: expect.stringMatching(/^absent: .*SANDBOX_HTTP_URL/),
      vercel: expect.stringMatching(/^absent: .*VERCEL_TOKEN/),
    })
  })

  it('is not reported as ready before it was tried', async () => {
    const bound = { ...bindings, SANDBOX: bindings.SESSION as unknown as DurableObjectNamespace, E2B_API_KEY: 'k' }
    expect(await listBackendStates(bound)).toMatchObject({
      cloudflare: 'bound; not proven to start',
      e2b: 'key set; not proven to be accepted',
    })
  })

  it('of a session that is not set up is an error that says what to set, and goes away with the setting', async () => {
    const { id } = await newSession()
    const path = `/api/sessions/${id}/files/a.txt`
    expect((await request('PUT', path, { body: 'kept' })).status).toBe(201)
    const change = (settings: object) => call('PATCH', `/api/sessions/${id}`, { body: { settings } })
    expect((await change({ terminal: { backend: 'http' } })).status).toBe(200)
    const refused = await call<ErrorBody>('GET', path)
    expect(refused.status).toBe(503)
    expect(refused.body.error).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('SANDBOX_HTTP_URL'),
    })
    expect((await change({ terminal: null })).status).toBe(200)
    expect(await (await request('GET', path)).text()).toBe('kept')
  })

  it('accepts only host names as allowed hosts of containers', async () => {
    const { key } = await newTenant()
    const change = async (host: string) => {
      const body = { terminal: { allowed_hosts: [host] } }
      return (await call('PATCH', '/api/settings', { key, body })).status
    }
    expect(await change('*.example.org')).toBe(200)
    for (const host of ['*', '*.com/x', '10.0.0.1', 'localhost', 'https://example.org', '*.*.org'])
      expect([host, await change(host)]).toEqual([host, 400])
  })

  it('of a session must be a known backend', async () => {
    const { id } = await newSession()
    const settings = { terminal: { backend: 'moon' } }
    expect((await call('PATCH', `/api/sessions/${id}`, { body: { settings } })).status).toBe(400)
  })
})

describe('a file that a backend refuses', () => {
  it.each([
    ['full', 507, 'disk_full', undefined],
    ['too_large', 413, 'body_too_large', undefined],
    ['quota', 429, 'limit_exceeded', 3_600],
    ['unavailable', 503, 'unavailable', 30],
    ['unsupported', 400, 'invalid_request', undefined],
    ['invalid', 400, 'invalid_request', undefined],
  ] as const)('for %s is an error with status %i and code %s', (code, status, name, retryAfter) => {
    const error = fileError({ kind: 'refused', message: 'No.', code })
    expect(error).toMatchObject({ status, code: name })
    expect(error.retryAfter).toBe(retryAfter)
  })
})

describe('the virtual backend of a session', () => {
  const T = { timeoutMs: 20_000 }

  it('has the network and the room that settings and limits give it, at any time', async () => {
    const { id } = await newSession()
    const world: { settings: Settings; limits: { storage_bytes?: number } } = { settings: {}, limits: {} }
    await runInDurableObject(bindings.SESSION.getByName(`t/test/s/${id}`), async (_, { storage }) => {
      const opened = (more: Partial<Env> = {}) =>
        openBackend('virtual', {
          env: { ...bindings, ...more },
          sql: storage.sql,
          tenantId: 'test',
          sessionId: id,
          memory: { read: () => ({}), write: () => {} },
          settings: () => world.settings,
          limits: () => world.limits,
          guardedFetch: createGuardedFetch(bindings),
        })
      const [machine, closed] = [opened(), opened({ SANDBOX_NETWORK: 'off' })]
      const fetchPrivate = async (of = machine) => (await of.exec('curl -sS http://10.0.0.1/', T)).stderr
      expect(machine.capabilities.network).toBe('none')
      expect(await fetchPrivate()).not.toContain('may not be called')

      world.settings = { terminal: { network: 'public' } }
      expect([machine.capabilities.network, closed.capabilities.network]).toEqual(['full', 'none'])
      expect(machine.describe()).toContain('curl, wget and git for public addresses')
      expect(closed.describe()).toContain('no network')
      expect(await fetchPrivate()).toContain('may not be called')
      expect(await fetchPrivate(closed)).not.toContain('may not be called')

      await machine.files.write('a', new Uint8Array(2000))
      world.limits = { storage_bytes: 3000 }
      await expect(machine.files.write('b', new Uint8Array(2000))).rejects.toMatchObject({ code: 'quota' })
      world.limits = {}
      expect(await machine.files.write('b', new Uint8Array(2000))).toEqual({ created: true })
    })
  })
})

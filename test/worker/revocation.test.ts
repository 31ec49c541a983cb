/** Tests that a suspended tenant and a revoked key stop everywhere: requests, streams, sockets, turns, queues and alarms. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import { objectOf } from '../durable/support/object.ts'
import { ownerAuthority } from '../support/authority.ts'
import { createSkippingClock } from '../support/clock.ts'
import { calls, Gate, model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, type ErrorBody, newSession, newTenant, request } from './client.ts'
import { readEvents, type Run, type Subscriber } from './listen.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

type Tenant = { readonly id: string; readonly key: string }

const setStatus = (tenant: Tenant, status: 'active' | 'suspended') =>
  call('PATCH', `/api/admin/tenants/${tenant.id}`, { body: { status } })

/** Creates a further key of the tenant. */
async function addKey({ id }: Tenant) {
  const body = { tenant_id: id, scopes: ['chat', 'read', 'write'] }
  return (await call<{ id: string; key: string }>('POST', '/api/admin/keys', { body })).body
}

/** Changes D1 and the tenant's object as another isolate would: the caches of this one keep what they have. */
const elsewhere = {
  suspend: async ({ id }: Tenant) => {
    await bindings.DB.prepare("UPDATE tenant SET status = 'suspended' WHERE id = ?").bind(id).run()
    await bindings.TENANT.getByName(`t/${id}`).access.setStatus(ownerAuthority(), 'suspended')
  },
  revoke: async (tenant: Tenant, keyId: string) => {
    await bindings.DB.prepare('UPDATE api_key SET revoked_at = 1 WHERE id = ?').bind(keyId).run()
    await bindings.TENANT.getByName(`t/${tenant.id}`).access.revokeKey(ownerAuthority(), keyId)
  },
}

const statusWith = async (key: string) => {
  const { status, body } = await call<ErrorBody>('GET', '/api/settings', { key })
  return [status, body.error?.code]
}

const listen = async (id: string, key: string): Promise<Subscriber> => {
  const listener = readEvents(await request('GET', `/api/sessions/${id}/events`, { key }))
  await until(() => listener.frames.length)
  return listener
}

async function openSocket(id: string, key: string) {
  const { webSocket } = await request('GET', `/api/sessions/${id}/events`, { key, headers: { upgrade: 'websocket' } })
  if (!webSocket) throw new Error('There is no socket.')
  const socket = webSocket
  const closed: { code?: number } = {}
  socket.addEventListener('close', ({ code }) => void (closed.code = code))
  socket.accept()
  return closed
}

const stream = async (id: string, key: string, input = 'go') =>
  readEvents(await request('POST', `/api/sessions/${id}/chat/stream`, { key, body: { input } }))

const begin = (id: string, key: string, body: object = {}) =>
  call<{ run_id: string }>('POST', `/api/sessions/${id}/steer`, { key, body: { input: 'go', ...body } })

const runsOf = async (id: string, key: string) => {
  const { body } = await call<{ data: { run_id: string }[] }>('GET', `/api/sessions/${id}/messages`, { key })
  const ids = [...new Set(body.data.map(({ run_id: run }) => run))]
  return Promise.all(ids.map(async (run) => (await call<Run>('GET', `/api/sessions/${id}/runs/${run}`, { key })).body))
}

const rowsOf = (tenant: Tenant, id: string, table: string) =>
  runInDurableObject<SessionDO, number>(
    objectOf(id, tenant.id),
    (_object, { storage }) => storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n,
  )

const isIdle = async (tenant: Tenant, id: string) =>
  (await objectOf(id, tenant.id).info.status(ownerAuthority(tenant.id))) === 'idle'

const refusedFrame = (code: string) => (listener: Subscriber) =>
  listener.frames.some((frame) => frame.startsWith('event: error\n') && frame.includes(`"code":"${code}"`))

describe('requests', () => {
  it('of a suspended tenant are refused in every isolate after two seconds', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const tenant = await newTenant()
    expect(await statusWith(tenant.key)).toEqual([200, undefined])
    await elsewhere.suspend(tenant)
    clock.pass(2_000)
    expect(await statusWith(tenant.key)).toEqual([403, 'tenant_suspended'])
  })

  it('with a revoked key are refused in every isolate after two seconds, those with another key are not', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const tenant = await newTenant()
    const { id, key } = await addKey(tenant)
    expect(await statusWith(key)).toEqual([200, undefined])
    await elsewhere.revoke(tenant, id)
    clock.pass(2_000)
    expect(await statusWith(key)).toEqual([401, 'invalid_api_key'])
    expect(await statusWith(tenant.key)).toEqual([200, undefined])
  })
})

describe('a stream', () => {
  it('of events ends with an error when the tenant is suspended, a socket with a close code', async () => {
    const tenant = await newTenant()
    const { id } = await newSession({}, tenant.key)
    const listener = await listen(id, tenant.key)
    const socket = await openSocket(id, tenant.key)
    await evictDurableObject(objectOf(id, tenant.id))
    await setStatus(tenant, 'suspended')
    await listener.waitForClose()
    expect(listener).toSatisfy(refusedFrame('tenant_suspended'))
    expect(await until(() => socket.code)).toBe(4403)
  })

  it('ends when its key is revoked, and those of other keys go on', async () => {
    const tenant = await newTenant()
    const revoked = await addKey(tenant)
    const { id } = await newSession({ model: model([says('still here')]).id }, tenant.key)
    const [own, other] = [await listen(id, tenant.key), await listen(id, revoked.key)]
    const [ownSocket, otherSocket] = [await openSocket(id, tenant.key), await openSocket(id, revoked.key)]
    await call('DELETE', `/api/admin/keys/${revoked.id}`)
    await other.waitForClose()
    expect(other).toSatisfy(refusedFrame('invalid_api_key'))
    expect(await until(() => otherSocket.code)).toBe(4401)
    await begin(id, tenant.key)
    await own.waitFor('run.completed')
    expect([own.isClosed, ownSocket.code]).toEqual([false, undefined])
    own.close()
  })

  it('of a run ends with an error frame when another key is revoked than the one of its turn', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const tenant = await newTenant()
    const reader = await addKey(tenant)
    const gate = new Gate()
    const { id } = await newSession({ model: model([says('a', gate, 'b')]).id }, tenant.key)
    const { body } = await begin(id, tenant.key)
    await gate.waitUntilReached()
    const path = `/v1/runs/${body.run_id}/events`
    const listener = readEvents(await request('GET', path, { key: reader.key }))
    await listener.waitFor('message.delta')
    await elsewhere.revoke(tenant, reader.id)
    clock.pass(2_000)
    await listener.waitForClose()
    expect(listener).toSatisfy(refusedFrame('invalid_api_key'))
    gate.open()
    await until(async () => (await runsOf(id, tenant.key))[0]?.exit_reason === 'answered')
  })
})

describe('a running turn', () => {
  it('is cancelled in the middle of an answer when its tenant is suspended', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const tenant = await newTenant()
    const gate = new Gate()
    const scripted = model([says('one ', gate, 'two')])
    const { id } = await newSession({ model: scripted.id }, tenant.key)
    const listener = await stream(id, tenant.key)
    await listener.waitFor('message.delta')
    await elsewhere.suspend(tenant)
    clock.pass(2_000)
    await listener.waitForClose()
    expect(listener).toSatisfy(refusedFrame('tenant_suspended'))
    await until(() => isIdle(tenant, id))
    expect(scripted.requests).toHaveLength(1)
    await setStatus(tenant, 'active')
    expect((await runsOf(id, tenant.key))[0]).toMatchObject({ status: 'cancelled', exit_reason: 'tenant_suspended' })
  })

  it('makes no further model call after its key is revoked, and starts no further tool', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const tenant = await newTenant()
    const { id: keyId, key } = await addKey(tenant)
    const write = (path: string) => ({ name: 'write_file', input: { path, content: 'x' } })
    const gate = new Gate()
    const scripted = model([calls(write('first.txt')), [gate, ...(calls(write('never.txt')) as readonly string[])]])
    const { id } = await newSession({ model: scripted.id }, tenant.key)
    const listener = await stream(id, key)
    await gate.waitUntilReached()
    await elsewhere.revoke(tenant, keyId)
    clock.pass(2_000)
    // The reply may still arrive: its calls must not run.
    gate.open()
    await listener.waitForClose()
    await until(() => isIdle(tenant, id))
    const [run] = await runsOf(id, tenant.key)
    expect(run).toMatchObject({ status: 'cancelled', exit_reason: 'key_revoked' })
    expect(scripted.requests).toHaveLength(2)
    const files = ['first.txt', 'never.txt'].map((path) => request('GET', `/api/sessions/${id}/files/${path}`, tenant))
    expect((await Promise.all(files)).map(({ status }) => status)).toEqual([200, 404])
    expect((await begin(id, tenant.key)).status).toBe(202)
  })

  it('of a suspended tenant keeps its queue, which goes on when the tenant is active again', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const tenant = await newTenant()
    const gate = new Gate()
    const scripted = model([says('one ', gate, 'two'), says('from the queue')])
    const { id } = await newSession({ model: scripted.id }, tenant.key)
    await begin(id, tenant.key)
    await gate.waitUntilReached()
    const queued = call('POST', `/api/sessions/${id}/chat`, {
      key: tenant.key,
      body: { input: 'later', mode: 'queue' },
    })
    await until(async () => (await rowsOf(tenant, id, 'inbox')) === 1)
    await setStatus(tenant, 'suspended')
    clock.pass(2_000)
    await until(() => isIdle(tenant, id))
    expect(scripted.requests).toHaveLength(1)
    expect(await rowsOf(tenant, id, 'inbox')).toBe(1)
    await runDurableObjectAlarm(objectOf(id, tenant.id))
    expect(scripted.requests).toHaveLength(1)
    await setStatus(tenant, 'active')
    expect((await queued).body).toMatchObject({ output: 'from the queue', exit_reason: 'answered' })
    expect((await runsOf(id, tenant.key)).map((run) => run.exit_reason)).toEqual(['tenant_suspended', 'answered'])
  })
})

const killObject = (tenant: Tenant, id: string) =>
  runInDurableObject(objectOf(id, tenant.id), (_object, state) => state.abort('killed by a test')).catch(
    () => undefined,
  )

const alarmOf = (tenant: Tenant, id: string) =>
  runInDurableObject(objectOf(id, tenant.id), (_object, { storage }) => storage.getAlarm())

const ring = (tenant: Tenant, id: string) => runDurableObjectAlarm(objectOf(id, tenant.id))

describe('the alarm of a suspended tenant', () => {
  it('resumes no turn; it goes on when the tenant is active again', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const tenant = await newTenant()
    const gate = new Gate()
    const scripted = model([[gate], says('done')])
    const { id } = await newSession({ model: scripted.id }, tenant.key)
    await begin(id, tenant.key)
    await gate.waitUntilReached()
    await killObject(tenant, id)
    await elsewhere.suspend(tenant)
    clock.pass(2_000)
    await ring(tenant, id)
    expect(scripted.requests).toHaveLength(1)
    expect(await alarmOf(tenant, id)).toBeGreaterThan(clock.now() + 1_800_000)
    await setStatus(tenant, 'active')
    await until(async () => (await runsOf(id, tenant.key))[0]?.exit_reason === 'answered')
    expect(scripted.requests).toHaveLength(2)
  })

  it('reports no process; the report follows when the tenant is active again', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const tenant = await newTenant()
    const start = { command: 'echo over', background: true, notify_on_complete: true }
    const scripted = model([calls({ name: 'terminal', input: start }), says('started'), says('it ended')])
    const { id } = await newSession({ model: scripted.id }, tenant.key)
    await begin(id, tenant.key)
    await until(async () => (await runsOf(id, tenant.key))[0]?.exit_reason === 'answered')
    await elsewhere.suspend(tenant)
    for (let n = 0; n < 3; n++) {
      clock.pass(60_000)
      await ring(tenant, id)
    }
    expect(scripted.requests).toHaveLength(2)
    await setStatus(tenant, 'active')
    await until(async () => {
      await ring(tenant, id)
      return scripted.requests.length === 3
    })
  })
})

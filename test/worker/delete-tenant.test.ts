/** Tests that the deletion of a tenant leaves nothing, also after crashes, and that its id and its keys are refused. */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { tenantTables } from '#db/delete-tenant.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import { objectOf } from '../durable/support/object.ts'
import { createSkippingClock, type SkippingClock } from '../support/clock.ts'
import { outage } from '../support/outage.ts'
import { calls, Gate, model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, type ErrorBody, newSession, newTenant, request } from './client.ts'

beforeAll(applyMigrations)
afterEach(() => {
  outage.restore()
  replaceClock()
})

type Tenant = { readonly id: string; readonly key: string }

const owner = () => bindings.TENANT.getByName('t/default')
const statusOf = async ({ id }: Tenant) => (await call('GET', `/api/admin/tenants/${id}`)).status

const useClock = (): SkippingClock => {
  const clock = createSkippingClock()
  replaceClock(clock)
  return clock
}

/** Runs the alarm of the owner's object until the tenant is gone. */
const finish = (tenant: Tenant, clock: SkippingClock) =>
  until(async () => {
    clock.pass(10_000)
    await runDurableObjectAlarm(owner()).catch(() => undefined)
    return (await statusOf(tenant)) === 404
  })

/** The rows of all tables of an object's storage. */
const rowsIn = (stub: DurableObjectStub) =>
  runInDurableObject(stub, (_object, { storage }) => {
    const tables = storage.sql
      .exec<{ name: string }>(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_%' ESCAPE '\\'",
      )
      .toArray()
    return tables.reduce(
      (sum, { name }) => sum + storage.sql.exec<{ n: number }>(`SELECT count(*) AS n FROM "${name}"`).one().n,
      0,
    )
  })

const rowsInD1 = async (tenantId: string) => {
  const counts = tenantTables.map((table) =>
    bindings.DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE tenant_id = ?`).bind(tenantId),
  )
  const results = await bindings.DB.batch<{ n: number }>(counts)
  return results.reduce((sum, { results: [row] }) => sum + (row?.n ?? 0), 0)
}

const fullTextRows = async () => {
  const [words, pieces] = await bindings.DB.batch<{ n: number }>(
    ['words', 'pieces'].map((table) => bindings.DB.prepare(`SELECT count(*) AS n FROM ${table}`)),
  )
  return [words?.results[0]?.n, pieces?.results[0]?.n]
}

/** Other files of this isolate may have sessions whose last turn reaches history a second after its end. */
async function settledRows() {
  for (let before = await fullTextRows(); ;) {
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    const now = await fullTextRows()
    if (String(now) === String(before)) return now
    before = now
  }
}

const filesOf = async ({ id }: Tenant) => (await bindings.BLOBS!.list({ prefix: `t/${id}/` })).objects.length

/** A tenant with sessions, files in R2, settings, a credential and history. */
async function filledTenant() {
  const tenant = await newTenant()
  const write = { name: 'write_file', input: { path: 'a.txt', content: 'canary' } }
  const sessions = await Promise.all(
    [0, 1, 2].map(async (n) => {
      const scripted = model([calls(write), says(`canary number ${n}`)])
      const { id } = await newSession({ model: scripted.id, title: `canary ${n}` }, tenant.key)
      await call('POST', `/api/sessions/${id}/chat`, { key: tenant.key, body: { input: 'canary question' } })
      return id
    }),
  )
  await bindings.BLOBS!.put(`t/${tenant.id}/s/${sessions[0]}/big`, 'x')
  await bindings.BLOBS!.put(`t/${tenant.id}/other/file`, 'x')
  await call('PATCH', '/api/settings', { key: tenant.key, body: { instructions: 'canary' } })
  await call('POST', '/api/credentials', {
    key: tenant.key,
    body: { provider: 'openai', key: 'sk-canary-000000000000' },
  })
  await until(async () => (await rowsInD1(tenant.id)) >= 6)
  return { tenant, sessions }
}

const deleteTenant = ({ id }: Tenant) => call('DELETE', `/api/admin/tenants/${id}`)

async function expectNothingLeft(tenant: Tenant, sessions: readonly string[]) {
  expect(await rowsInD1(tenant.id)).toBe(0)
  expect(await filesOf(tenant)).toBe(0)
  for (const id of sessions) expect([id, await rowsIn(objectOf(id, tenant.id))]).toEqual([id, 0])
  expect(await rowsIn(bindings.TENANT.getByName(`t/${tenant.id}`))).toBe(0)
  expect(
    await runInDurableObject(owner(), (_o, { storage }) => storage.sql.exec('SELECT * FROM tenant_deletion').toArray()),
  ).toEqual([])
}

it('leaves nothing in objects, D1 and R2', async () => {
  const before = await settledRows()
  const clock = useClock()
  const { tenant, sessions } = await filledTenant()
  expect(await fullTextRows()).not.toEqual(before)
  const deleted = await deleteTenant(tenant)
  expect([deleted.status, deleted.body]).toEqual([202, { id: tenant.id, status: 'deleting' }])
  await finish(tenant, clock)
  await expectNothingLeft(tenant, sessions)
  expect(await fullTextRows()).toEqual(before)
})

it('refuses keys and the id as long as it lasts, and the id is free and empty afterwards', async () => {
  const clock = useClock()
  const { tenant } = await filledTenant()
  await deleteTenant(tenant)
  const refused = await call<ErrorBody>('GET', '/api/settings', { key: tenant.key })
  const unknown = await call<ErrorBody>('GET', '/api/settings', {
    key: 'tal_aaaaaaaaaaaaaaaa_0000000000000000000000000000000000000000000',
  })
  expect([refused.status, refused.body]).toEqual([unknown.status, unknown.body])
  expect((await call('GET', `/api/admin/tenants/${tenant.id}`)).body['status']).toBe('deleting')
  const create = { body: { id: tenant.id, name: 'again' } }
  expect((await call('POST', '/api/admin/tenants', create)).status).toBe(409)
  expect((await call('POST', '/api/admin/keys', { body: { tenant_id: tenant.id, scopes: ['read'] } })).status).toBe(404)
  expect((await call('PATCH', `/api/admin/tenants/${tenant.id}`, { body: { status: 'active' } })).status).toBe(404)
  expect((await deleteTenant(tenant)).status).toBe(202)
  await finish(tenant, clock)
  expect((await call('POST', '/api/admin/tenants', create)).status).toBe(201)
  const made = await call<{ key: string }>('POST', '/api/admin/keys', {
    body: { tenant_id: tenant.id, scopes: ['read', 'chat'] },
  })
  const { key } = made.body
  expect((await call('GET', '/api/settings', { key: tenant.key })).status).toBe(401)
  expect((await call('GET', '/api/settings', { key })).body).toEqual({})
  expect((await call<{ data: [] }>('GET', '/api/sessions', { key })).body.data).toEqual([])
})

it('goes on after crashes at any time, and while D1 fails', async () => {
  const clock = useClock()
  const { tenant, sessions } = await filledTenant()
  await deleteTenant(tenant)
  for (let n = 0; n < 6; n++) {
    clock.pass(10_000)
    outage.isDatabaseDown = n % 2 === 1
    const work = runDurableObjectAlarm(owner()).catch(() => undefined)
    await scheduler.wait(n * 3)
    await runInDurableObject(owner(), (_object, state) => state.abort('killed by a test')).catch(() => undefined)
    await work
    outage.restore()
  }
  await finish(tenant, clock)
  await expectNothingLeft(tenant, sessions)
  expect(await statusOf(tenant)).toBe(404)
})

it('ends running turns and deletes sessions that history does not have yet', async () => {
  const clock = useClock()
  const tenant = await newTenant()
  const gate = new Gate()
  const scripted = model([says('a', gate, 'b')])
  outage.isDatabaseDown = true
  const { body } = await call<{ id: string }>('POST', '/api/sessions', {
    key: tenant.key,
    body: { model: scripted.id },
    headers: { 'idempotency-key': 'k' },
  })
  void call('POST', `/api/sessions/${body.id}/chat`, { key: tenant.key, body: { input: 'go' } }).catch(() => undefined)
  await gate.waitUntilReached()
  await deleteTenant(tenant)
  outage.restore()
  await finish(tenant, clock)
  await expectNothingLeft(tenant, [body.id])
  expect(scripted.requests).toHaveLength(1)
})

it.each([
  ['the tenant of the owner', 'default', 409],
  ['an unknown tenant', 'nobody', 404],
  ['a malformed id', 'No%20Body', 404],
])('refuses %s', async (_name, id, status) => {
  expect((await call('DELETE', `/api/admin/tenants/${id}`)).status).toBe(status)
  expect((await request('GET', '/api/settings')).status).toBe(200)
})

it('has every table with a tenant in its list', async () => {
  const { results } = await bindings.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%tenant_id%'",
  ).all<{ name: string }>()
  expect(results.map(({ name }) => name).toSorted()).toEqual(tenantTables.toSorted())
})

/** Tests that audit entries of the tenant's object survive outages and crashes, and reach D1 once. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, expect, it } from 'vitest'
import type { Authority } from '#agent/core/permission/authority.ts'
import { listAuditEntries } from '#db/audit-log.ts'
import { ownerAuthority } from '../../support/authority.ts'
import { until } from '../../support/scripted-model.ts'
import { outage } from '../../support/outage.ts'
import { applyMigrations, bindings } from '../../worker/client.ts'

beforeAll(applyMigrations)
afterEach(() => outage.restore())

let names = 0
const newTenant = () => `audited-${++names}`
const stubOf = (tenant: string) => bindings.TENANT.getByName(`t/${tenant}`)

const credential = {
  id: 'cred_1',
  provider: 'openai',
  name: null,
  lastFour: 'abcd',
  createdAt: 1,
  sealed: 'sealed-text',
  mark: 'mark',
}

const as = (tenant: string, id: string): Authority => ({ ...ownerAuthority(tenant), principal: { kind: 'key', id } })

const entriesOf = async (tenant: string) =>
  (await listAuditEntries(bindings.DB, tenant, { limit: 50 })).map(({ kind, actor, body }) => ({
    kind,
    actor,
    subject: body.subject,
  }))

it('sends an entry with the next alarm, and sets none when there is nothing to send', async () => {
  const tenant = newTenant()
  await stubOf(tenant).credentials.add(as(tenant, 'one'), credential)
  // The alarm is due at once and runs by itself.
  const entries = await until(async () => {
    const all = await entriesOf(tenant)
    return all.length ? all : undefined
  })
  expect(entries).toEqual([{ kind: 'credential.added', actor: 'key:one', subject: 'cred_1' }])
  const armedAt = () => runInDurableObject(stubOf(tenant), (_object, { storage }) => storage.getAlarm())
  await until(async () => (await armedAt()) === null || undefined)
})

it('keeps entries while D1 is down, over an eviction, and sends each once and in order', async () => {
  const tenant = newTenant()
  outage.tenantBatches = 'fail'
  await stubOf(tenant).credentials.add(as(tenant, 'one'), credential)
  // The alarm is due at once and runs by itself.
  await until(() => outage.refusedCount > 0 || undefined)
  expect(await stubOf(tenant).credentials.remove(as(tenant, 'two'), 'cred_1')).toBe(true)
  await evictDurableObject(stubOf(tenant))
  outage.restore()
  await stubOf(tenant).pairing.remove(as(tenant, 'one'), 'telegram', 'nobody')
  await until(async () => {
    await runDurableObjectAlarm(stubOf(tenant))
    return (await entriesOf(tenant)).length >= 2 || undefined
  })
  expect(await entriesOf(tenant)).toEqual([
    { kind: 'credential.removed', actor: 'key:two', subject: 'cred_1' },
    { kind: 'credential.added', actor: 'key:one', subject: 'cred_1' },
  ])
})

it('sends entries again whose result was lost, without a second copy', async () => {
  const tenant = newTenant()
  outage.tenantBatches = 'lose result'
  await stubOf(tenant).credentials.add(as(tenant, 'one'), credential)
  await runDurableObjectAlarm(stubOf(tenant))
  outage.restore()
  await evictDurableObject(stubOf(tenant))
  await runInDurableObject(stubOf(tenant), (object) => object.alarm())
  expect((await entriesOf(tenant)).length).toBe(1)
  await runInDurableObject(stubOf(tenant), (_object, { storage }) => {
    expect(storage.sql.exec('SELECT * FROM audit_outbox').toArray()).toEqual([])
  })
})

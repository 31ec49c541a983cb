/** Tests the retention of idempotency keys in a tenant's object. */

import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { expect, it } from 'vitest'
import type { TenantDO } from '#durable/tenant/tenant-object.ts'
import { ownerAuthority } from '../../support/authority.ts'
import { bindings } from '../../worker/client.ts'

const stub = bindings.TENANT.getByName('t/claims')
const sql = <R>(run: (storage: SqlStorage) => R) =>
  runInDurableObject<TenantDO, R>(stub, (_object, { storage }) => run(storage.sql))
const ids = { sessionId: 'ses_1', runId: 'run_1' }
const fourDaysAgo = () => Date.now() - 4 * 86_400_000

const insertOld = () => sql((db) => void db.exec("INSERT INTO claim VALUES ('old', 'h', 's', 'r', ?)", fourDaysAgo()))
const hasOld = () => sql((db) => db.exec("SELECT 1 FROM claim WHERE name = 'old'").toArray().length > 0)

it('old claims are deleted at most once an hour, also after evictions', async () => {
  await insertOld()
  await stub.claims.claim(ownerAuthority(), 'one', 'h', ids)
  expect(await hasOld()).toBe(false)
  await insertOld()
  await stub.claims.claim(ownerAuthority(), 'two', 'h', ids)
  await evictDurableObject(stub)
  await stub.claims.claim(ownerAuthority(), 'three', 'h', ids)
  expect(await hasOld()).toBe(true)
  await sql((db) => void db.exec("UPDATE kept SET body = ? WHERE name = 'swept'", String(Date.now() - 3_600_001)))
  await evictDurableObject(stub)
  await stub.claims.claim(ownerAuthority(), 'four', 'h', ids)
  expect(await hasOld()).toBe(false)
})

it('an old claim that is not deleted yet does not count', async () => {
  await stub.claims.claim(ownerAuthority(), 'five', 'h', ids)
  await insertOld()
  expect((await stub.claims.claim(ownerAuthority(), 'old', 'other', ids)).kind).toBe('new')
  expect((await stub.claims.claim(ownerAuthority(), 'old', 'other', ids)).kind).toBe('same')
  expect((await stub.claims.claim(ownerAuthority(), 'old', 'h', ids)).kind).toBe('conflict')
})

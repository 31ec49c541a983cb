/** How long a tenant's object remembers idempotency keys, and what forgetting them costs. */

import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { expect, it } from 'vitest'
import type { TenantDO } from '../../../src/durable/tenant/tenant-object.ts'
import { bindings } from '../../worker/client.ts'

const stub = bindings.TENANT.getByName('t/claims')
const sql = <R>(run: (storage: SqlStorage) => R) =>
  runInDurableObject<TenantDO, R>(stub, (_object, { storage }) => run(storage.sql))
const ids = { sessionId: 'ses_1', runId: 'run_1' }
const fourDaysAgo = () => Date.now() - 4 * 86_400_000

const putOld = () => sql((db) => void db.exec("INSERT INTO claim VALUES ('old', 'h', 's', 'r', ?)", fourDaysAgo()))
const hasOld = () => sql((db) => db.exec("SELECT 1 FROM claim WHERE name = 'old'").toArray().length > 0)

it('claims of long ago are looked for once an hour, in whichever life', async () => {
  await putOld()
  await stub.claim('one', 'h', ids)
  expect(await hasOld()).toBe(false)
  await putOld()
  await stub.claim('two', 'h', ids)
  await evictDurableObject(stub)
  await stub.claim('three', 'h', ids)
  expect(await hasOld()).toBe(true)
  await sql((db) => void db.exec("UPDATE kept SET body = ? WHERE name = 'swept'", String(Date.now() - 3_600_001)))
  await evictDurableObject(stub)
  await stub.claim('four', 'h', ids)
  expect(await hasOld()).toBe(false)
})

it('a claim of long ago that is still there is as good as none', async () => {
  await stub.claim('five', 'h', ids)
  await putOld()
  expect((await stub.claim('old', 'other', ids)).is).toBe('new')
  expect((await stub.claim('old', 'other', ids)).is).toBe('same')
  expect((await stub.claim('old', 'h', ids)).is).toBe('conflict')
})

import { describe, expect, it } from 'vitest'
import { createTenantDb } from '#db/tenant-db.ts'
import { database } from './fixtures.ts'

/** Creates a D1 whose reads fail with the given errors one after the other, then succeed. */
function createFlakyDb(...failures: readonly string[]) {
  let calls = 0
  const all = async () => {
    const failure = failures[calls++]
    if (failure !== undefined) throw new Error(failure)
    return { results: [{ x: 1 }], meta: { rows_read: 1, rows_written: 0 } }
  }
  const statement = { bind: () => statement, all }
  const db = { prepare: () => statement, batch: async () => [await all()] } as unknown as D1Database
  return { db, calls: () => calls }
}
const tenantQuery = 'SELECT 1 AS x FROM session WHERE tenant_id = ?1'

describe('createTenantDb()', () => {
  it('refuses a statement without a tenant', () => {
    const { statement } = createTenantDb(database, 'a')
    for (const sql of [
      'SELECT 1',
      'SELECT * FROM session',
      'SELECT * FROM page WHERE tenant_id = ?2',
      'DELETE FROM words',
    ])
      expect(() => statement(sql), sql).toThrow(/does not compare tenant_id/)
    expect(() => createTenantDb(database, '')).toThrow(/tenant id is missing/)
  })

  it('tries reads up to three times after transient errors', async () => {
    const transient = createFlakyDb('Network connection lost.', 'D1 DB is overloaded. Requests queued for too long.')
    expect(await createTenantDb(transient.db, 'a').read(tenantQuery)).toEqual([{ x: 1 }])
    expect(transient.calls()).toBe(3)
    const permanent = createFlakyDb(...Array.from({ length: 9 }, () => 'Network connection lost.'))
    await expect(createTenantDb(permanent.db, 'a').read(tenantQuery)).rejects.toThrow(/connection lost/)
    expect(permanent.calls()).toBe(3)
  })

  it('retries neither writes nor other errors', async () => {
    const lost = createFlakyDb('Network connection lost.')
    const writing = createTenantDb(lost.db, 'a')
    await expect(writing.write([writing.statement(tenantQuery)])).rejects.toThrow(/connection lost/)
    const invalid = createFlakyDb('no such column: y: SQLITE_ERROR')
    await expect(createTenantDb(invalid.db, 'a').read(tenantQuery)).rejects.toThrow(/no such column/)
    expect([lost.calls(), invalid.calls()]).toEqual([1, 1])
  })
})

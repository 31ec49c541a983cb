import { describe, expect, it } from 'vitest'
import { billedRows, createTenantDb } from '../../src/db/tenant-db.ts'
import { database } from './fixtures.ts'

/** A D1 whose reads fail in the given ways, one after the other, and then succeed. */
function flaky(...failures: readonly string[]) {
  let asked = 0
  const all = async () => {
    const failure = failures[asked++]
    if (failure !== undefined) throw new Error(failure)
    return { results: [{ x: 1 }], meta: { rows_read: 1, rows_written: 0 } }
  }
  const statement = { bind: () => statement, all }
  const db = { prepare: () => statement, batch: async () => [await all()] } as unknown as D1Database
  return { db, asked: () => asked }
}
const own = 'SELECT 1 AS x FROM session WHERE tenant_id = ?1'

describe('a bound statement', () => {
  it('is refused without its tenant', () => {
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

  it('is asked again when it reads and the connection was lost, three times in all', async () => {
    const passing = flaky('Network connection lost.', 'D1 DB is overloaded. Requests queued for too long.')
    const meter = { written: 0, read: 0 }
    expect(await createTenantDb(passing.db, 'a', meter).read(own)).toEqual([{ x: 1 }])
    expect([passing.asked(), meter.read]).toEqual([3, 1])
    const lasting = flaky(...Array.from({ length: 9 }, () => 'Network connection lost.'))
    await expect(createTenantDb(lasting.db, 'a').read(own)).rejects.toThrow(/connection lost/)
    expect(lasting.asked()).toBe(3)
  })

  it('is counted for its store and for all of them', async () => {
    const meter = { written: 0, read: 0 }
    const before = billedRows.read
    await createTenantDb(flaky().db, 'a').read(own)
    await createTenantDb(flaky().db, 'b', meter).read(own)
    expect([billedRows.read - before, meter.read]).toEqual([2, 1])
  })

  it('is asked once when it writes or when it is wrong', async () => {
    const lost = flaky('Network connection lost.')
    const writing = createTenantDb(lost.db, 'a')
    await expect(writing.write([writing.statement(own)])).rejects.toThrow(/connection lost/)
    const wrong = flaky('no such column: y: SQLITE_ERROR')
    await expect(createTenantDb(wrong.db, 'a').read(own)).rejects.toThrow(/no such column/)
    expect([lost.asked(), wrong.asked()]).toEqual([1, 1])
  })
})

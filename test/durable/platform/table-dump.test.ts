/** Tests that tables of an object survive as lines, whatever is in them. */

import { runInDurableObject } from 'cloudflare:test'
import { expect, it } from 'vitest'
import { dumpTables, loadTables } from '#durable/platform/table-dump.ts'
import { bindings } from '../../worker/client.ts'

const object = (name: string) => bindings.TENANT.getByName(`t/${name}`)
const inStorage = <T>(name: string, work: (sql: SqlStorage) => T) =>
  runInDurableObject(object(name), (_object, { storage }) => storage.transactionSync(() => work(storage.sql)))

const ofTest = (lines: Iterable<string>) => [...lines].filter((line) => /"(?:odd|later)/.test(line))

it('keeps every kind of value, and creates tables that are not there yet', async () => {
  const lines = await inStorage('dump-a', (sql) => {
    sql.exec('CREATE TABLE "odd ""name""" (id INTEGER PRIMARY KEY, text TEXT, bytes BLOB, number REAL) ')
    const bytes = new Uint8Array([0, 255, 10]).buffer
    sql.exec('INSERT INTO "odd ""name""" VALUES (7, ?, ?, ?), (8, NULL, NULL, NULL)', 'a\nb\u0000 "ä"', bytes, 1.5)
    return ofTest(dumpTables(sql, new Set()))
  })
  const again = await inStorage('dump-b', (sql) => {
    loadTables(sql, lines)
    loadTables(sql, lines)
    return ofTest(dumpTables(sql, new Set()))
  })
  expect(lines).toHaveLength(3)
  expect(again).toEqual(lines)
})

it('leaves out what it is told to, and refuses tables of the platform', async () => {
  await inStorage('dump-c', (sql) => {
    sql.exec('CREATE TABLE later (id INTEGER PRIMARY KEY)')
    expect(ofTest(dumpTables(sql, new Set(['later'])))).toEqual([])
    expect(() => loadTables(sql, ['["row","sqlite_master",{"a":1}]'])).toThrow(/no table of an object/)
  })
})

it('keeps the default of a column that the lines do not have', async () => {
  const row = await inStorage('dump-d', (sql) => {
    sql.exec("CREATE TABLE later_columns (id INTEGER PRIMARY KEY, added TEXT NOT NULL DEFAULT 'x')")
    loadTables(sql, [
      '["table","later_columns","CREATE TABLE later_columns (id INTEGER PRIMARY KEY)"]',
      '["row","later_columns",{"id":1}]',
    ])
    return sql.exec('SELECT * FROM later_columns').toArray()
  })
  expect(row).toEqual([{ id: 1, added: 'x' }])
})

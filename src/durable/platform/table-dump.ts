/** Writes the tables of an object as lines of JSON, and reads them into another object (docs/design/backups.md). */

import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'

type Value = string | number | null | { readonly base64: string }
/** A row whose values can be JSON. */
export type EncodedRow = Readonly<Record<string, Value>>
type DumpLine = readonly ['table', string, string] | readonly ['row', string, EncodedRow]

const isOwnTable = (name: string): boolean => !/^(?:sqlite_|_cf_)/.test(name)

function listTables(sql: SqlStorage, omitted: ReadonlySet<string>): { readonly name: string; readonly sql: string }[] {
  return sql
    .exec<{ name: string; sql: string }>("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name")
    .toArray()
    .filter(({ name }) => isOwnTable(name) && !omitted.has(name))
}

/** The definition of each table, then its rows in the order of their key. */
export function* dumpTables(sql: SqlStorage, omitted: ReadonlySet<string>): Generator<string> {
  for (const table of listTables(sql, omitted)) {
    yield toLine(['table', table.name, table.sql])
    for (const row of sql.exec<Record<string, SqlStorageValue>>(`SELECT * FROM "${quoted(table.name)}"`)) {
      yield toLine(['row', table.name, encodeRow(row)])
    }
  }
}

const toLine = (line: DumpLine): string => `${JSON.stringify(line)}\n`

const encodeValue = (value: SqlStorageValue): Value =>
  value instanceof ArrayBuffer ? { base64: encodeBase64Bytes(new Uint8Array(value)) } : value

export const encodeRow = (row: Readonly<Record<string, SqlStorageValue>>): EncodedRow =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [column, encodeValue(value)]))

export const decodeRow = (row: EncodedRow): Record<string, SqlStorageValue> =>
  Object.fromEntries(Object.entries(row).map(([column, value]) => [column, decodeValue(value)]))

const decodeValue = (value: Value): SqlStorageValue =>
  typeof value === 'object' && value !== null ? decodeBase64Bytes(value.base64).slice().buffer : value

/** Replaces the rows of all tables that the lines name. The caller runs it in a transaction. */
export function loadTables(sql: SqlStorage, lines: Iterable<string>): void {
  for (const text of lines) {
    const line = JSON.parse(text) as DumpLine
    if (!isOwnTable(line[1])) throw new Error(`${line[1]} is no table of an object.`)
    if (line[0] === 'table') prepareTable(sql, line[1], line[2])
    else insertRow(sql, line[1], decodeRow(line[2]))
  }
}

/** A table that is created at its first use may not exist yet. */
function prepareTable(sql: SqlStorage, name: string, definition: string): void {
  const [found] = sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", name).toArray()
  sql.exec(found ? `DELETE FROM "${quoted(name)}"` : definition)
}

/** A row that exists stays as it is. */
export function insertRow(sql: SqlStorage, table: string, row: Readonly<Record<string, SqlStorageValue>>): void {
  const columns = Object.keys(row)
  const names = columns.map((column) => `"${quoted(column)}"`).join(', ')
  const insert = `INSERT OR IGNORE INTO "${quoted(table)}" (${names}) VALUES (${columns.map(() => '?').join(', ')})`
  sql.exec(insert, ...Object.values(row))
}

const quoted = (name: string): string => name.replaceAll('"', '""')

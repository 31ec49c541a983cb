/** Copies the checkpoints of a session into a backup, and back into the session that was restored from it. */

import { readLines, textStream } from '#durable/platform/byte-stream.ts'
import { blobPrefix } from '#durable/platform/addresses.ts'
import { decodeRow, encodeRow, type EncodedRow, insertRow } from '#durable/platform/table-dump.ts'
import { createCheckpointTables } from '#backends/virtual/checkpoint-rows.ts'
import { createArchiveTables } from '#durable/workspace/archive-rows.ts'
import type { Session } from '../session.ts'

/** A table and the columns of its key. The first two are read first: they tell whether the session is in use. */
const tables = {
  archive: ['id'],
  checkpoint: ['id'],
  archive_hand: ['id', 'path'],
  kept: ['checkpoint', 'parent', 'name'],
} as const
type TableName = keyof typeof tables
type SqlRow = Record<string, SqlStorageValue>
type CheckpointLine = { readonly table: TableName; readonly row: EncodedRow }

export type CheckpointCopy = {
  /** One row per line, as JSON. */
  readonly rows: ReadableStream<Uint8Array>
  /** The keys in R2 of large contents, within those of the tenant; one per line. */
  readonly keys: ReadableStream<Uint8Array>
}

export const hasCheckpoints = ({ sql }: Pick<Session, 'sql'>): boolean =>
  (['archive', 'checkpoint'] as const).some((table) => countRows(sql, table) > 0)

export const copyCheckpoints = (session: Session): CheckpointCopy => ({
  rows: textStream(rowLines(session.sql)),
  keys: textStream(keyLines(session)),
})

/** Rows are read one by one: an old version of a file may have half a megabyte, and there may be thousands. */
async function* rowLines(sql: SqlStorage): AsyncGenerator<string> {
  for (const table of Object.keys(tables) as TableName[]) {
    const key = tables[table]
    for (const at of selectAll(sql, table, `SELECT ${key.join(', ')} FROM ${table} ORDER BY ${key.join(', ')}`)) {
      const found = `SELECT * FROM ${table} WHERE ${key.map((column) => `${column} = ?`).join(' AND ')}`
      const [row] = sql.exec<SqlRow>(found, ...Object.values(at)).toArray()
      if (row) yield `${JSON.stringify({ table, row: encodeRow(row) } satisfies CheckpointLine)}\n`
    }
  }
}

/** The reference of a link is its target. */
const selectKept = "SELECT DISTINCT ref AS key FROM kept WHERE ref IS NOT NULL AND kind = 'file' ORDER BY ref"
const selectArchives = 'SELECT key FROM archive ORDER BY key'

async function* keyLines({ sql, tenantId }: Session): AsyncGenerator<string> {
  const kept = selectAll(sql, 'kept', selectKept).map(({ key }) => String(key))
  const archived = selectAll(sql, 'archive', selectArchives).flatMap(({ key }) => [`${key}.tar`, `${key}.json`])
  const prefix = blobPrefix(tenantId)
  for (const key of [...kept, ...archived]) if (key.startsWith(prefix)) yield `${key.slice(prefix.length)}\n`
}

/** Returns false when the session has made other checkpoints since. Rows that exist stay as they are. */
export async function restoreCheckpoints({ sql }: Session, lines: ReadableStream<Uint8Array>): Promise<boolean> {
  for await (const text of readLines(lines)) {
    const { table, row: encoded } = JSON.parse(text) as CheckpointLine
    if (!Object.hasOwn(tables, table)) throw new Error(`${table} is no table of checkpoints.`)
    const row = decodeRow(encoded)
    if (isTaken(sql, table, row)) return false
    if (table === 'archive' || table === 'archive_hand') createArchiveTables(sql)
    else createCheckpointTables(sql)
    insertRow(sql, table, row)
  }
  return true
}

/** Whether another checkpoint has the number of this one. */
function isTaken(sql: SqlStorage, table: TableName, row: SqlRow): boolean {
  if (table !== 'archive' && table !== 'checkpoint') return false
  const [found] = selectAll(sql, table, `SELECT run FROM ${table} WHERE id = ?`, row['id'] ?? null)
  return found !== undefined && found['run'] !== row['run']
}

const selectAll = (
  sql: SqlStorage,
  table: TableName,
  query: string,
  ...values: readonly SqlStorageValue[]
): SqlRow[] => (exists(sql, table) ? sql.exec<SqlRow>(query, ...values).toArray() : [])

const countRows = (sql: SqlStorage, table: TableName): number =>
  Number(selectAll(sql, table, `SELECT count(*) AS n FROM ${table}`)[0]?.['n'] ?? 0)

const exists = (sql: SqlStorage, table: TableName): boolean =>
  sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", table).toArray().length > 0

/**
 * What a session takes of its tenant's storage: its rows, and what lies in R2 for files of the workspace and for going
 * back to them. Images of messages are not counted.
 */

export const storedBytes = (sql: SqlStorage): number => sql.databaseSize + inObjectStorage(sql)

/** A large content is counted once, however many versions of files name it. The `ref` of a link is its goal. */
const REFS = ['workspace', 'kept'].map(
  (table) => `SELECT ref, size FROM ${table} WHERE kind = 'file' AND ref IS NOT NULL`,
)
const FILES = (of: readonly string[]) =>
  `SELECT total(size) AS bytes FROM (SELECT ref, max(size) AS size FROM (${of.join(' UNION ALL ')}) GROUP BY ref)`
const ARCHIVES = 'SELECT total(bytes) AS bytes FROM archive'

function inObjectStorage(sql: SqlStorage): number {
  const named = `SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('workspace', 'kept', 'archive')`
  const tables = new Set(
    sql
      .exec<{ name: string }>(named)
      .toArray()
      .map(({ name }) => name),
  )
  const sum = (query: string): number => sql.exec<{ bytes: number }>(query).one().bytes
  const of = REFS.filter((_, i) => tables.has(['workspace', 'kept'][i] ?? ''))
  return (of.length ? sum(FILES(of)) : 0) + (tables.has('archive') ? sum(ARCHIVES) : 0)
}

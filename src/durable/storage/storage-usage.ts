/**
 * Measures the storage of a session: its database, and its workspace files and checkpoints in R2. The tenant's object
 * measures everything else in R2 (shared-storage.ts).
 */

export const storedBytes = (sql: SqlStorage): number => sql.databaseSize + bytesInR2(sql)

/** A content in R2 is counted once, however many file versions refer to it. The `ref` of a link is its target. */
const refQueries = ['workspace', 'kept'].map(
  (table) => `SELECT ref, size FROM ${table} WHERE kind = 'file' AND ref IS NOT NULL`,
)
const sumFiles = (queries: readonly string[]) =>
  `SELECT total(size) AS bytes FROM (SELECT ref, max(size) AS size FROM (${queries.join(' UNION ALL ')}) GROUP BY ref)`
const sumArchives = 'SELECT total(bytes) AS bytes FROM archive'

function bytesInR2(sql: SqlStorage): number {
  const named = `SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('workspace', 'kept', 'archive')`
  const tables = new Set(
    sql
      .exec<{ name: string }>(named)
      .toArray()
      .map(({ name }) => name),
  )
  const sum = (query: string): number => sql.exec<{ bytes: number }>(query).one().bytes
  const queries = refQueries.filter((_, i) => tables.has(['workspace', 'kept'][i] ?? ''))
  return (queries.length ? sum(sumFiles(queries)) : 0) + (tables.has('archive') ? sum(sumArchives) : 0)
}

/** Whether the workspace in this object has a file. */
export function hasWorkspaceFiles(sql: SqlStorage): boolean {
  const [table] = sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'workspace'").toArray()
  return (
    table !== undefined && sql.exec("SELECT 1 FROM workspace WHERE kind <> 'directory' LIMIT 1").toArray().length > 0
  )
}

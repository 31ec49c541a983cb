/**
 * Wraps the SQLite file of a local D1 as a D1 binding, so that the statements of src/db can write a million messages
 * without a million requests.
 */

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'

type Result = {
  readonly results: readonly unknown[]
  readonly meta: { readonly rows_written: number; readonly rows_read: number; readonly changes: number }
}
type Prepared = { readonly sql: string; readonly values: readonly SQLInputValue[] }

export type LocalD1 = {
  readonly binding: D1Database
  /** Runs statements outside of the transaction. */
  readonly exec: (sql: string) => void
  readonly close: () => void
}

const perTransaction = 20_000

export const openLocalD1 = (path: string): LocalD1 => {
  const db = new DatabaseSync(path)
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; BEGIN')
  const statements = new Map<string, StatementSync>()
  let pending = 0
  const run = ({ sql, values }: Prepared): Result => {
    const statement = statements.get(sql) ?? db.prepare(sql)
    statements.set(sql, statement)
    return { results: statement.all(...values), meta: { rows_written: 0, rows_read: 0, changes: 0 } }
  }
  const batch = async (prepared: readonly Prepared[]): Promise<readonly Result[]> => {
    const results = prepared.map(run)
    pending += prepared.length
    if (pending > perTransaction) {
      db.exec('COMMIT; BEGIN')
      pending = 0
    }
    return results
  }
  const prepare = (sql: string): unknown => ({
    bind: (...values: SQLInputValue[]) => ({ sql, values, all: async () => run({ sql, values }) }),
  })
  return {
    binding: { prepare, batch } as unknown as D1Database,
    exec: (sql) => db.exec(sql),
    close: () => {
      db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)')
      db.close()
    },
  }
}

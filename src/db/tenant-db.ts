/**
 * Binds D1 to one tenant. The first parameter of every statement is the tenant id, and a statement that does not
 * compare a `tenant_id` with it is refused. History, usage, the audit log and channel connections use this module.
 */

import { warmRows } from './cold-pages.ts'
import type { HistoryDb } from './shards/sharded-database.ts'

export type SqlValue = string | number | null

export type TenantDb = {
  readonly tenantId: string
  /** `?1` is the tenant; `values` begin at `?2`. */
  readonly statement: (sql: string, ...values: readonly SqlValue[]) => D1PreparedStatement
  /** Reads are retried after transient errors. */
  readonly read: <Row>(sql: string, ...values: readonly SqlValue[]) => Promise<readonly Row[]>
  readonly readAll: <Row>(statements: readonly D1PreparedStatement[]) => Promise<readonly (readonly Row[])[]>
  /**
   * Runs one transaction, without retry. The statements are idempotent, so the caller can repeat them. `entries` are those
   * of the audit log: written before, if it is in another database.
   */
  readonly write: (
    statements: readonly D1PreparedStatement[],
    entries?: readonly D1PreparedStatement[],
  ) => Promise<readonly D1Result[]>
  /** Statements of the audit log. */
  readonly directory: Pick<TenantDb, 'statement'>
}

const transientErrors = /network connection lost|overloaded|storage caused object to be reset|reset because|try again/i
const maxAttempts = 3

async function withRetry<T>(query: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await query()
    } catch (error) {
      if (attempt === maxAttempts || !transientErrors.test(String(error))) throw error
      await new Promise((resolve) => setTimeout(resolve, 20 * 4 ** attempt))
    }
  }
}

function comparesTenant(sql: string): boolean {
  const column = sql.indexOf('tenant_id')
  if (/tenant_id = \?1\b/.test(sql)) return true
  return column >= 0 && /(?:VALUES \(|SELECT )\?1\b/.test(sql.slice(column))
}

type TenantDbOptions = {
  /** The database of the audit log, if histories have databases of their own. */
  readonly directory?: HistoryDb
  /** Has the text of old pages. Without it they are read as they are stored. */
  readonly blobs?: R2Bucket | undefined
}

export function createTenantDb(
  db: HistoryDb,
  tenantId: string,
  { directory = db, blobs }: TenantDbOptions = {},
): TenantDb {
  if (tenantId === '') throw new Error('The tenant id is missing.')
  const statementOf = (target: HistoryDb): TenantDb['statement'] => {
    return (sql, ...values) => {
      if (!comparesTenant(sql)) throw new Error(`The statement does not compare tenant_id: ${sql}`)
      return target.prepare(sql).bind(tenantId, ...values)
    }
  }
  const statement = statementOf(db)
  const warm = async <Row>(rows: readonly Row[]) => (blobs ? warmRows(rows, blobs) : rows)
  const batch = <Row>(statements: readonly D1PreparedStatement[]) => db.batch<Row>([...statements])
  return {
    tenantId,
    statement,
    read: async <Row>(sql: string, ...values: readonly SqlValue[]) =>
      warm((await withRetry(() => statement(sql, ...values).all<Row>())).results),
    readAll: async <Row>(statements: readonly D1PreparedStatement[]) =>
      Promise.all((await withRetry(() => batch<Row>(statements))).map(({ results }) => warm(results))),
    write: async (statements, entries = []) => {
      if (directory === db) return (await batch([...entries, ...statements])).slice(entries.length)
      if (entries.length) await directory.batch([...entries])
      return batch(statements)
    },
    directory: { statement: directory === db ? statement : statementOf(directory) },
  }
}

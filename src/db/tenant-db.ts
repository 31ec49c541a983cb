/**
 * Binds D1 to one tenant. The first parameter of every statement is the tenant id, and a statement that does not
 * compare a `tenant_id` with it is refused. History, usage, the audit log and channel connections use this module.
 */

export type SqlValue = string | number | null

export type TenantDb = {
  readonly tenantId: string
  /** `?1` is the tenant; `values` begin at `?2`. */
  readonly statement: (sql: string, ...values: readonly SqlValue[]) => D1PreparedStatement
  /** Reads are retried after transient errors. */
  readonly read: <Row>(sql: string, ...values: readonly SqlValue[]) => Promise<readonly Row[]>
  readonly readAll: <Row>(statements: readonly D1PreparedStatement[]) => Promise<readonly (readonly Row[])[]>
  /** Runs one transaction, without retry. The statements are idempotent, so the caller can repeat them. */
  readonly write: (statements: readonly D1PreparedStatement[]) => Promise<readonly D1Result[]>
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

export function createTenantDb(db: D1Database, tenantId: string): TenantDb {
  if (tenantId === '') throw new Error('The tenant id is missing.')
  const statement: TenantDb['statement'] = (sql, ...values) => {
    if (!comparesTenant(sql)) throw new Error(`The statement does not compare tenant_id: ${sql}`)
    return db.prepare(sql).bind(tenantId, ...values)
  }
  const batch = <Row>(statements: readonly D1PreparedStatement[]) => db.batch<Row>([...statements])
  return {
    tenantId,
    statement,
    read: async <Row>(sql: string, ...values: readonly SqlValue[]) =>
      (await withRetry(() => statement(sql, ...values).all<Row>())).results,
    readAll: async <Row>(statements: readonly D1PreparedStatement[]) =>
      (await withRetry(() => batch<Row>(statements))).map((result) => result.results),
    write: batch,
  }
}

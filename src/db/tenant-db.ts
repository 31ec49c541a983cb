/**
 * Binds D1 to one tenant. The first parameter of every statement is the tenant id, and a statement that does not
 * compare a `tenant_id` with it is refused. All tables with tenant data are accessed through this module.
 */

/** The rows that D1 bills, summed over all statements. */
export type RowMeter = { written: number; read: number }

/** The rows of all tenants since the isolate started; for the benchmark. */
export const billedRows: RowMeter = { written: 0, read: 0 }

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

export function createTenantDb(db: D1Database, tenantId: string, meter?: RowMeter): TenantDb {
  if (tenantId === '') throw new Error('The tenant id is missing.')
  const count = (result: D1Result) => {
    for (const counter of meter ? [billedRows, meter] : [billedRows]) {
      counter.written += result.meta.rows_written
      counter.read += result.meta.rows_read
    }
  }
  const statement: TenantDb['statement'] = (sql, ...values) => {
    if (!/tenant_id(?: = |.*VALUES \()\?1\b/s.test(sql))
      throw new Error(`The statement does not compare tenant_id: ${sql}`)
    return db.prepare(sql).bind(tenantId, ...values)
  }
  const batch = async <Row>(statements: readonly D1PreparedStatement[]) => {
    const results = await db.batch<Row>([...statements])
    results.forEach(count)
    return results
  }
  return {
    tenantId,
    statement,
    read: async <Row>(sql: string, ...values: readonly SqlValue[]) => {
      const result = await withRetry(() => statement(sql, ...values).all<Row>())
      count(result)
      return result.results
    },
    readAll: async <Row>(statements: readonly D1PreparedStatement[]) =>
      (await withRetry(() => batch<Row>(statements))).map((result) => result.results),
    write: batch,
  }
}

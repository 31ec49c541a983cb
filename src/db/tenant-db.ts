/**
 * Statements that carry their tenant: the first parameter of every statement is the tenant id, bound
 * here, and a statement that does not compare a tenant_id with it is refused. Nothing under
 * d1History reaches the database in another way.
 */

/** Rows as D1 bills them, summed over every statement. */
export type Meter = { written: number; read: number }

/** Of all stores since the isolate began, for the benchmark. */
export const billed: Meter = { written: 0, read: 0 }

export type Value = string | number | null

export type Bound = {
  readonly tenantId: string
  /** `?1` is the tenant; `values` begin at `?2`. */
  readonly statement: (sql: string, ...values: readonly Value[]) => D1PreparedStatement
  /** Reads may be asked again when the connection was lost. */
  readonly read: <Row>(sql: string, ...values: readonly Value[]) => Promise<readonly Row[]>
  readonly readAll: <Row>(statements: readonly D1PreparedStatement[]) => Promise<readonly (readonly Row[])[]>
  /** One transaction. Asked once: the statements are keyed, so the caller may repeat them. */
  readonly write: (statements: readonly D1PreparedStatement[]) => Promise<readonly D1Result[]>
}

const passing = /network connection lost|overloaded|storage caused object to be reset|reset because|try again/i
const attempts = 3

async function retried<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      if (attempt === attempts || !passing.test(String(error))) throw error
      await new Promise((resolve) => setTimeout(resolve, 20 * 4 ** attempt))
    }
  }
}

export function boundTo(db: D1Database, tenantId: string, meter?: Meter): Bound {
  if (tenantId === '') throw new Error('A tenant is missing.')
  const count = (result: D1Result) => {
    for (const each of meter ? [billed, meter] : [billed]) {
      each.written += result.meta.rows_written
      each.read += result.meta.rows_read
    }
  }
  const statement: Bound['statement'] = (sql, ...values) => {
    if (!/tenant_id(?: = |.*VALUES \()\?1\b/s.test(sql)) throw new Error(`A statement without a tenant: ${sql}`)
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
    read: async <Row>(sql: string, ...values: readonly Value[]) => {
      const result = await retried(() => statement(sql, ...values).all<Row>())
      count(result)
      return result.results
    },
    readAll: async <Row>(statements: readonly D1PreparedStatement[]) =>
      (await retried(() => batch<Row>(statements))).map((result) => result.results),
    write: batch,
  }
}

/**
 * Counts the rows that Durable Object storage and D1 bill. The product does not count them: the worker of the tests and
 * that of the benchmark wrap the bindings of their session objects with these functions.
 */

export type RowCount = { written: number; read: number }
/** `alarms`: rows of the session's object that set or delete its alarm. */
export type BilledRows = { readonly session: RowCount; readonly d1: RowCount; readonly alarms: number }

export const newRowCount = (): RowCount => ({ written: 0, read: 0 })

type Bindings = { readonly DB: D1Database }

/**
 * Wraps the storage and the D1 binding of a session object. Call it before the constructor of the object uses them.
 * `rows` returns what was billed since; call it inside the object, which owns the cursors.
 */
export function countRows<E extends Bindings>(
  { storage }: DurableObjectState,
  env: E,
): { readonly env: E; readonly rows: () => BilledRows } {
  const [session, d1] = [newRowCount(), newRowCount()]
  const { sql } = storage
  let alarms = 0
  for (const name of ['setAlarm', 'deleteAlarm'] as const) {
    const write = storage[name].bind(storage) as (...given: readonly unknown[]) => Promise<void>
    const counted = (...given: readonly unknown[]) => {
      alarms++
      return write(...given)
    }
    Object.defineProperty(storage, name, { value: counted })
  }
  let cursor: { readonly rowsRead: number; readonly rowsWritten: number } | undefined
  // A cursor has read all its rows only when it is used up: each is counted when the next statement begins.
  const countCursor = () => {
    session.read += cursor?.rowsRead ?? 0
    session.written += cursor?.rowsWritten ?? 0
    cursor = undefined
  }
  const counted = {
    exec: (query: string, ...bindings: SqlStorageValue[]) => {
      countCursor()
      const opened = sql.exec(query, ...bindings)
      // The local server keeps the names of objects in a table of its own, which no deployment has.
      if (!query.includes('__miniflare')) cursor = opened
      return opened
    },
    get databaseSize() {
      return sql.databaseSize
    },
  }
  Object.defineProperty(storage, 'sql', { value: counted })
  const rows = () => {
    countCursor()
    return { session: { ...session }, d1: { ...d1 }, alarms }
  }
  return { env: { ...env, DB: countD1(env.DB, d1) }, rows }
}

/** Adds the rows that each statement of this D1 binding bills to `count`. */
export function countD1(db: D1Database, count: RowCount): D1Database {
  const add = <R extends D1Result>(result: R): R => {
    count.written += result.meta.rows_written
    count.read += result.meta.rows_read
    return result
  }
  /** The statements behind the proxies: a batch takes only real ones. */
  const real = new WeakMap<object, D1PreparedStatement>()
  const countStatement = (statement: D1PreparedStatement): D1PreparedStatement => {
    const proxy = new Proxy(statement, {
      get(target, name) {
        if (name === 'bind') return (...values: unknown[]) => countStatement(target.bind(...values))
        if (name === 'all' || name === 'run') return async () => add(await target[name]())
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    real.set(proxy, statement)
    return proxy
  }
  const countBatch = async (statements: readonly D1PreparedStatement[]) =>
    (await db.batch(statements.map((statement) => real.get(statement) ?? statement))).map(add)
  return new Proxy(db, {
    get(target, name) {
      if (name === 'prepare') return (query: string) => countStatement(target.prepare(query))
      if (name === 'batch') return countBatch
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Counts the rows that storage bills: what is written and read through it, since the object woke. */

export type Meter = { written: number; read: number }

export const newMeter = (): Meter => ({ written: 0, read: 0 })

/** The same `exec`, counted. Only what this project uses of SqlStorage. */
export function metered(sql: SqlStorage, meter: Meter): SqlStorage {
  const exec: SqlStorage['exec'] = (query, ...bindings) => {
    const cursor = sql.exec(query, ...bindings)
    return counted(cursor as SqlStorageCursor<Record<string, SqlStorageValue>>, meter) as never
  }
  return new Proxy(sql, {
    get: (target, name) => (name === 'exec' ? exec : Reflect.get(target, name, target)),
  })
}

/** A write is over when `exec` returns; reads go on until the cursor is used up. */
function counted<T extends Record<string, SqlStorageValue>>(cursor: SqlStorageCursor<T>, meter: Meter) {
  let [written, read] = [0, 0]
  const update = () => {
    meter.written += cursor.rowsWritten - written
    meter.read += cursor.rowsRead - read
    written = cursor.rowsWritten
    read = cursor.rowsRead
  }
  update()
  return new Proxy(cursor, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const result: unknown = Reflect.apply(value, target, args)
        update()
        return result
      }
    },
  })
}

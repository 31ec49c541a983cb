/** Counts the rows that storage bills: what is written and read through it, since the object woke. */

export type Meter = { written: number; read: number }

export const newMeter = (): Meter => ({ written: 0, read: 0 })

/**
 * The same `exec`, counted: each statement when the next one begins, because a cursor knows what it read
 * only when it has been used up. Only what this project uses of SqlStorage.
 */
export function metered(sql: SqlStorage, meter: Meter): SqlStorage & { readonly settle: () => void } {
  let open: { readonly rowsRead: number; readonly rowsWritten: number } | undefined
  const settle = () => {
    meter.read += open?.rowsRead ?? 0
    meter.written += open?.rowsWritten ?? 0
    open = undefined
  }
  const exec: SqlStorage['exec'] = (query, ...bindings) => {
    settle()
    const cursor = sql.exec(query, ...bindings)
    open = cursor
    return cursor as never
  }
  return {
    exec,
    settle,
    get databaseSize() {
      return sql.databaseSize
    },
  } as SqlStorage & { readonly settle: () => void }
}

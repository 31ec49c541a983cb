/**
 * Runs statements on the workspace table, which the first write creates. Totals are counted once and then updated, so
 * only one instance may write to a storage.
 */

type TableValue = string | number | null | Uint8Array
type TableTotals = { bytes: number; links: number }

export type Table = {
  readonly exists: () => boolean
  readonly all: <T>(query: string, ...values: readonly TableValue[]) => T[]
  readonly write: (statement: string, ...values: TableValue[]) => void
  readonly totals: () => Readonly<TableTotals>
  readonly add: (bytes: number, links: number) => void
  readonly recount: () => void
}

const createTable = `CREATE TABLE workspace (
  parent TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, mode INTEGER NOT NULL, modified INTEGER NOT NULL,
  size INTEGER NOT NULL, ref TEXT, content BLOB, PRIMARY KEY (parent, name)) WITHOUT ROWID`
const tableExists = `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'workspace'`
const selectTotals = `SELECT total(size) bytes, total(kind = 'link') links FROM workspace`

export function openTable(sql: SqlStorage): Table {
  let exists = false
  let totals: TableTotals | undefined
  const present = (): boolean => (exists ||= sql.exec(tableExists).toArray().length > 0)
  const run = (text: string, values: readonly TableValue[]) => sql.exec(text, ...(values as readonly SqlStorageValue[]))
  return {
    exists: present,
    all: <T>(query: string, ...values: TableValue[]) => (present() ? (run(query, values).toArray() as T[]) : []),
    write(statement, ...values) {
      if (!present()) sql.exec(createTable)
      run(statement, values)
    },
    totals: () => (totals ??= present() ? (sql.exec(selectTotals).one() as TableTotals) : { bytes: 0, links: 0 }),
    add(bytes, links) {
      if (!totals) return
      totals.bytes += bytes
      totals.links += links
    },
    recount() {
      totals = undefined
    },
  }
}

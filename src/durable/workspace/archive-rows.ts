/** Stores the checkpoint archives of a session; the tables are created with the first one. */

import type { CheckpointLimits, Selection } from '#backends/checkpoints.ts'

export type ArchiveRow = {
  readonly id: number
  readonly run: string
  readonly at: number
  /** R2 key of the archive and its listing, without their extensions. */
  readonly key: string
  readonly bytes: number
  readonly left: readonly string[]
}

/** A rollback that is decided but not performed yet. */
export type PendingRollback = {
  readonly id: number
  readonly key: string
  readonly selection: Selection
  readonly byHand: readonly string[]
}

const tableExists = `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'archive'`
const createTables = [
  `CREATE TABLE IF NOT EXISTS archive (id INTEGER PRIMARY KEY, run TEXT NOT NULL, at INTEGER NOT NULL, key TEXT NOT NULL,
    bytes INTEGER NOT NULL, left_out TEXT NOT NULL, changed TEXT NOT NULL DEFAULT '[]', pending TEXT)`,
  'CREATE TABLE IF NOT EXISTS archive_hand (id INTEGER NOT NULL, path TEXT NOT NULL, PRIMARY KEY (id, path)) WITHOUT ROWID',
]

export function createArchiveTables(sql: SqlStorage): void {
  for (const one of createTables) sql.exec(one)
}

const columns = 'id, run, at, key, bytes, left_out AS left'

/** Maximum of paths that one row lists. */
const maxListedPaths = 1_000

export function archiveRows(sql: SqlStorage) {
  let exists = false
  const present = (): boolean => (exists ||= sql.exec(tableExists).toArray().length > 0)
  const all = <T>(query: string, ...values: readonly (string | number | null)[]): T[] =>
    present() ? (sql.exec(query, ...values).toArray() as T[]) : []
  const read = (more: string, ...values: readonly (string | number)[]): ArchiveRow[] =>
    all<ArchiveRow & { left: string }>(`SELECT ${columns} FROM archive ${more}`, ...values).map((row) => ({
      ...row,
      left: JSON.parse(row.left) as string[],
    }))
  const newest = () => read('ORDER BY id DESC LIMIT 1')[0]
  const forget = ({ from, before }: { readonly from: number; readonly before?: number }): readonly string[] => {
    const removed = read('WHERE id >= ? AND at < ?', from, before ?? Number.MAX_SAFE_INTEGER)
    for (const { id } of removed)
      for (const table of ['archive', 'archive_hand']) all(`DELETE FROM ${table} WHERE id = ?`, id)
    return removed.map(({ key }) => key)
  }
  return {
    newest,
    forget,
    list: () => read('ORDER BY id DESC'),
    get: (id: number) => read('WHERE id = ?', id)[0],
    /** Returns the keys of archives that were dropped for the limits. */
    add({ run, at, key, bytes, left }: Omit<ArchiveRow, 'id'>, limits: CheckpointLimits): readonly string[] {
      if (!present()) createArchiveTables(sql)
      const insert = 'INSERT INTO archive (run, at, key, bytes, left_out) VALUES (?, ?, ?, ?, ?)'
      sql.exec(insert, run, at, key, bytes, JSON.stringify(left.slice(0, maxListedPaths)))
      let sum = 0
      const over = read('ORDER BY id DESC').filter((row, i) => {
        sum += row.bytes
        return i > 0 && (i >= limits.checkpoints || sum > limits.bytes || row.at < at - limits.ageMs)
      })
      for (const { id } of over)
        for (const table of ['archive', 'archive_hand']) all(`DELETE FROM ${table} WHERE id = ?`, id)
      return over.map((row) => row.key)
    },
    /** Stores which paths the agent changed until the next checkpoint. */
    changed: (id: number, paths: readonly string[]) =>
      void all('UPDATE archive SET changed = ? WHERE id = ?', JSON.stringify(paths.slice(0, maxListedPaths)), id),
    changedOf: (id: number): readonly string[] =>
      JSON.parse(
        all<{ changed: string }>('SELECT changed FROM archive WHERE id = ?', id)[0]?.changed ?? '[]',
      ) as string[],
    touch(path: string): void {
      const last = newest()
      if (last) all('INSERT OR IGNORE INTO archive_hand VALUES (?, ?)', last.id, path)
    },
    touched: (id: number): readonly string[] =>
      all<{ path: string }>('SELECT DISTINCT path FROM archive_hand WHERE id >= ?', id).map(({ path }) => path),
    pending: (): PendingRollback | undefined => {
      const [row] = all<{ pending: string }>('SELECT pending FROM archive WHERE pending IS NOT NULL LIMIT 1')
      return row && (JSON.parse(row.pending) as PendingRollback)
    },
    setPending(pending: PendingRollback | undefined): void {
      all('UPDATE archive SET pending = NULL WHERE pending IS NOT NULL')
      if (pending) all('UPDATE archive SET pending = ? WHERE id = ?', JSON.stringify(pending), pending.id)
    },
  }
}

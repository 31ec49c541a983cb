/**
 * What is known of background jobs, in the rows of the session: how each stands, and the last of what it printed.
 * The table appears with the first job.
 */

export type JobRow = {
  readonly id: string
  readonly state: 'running' | 'exited' | 'lost'
  readonly exitCode: number | null
  /** Bytes ever printed; the last of them are kept. */
  readonly total: number
  readonly output: Uint8Array
}

export type JobRows = {
  readonly get: (id: string) => JobRow | undefined
  readonly begin: (id: string) => void
  readonly append: (id: string, bytes: Uint8Array) => void
  readonly end: (id: string, state: 'exited' | 'lost', exitCode: number | null) => void
}

/** Bytes of output kept of each job. */
export const maxOutputBytes = 200_000
/** Jobs remembered; the oldest that have ended make room. */
const REMEMBERED = 64

const EXISTS = `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'jobs'`
const CREATE = `CREATE TABLE jobs (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
  exit_code INTEGER, total INTEGER NOT NULL DEFAULT 0, output BLOB NOT NULL DEFAULT x'')`
const FORGET = `DELETE FROM jobs WHERE state <> 'running' AND number <= (SELECT max(number) - ${REMEMBERED} FROM jobs)`
const APPEND = `UPDATE jobs SET output = substr(CAST(output || ?1 AS BLOB), -${maxOutputBytes}), total = total + ?2 WHERE id = ?3`

type Stored = Omit<JobRow, 'output'> & { readonly output: ArrayBuffer }

export function jobRows(sql: SqlStorage): JobRows {
  let exists = false
  const present = (): boolean => (exists ||= sql.exec(EXISTS).toArray().length > 0)
  return {
    get(id) {
      if (!present()) return undefined
      const query = 'SELECT id, state, exit_code AS exitCode, total, output FROM jobs WHERE id = ?'
      const [row] = sql.exec<Stored>(query, id).toArray()
      return row && { ...row, output: new Uint8Array(row.output) }
    },
    begin(id) {
      if (!present()) sql.exec(CREATE)
      sql.exec(FORGET)
      sql.exec(`INSERT INTO jobs (id, state) VALUES (?, 'running')`, id)
    },
    append(id, bytes) {
      sql.exec(APPEND, bytes, bytes.byteLength, id)
    },
    end(id, state, exitCode) {
      sql.exec('UPDATE jobs SET state = ?, exit_code = ? WHERE id = ?', state, exitCode, id)
    },
  }
}

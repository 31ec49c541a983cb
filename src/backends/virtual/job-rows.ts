/** Stores the state and the last output of background jobs. The table is created with the first job. */

export type JobRow = {
  readonly id: string
  readonly state: 'running' | 'exited' | 'lost'
  readonly exitCode: number | null
  /** Bytes printed in total; only the last ones are stored. */
  readonly total: number
  readonly output: Uint8Array
}

export type JobRows = {
  readonly get: (id: string) => JobRow | undefined
  readonly begin: (id: string) => void
  readonly append: (id: string, bytes: Uint8Array) => void
  readonly end: (id: string, state: 'exited' | 'lost', exitCode: number | null) => void
}

/** Bytes of output that are stored of each job. */
export const maxOutputBytes = 200_000
/** Maximum of rows; the oldest ended jobs are deleted. */
const maxRows = 64

const tableExists = `SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'jobs'`
const createTable = `CREATE TABLE jobs (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
  exit_code INTEGER, total INTEGER NOT NULL DEFAULT 0, output BLOB NOT NULL DEFAULT x'')`
const deleteOld = `DELETE FROM jobs WHERE state <> 'running' AND number <= (SELECT max(number) - ${maxRows} FROM jobs)`
const appendOutput = `UPDATE jobs SET output = substr(CAST(output || ?1 AS BLOB), -${maxOutputBytes}), total = total + ?2 WHERE id = ?3`

type Stored = Omit<JobRow, 'output'> & { readonly output: ArrayBuffer }

export function jobRows(sql: SqlStorage): JobRows {
  let exists = false
  const present = (): boolean => (exists ||= sql.exec(tableExists).toArray().length > 0)
  return {
    get(id) {
      if (!present()) return undefined
      const query = 'SELECT id, state, exit_code AS exitCode, total, output FROM jobs WHERE id = ?'
      const [row] = sql.exec<Stored>(query, id).toArray()
      return row && { ...row, output: new Uint8Array(row.output) }
    },
    begin(id) {
      if (!present()) sql.exec(createTable)
      sql.exec(deleteOld)
      sql.exec(`INSERT INTO jobs (id, state) VALUES (?, 'running')`, id)
    },
    append(id, bytes) {
      sql.exec(appendOutput, bytes, bytes.byteLength, id)
    },
    end(id, state, exitCode) {
      sql.exec('UPDATE jobs SET state = ?, exit_code = ? WHERE id = ?', state, exitCode, id)
    },
  }
}

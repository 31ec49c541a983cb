/** What a session knows of its background processes: a row each, in its own storage, gone with it. */

import type { BackendKind } from '../../agent/model/backend.ts'
import type { ProcessState } from '../../agent/model/process.ts'
import type { Watch } from './process-watch.ts'

export type ProcessRow = {
  readonly id: string
  readonly command: string
  readonly cwd: string
  readonly pid?: number
  /** It has a terminal device, and prints for one. */
  readonly pty?: true
  /** The machine it runs on, whatever the session uses now. */
  readonly kind: BackendKind
  readonly startedAt: number
  /** The machine kills it then. */
  readonly until: number
  /** `starting`: written before the machine is asked, so that nothing runs that is not known here. */
  readonly state: { readonly at: 'starting' } | ProcessState
  readonly notify: boolean
  readonly watch: Watch
  /** The model knows how it ended. */
  readonly told: boolean
  /** The last of its output when it was seen to have ended, for the message that tells of it. */
  readonly tail: string
  /** From where on its output is still of interest. */
  readonly base: number
  /** The call that wrote to it last. */
  readonly input?: string
}

export type ProcessRows = {
  readonly all: () => readonly ProcessRow[]
  readonly get: (id: string) => ProcessRow | undefined
  readonly put: (row: ProcessRow) => void
  readonly delete: (id: string) => void
}

const schema = 'CREATE TABLE IF NOT EXISTS process (id TEXT PRIMARY KEY, body TEXT NOT NULL)'

/** `exists`: the table was there when the object woke. Memory is a cache of the rows. */
export function processRows(sql: SqlStorage, exists: boolean): ProcessRows {
  let known: Map<string, ProcessRow> | undefined
  let hasTable = exists
  const rows = () => (known ??= new Map(hasTable ? read().map((row) => [row.id, row]) : []))
  const read = () =>
    sql
      .exec<{ body: string }>('SELECT body FROM process ORDER BY rowid')
      .toArray()
      .map(({ body }) => JSON.parse(body) as ProcessRow)
  return {
    all: () => [...rows().values()],
    get: (id) => rows().get(id),
    put(row) {
      if (!hasTable) sql.exec(schema)
      hasTable = true
      rows().set(row.id, row)
      sql.exec(
        'INSERT INTO process VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body',
        row.id,
        JSON.stringify(row),
      )
    },
    delete(id) {
      if (rows().delete(id)) sql.exec('DELETE FROM process WHERE id = ?', id)
    },
  }
}

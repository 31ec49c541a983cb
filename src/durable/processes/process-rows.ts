/** Stores the background processes of a session, one JSON row each. */

import type { TurnAuthority } from '#agent/core/permission/contribution.ts'
import type { BackendKind } from '#agent/core/backend.ts'
import type { ProcessState } from '#agent/core/process.ts'
import type { Watch } from './process-watch.ts'

export type ProcessRow = {
  readonly id: string
  /** The common rights of everybody who has started the process or written to it. Absent in older rows. */
  readonly authority?: TurnAuthority
  readonly command: string
  readonly cwd: string
  readonly pid?: number
  /** It has a terminal device. */
  readonly pty?: true
  /** The backend it runs on, which may not be the current one. */
  readonly kind: BackendKind
  readonly startedAt: number
  /** The host kills it at this time. */
  readonly until: number
  /** `starting` is stored before the request to the host, so that no process runs without a row. */
  readonly state: { readonly at: 'starting' } | ProcessState
  readonly notify: boolean
  readonly watch: Watch
  /** Its end has been reported to the model. */
  readonly told: boolean
  /** The end of its output, for the message that reports its end. */
  readonly tail: string
  /** Offset of the first output byte that is still needed. */
  readonly base: number
  /** The last call that wrote to its input. */
  readonly input?: string
}

export type ProcessRows = {
  readonly all: () => readonly ProcessRow[]
  readonly get: (id: string) => ProcessRow | undefined
  readonly put: (row: ProcessRow) => void
  readonly delete: (id: string) => void
}

const schema = 'CREATE TABLE IF NOT EXISTS process (id TEXT PRIMARY KEY, body TEXT NOT NULL)'

/** `exists`: the table existed when the Durable Object started. Rows are cached in memory. */
export function processRows(sql: SqlStorage, exists: boolean): ProcessRows {
  let cache: Map<string, ProcessRow> | undefined
  let hasTable = exists
  const rows = () => (cache ??= new Map(hasTable ? read().map((row) => [row.id, row]) : []))
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

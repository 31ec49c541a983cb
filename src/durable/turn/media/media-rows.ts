/**
 * Stores the paid calls of a session: a row before a call leaves, and what was paid for until it is stored elsewhere.
 * Bytes are kept in parts, because a row has a maximum size.
 */

import type { Authority } from '#agent/core/permission/authority.ts'

/**
 * `sent`: the request has left, and its answer is not here. `queued`: the vendor works on a job. `kept`: the bytes are
 * here until R2 and the workspace have them. `done`: they have them, or the call failed for good. `temporary`: they have
 * a file that the alarm deletes.
 */
export type MediaRow = {
  readonly id: string
  readonly state: 'sent' | 'queued' | 'kept' | 'done' | 'temporary'
  /** `provider/model`. */
  readonly model: string
  /** The job at the vendor. */
  readonly queuedId?: string
  /** Of the bytes that have arrived. */
  readonly made?: MadeKind
  readonly file?: KeptFile
  /** The alarm goes on with it at this time. */
  readonly nextAt?: number
  readonly tries: number
  /** The words of a voice message. */
  readonly text?: string
  /** Of a job whose result comes as a message. */
  readonly late?: LateJob
}

export type MadeKind = { readonly mime: string; readonly extension: string; readonly stem: string }

export type KeptFile = {
  readonly path: string
  readonly key: string
  readonly mime: string
  readonly bytes: number
}

export type LateJob = {
  /** Absent: a video. */
  readonly use?: 'image'
  readonly provider: string
  /** Of the model. */
  readonly name: string
  readonly startedAt: number
  readonly stem: string
  /** The authority of the call that started it. Absent in rows that are older than this field. */
  readonly by?: Authority
  /** The message, until it is part of the conversation. */
  readonly text?: string
}

const schema = [
  'CREATE TABLE IF NOT EXISTS media_call (id TEXT PRIMARY KEY, body TEXT NOT NULL)',
  'CREATE TABLE IF NOT EXISTS media_part (id TEXT, n INTEGER, bytes BLOB NOT NULL, PRIMARY KEY (id, n)) WITHOUT ROWID',
]
const partBytes = 1024 * 1024
/** Rows of calls that are over. They answer a repetition of the same call, and name what is in R2. */
const maxDone = 1_000

export class MediaRows {
  readonly #sql: SqlStorage
  #hasTable: boolean
  #rows: Map<string, MediaRow> | undefined

  /** `exists`: the table was there when the object started. */
  constructor(sql: SqlStorage, exists: boolean) {
    this.#sql = sql
    this.#hasTable = exists
  }

  get(id: string): MediaRow | undefined {
    return this.#all().get(id)
  }

  /** The objects that the session has stored in R2. */
  listKeys(): readonly string[] {
    return [...this.#all().values()].flatMap(({ file }) => file?.key ?? [])
  }

  hasFile(path: string): boolean {
    return [...this.#all().values()].some(({ file }) => file?.path === path)
  }

  /** The rows that the alarm goes on with, the next one first. */
  listOpen(): readonly (MediaRow & { readonly nextAt: number })[] {
    const open = [...this.#all().values()].flatMap((row) =>
      row.nextAt === undefined ? [] : [{ ...row, nextAt: row.nextAt }],
    )
    return open.toSorted((one, other) => one.nextAt - other.nextAt)
  }

  getNextWake(): number | undefined {
    return this.listOpen()[0]?.nextAt
  }

  put(row: MediaRow): void {
    this.#create()
    this.#all().set(row.id, row)
    const upsert = 'INSERT INTO media_call VALUES (?, ?) ON CONFLICT DO UPDATE SET body = excluded.body'
    this.#sql.exec(upsert, row.id, JSON.stringify(row))
    if (row.state === 'done') this.#prune(row.id)
  }

  delete(id: string): void {
    if (!this.#all().delete(id)) return
    this.#sql.exec('DELETE FROM media_call WHERE id = ?', id)
    this.#sql.exec('DELETE FROM media_part WHERE id = ?', id)
  }

  /** Stores the row and the bytes together. */
  keep(row: MediaRow, bytes: Uint8Array): void {
    this.put(row)
    for (let n = 0; n * partBytes < bytes.length; n++)
      this.#sql.exec(
        'INSERT OR REPLACE INTO media_part VALUES (?, ?, ?)',
        row.id,
        n,
        bytes.slice(n * partBytes, (n + 1) * partBytes).buffer,
      )
  }

  readBytes(id: string): Uint8Array<ArrayBuffer> {
    const parts = this.#sql
      .exec<{ bytes: ArrayBuffer }>('SELECT bytes FROM media_part WHERE id = ? ORDER BY n', id)
      .toArray()
    const whole = new Uint8Array(parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 0))
    parts.forEach(({ bytes }, n) => whole.set(new Uint8Array(bytes), n * partBytes))
    return whole
  }

  /** Only the answer to the same call remains of a call that is over. */
  #prune(id: string): void {
    this.#sql.exec('DELETE FROM media_part WHERE id = ?', id)
    const done = [...this.#all().values()].filter(({ state }) => state === 'done')
    for (const { id: old } of done.slice(0, -maxDone)) this.delete(old)
  }

  #create(): void {
    if (!this.#hasTable) for (const statement of schema) this.#sql.exec(statement)
    this.#hasTable = true
  }

  #all(): Map<string, MediaRow> {
    if (this.#rows) return this.#rows
    const found = this.#hasTable
      ? this.#sql.exec<{ body: string }>('SELECT body FROM media_call ORDER BY rowid').toArray()
      : []
    const rows = found.map(({ body }) => JSON.parse(body) as MediaRow)
    return (this.#rows = new Map(rows.map((row) => [row.id, row])))
  }
}

/**
 * What is on its way to the chat of a session: a row per message, in the session's own storage. Rows are added in the
 * stretch of code that writes the end of a turn, so there is never an answer without its way out, nor the other way
 * round. The table is made with the first row.
 */

import type { Chunk, Custody } from '../../agent/model/delivery.ts'
import { isOpen } from '../../agent/policy/deliver.ts'

export type PartRow = {
  readonly id: number
  readonly run: string
  /**
   * `preview`: what is seen while the answer is written. `notice`: our own words, such as those in place of replies that
   * became too old. `ask`: something that waits for a person.
   */
  readonly kind: 'reply' | 'preview' | 'notice' | 'ask'
  readonly custody: Custody
  readonly chunk: Chunk
  /** The message of the chat that it answers. */
  readonly replyTo?: string
  /** The row of the message that becomes this one. */
  readonly edits?: number
  /** Of a notice: how many replies it stands for. */
  readonly missed?: number
  /** What is asked: the id of what waits, without the session's own, and who may answer besides admins. */
  readonly asks?: { readonly request: string; readonly person?: string; readonly choices: readonly string[] }
}

const schema = [
  'CREATE TABLE outbox (id INTEGER PRIMARY KEY, run TEXT NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL)',
  "CREATE INDEX outbox_open ON outbox(id) WHERE state IN ('prepared', 'sending')",
]
/** Rows of what is over are kept for those who ask what became of a run, and for buttons that are pressed late. */
const kept = 500

type Raw = { readonly body: string }
const rowOf = ({ body }: Raw) => JSON.parse(body) as PartRow

export class Outbox {
  readonly #sql: SqlStorage
  #hasTable: boolean
  #open: PartRow[] | undefined
  #lastId: number | undefined

  /** `exists`: the table was there when the object woke. */
  constructor(sql: SqlStorage, exists: boolean) {
    this.#sql = sql
    this.#hasTable = exists
  }

  /** What is not over, in the order in which it goes out. Memory is a cache of the rows. */
  open(): readonly PartRow[] {
    if (!this.#hasTable) return []
    const query = "SELECT body FROM outbox WHERE state IN ('prepared', 'sending') ORDER BY id"
    return (this.#open ??= this.#sql.exec<Raw>(query).toArray().map(rowOf))
  }

  add(row: Omit<PartRow, 'id'>): PartRow {
    if (!this.#hasTable) for (const statement of schema) this.#sql.exec(statement)
    this.#hasTable = true
    this.#lastId ??= this.#sql.exec<{ id: number }>('SELECT coalesce(max(id), 0) AS id FROM outbox').one().id
    const added = { ...row, id: ++this.#lastId }
    const open = this.open()
    const over = "DELETE FROM outbox WHERE id <= ? AND state NOT IN ('prepared', 'sending')"
    this.#sql.exec(over, added.id - kept)
    this.#sql.exec(
      'INSERT INTO outbox VALUES (?, ?, ?, ?)',
      added.id,
      added.run,
      added.custody.state,
      JSON.stringify(added),
    )
    this.#open = [...open.filter(({ id }) => id !== added.id), added]
    return added
  }

  put(row: PartRow): void {
    const { id, custody } = row
    this.#sql.exec('UPDATE outbox SET state = ?, body = ? WHERE id = ?', custody.state, JSON.stringify(row), id)
    this.#open = this.open().flatMap((known) => (known.id === id ? (isOpen(custody) ? [row] : []) : [known]))
  }

  get(id: number): PartRow | undefined {
    if (!this.#hasTable) return undefined
    return this.#sql.exec<Raw>('SELECT body FROM outbox WHERE id = ?', id).toArray().map(rowOf)[0]
  }

  ofRun(run: string): readonly PartRow[] {
    if (!this.#hasTable) return []
    return this.#sql.exec<Raw>('SELECT body FROM outbox WHERE run = ? ORDER BY id', run).toArray().map(rowOf)
  }
}

/**
 * Stores the messages that a session sends to its chat, one row each. Rows are added in the write that ends the turn,
 * so neither an answer nor its row can exist alone. The first row creates the table.
 */

import type { MessageChunk, DeliveryRecord } from '../../agent/model/delivery.ts'
import { isOpen } from '../../agent/policy/delivery-attempt.ts'

export type OutboxRow = {
  readonly id: number
  readonly run: string
  /**
   * `preview`: the beginning of an answer while it is written. `notice`: a text of the system, for example about expired
   * replies. `ask`: a pending request.
   */
  readonly kind: 'reply' | 'preview' | 'notice' | 'ask'
  /** The delivery state. Stored under this name. */
  readonly custody: DeliveryRecord
  readonly chunk: MessageChunk
  /** The platform's id of the quoted message. */
  readonly replyTo?: string
  /** The row whose message is edited into this one. */
  readonly edits?: number
  /** For a notice: the number of expired replies that it stands for. */
  readonly missed?: number
  /** The pending request (its id without the session's prefix), and the person who may answer besides admins. */
  readonly asks?: { readonly request: string; readonly person?: string; readonly choices: readonly string[] }
}

const schema = [
  'CREATE TABLE outbox (id INTEGER PRIMARY KEY, run TEXT NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL)',
  "CREATE INDEX outbox_open ON outbox(id) WHERE state IN ('prepared', 'sending')",
]
/** Closed rows are kept for delivery errors of runs and for buttons that are pressed late. */
const maxClosedRows = 500

type Raw = { readonly body: string }
const rowOf = ({ body }: Raw) => JSON.parse(body) as OutboxRow

export class Outbox {
  readonly #sql: SqlStorage
  #hasTable: boolean
  #open: OutboxRow[] | undefined
  #lastId: number | undefined

  /** `exists`: the table existed when the object started. */
  constructor(sql: SqlStorage, exists: boolean) {
    this.#sql = sql
    this.#hasTable = exists
  }

  /** Lists the rows that are not closed, in the order of sending. Memory is a cache of the table. */
  listOpen(): readonly OutboxRow[] {
    if (!this.#hasTable) return []
    const query = "SELECT body FROM outbox WHERE state IN ('prepared', 'sending') ORDER BY id"
    return (this.#open ??= this.#sql.exec<Raw>(query).toArray().map(rowOf))
  }

  add(row: Omit<OutboxRow, 'id'>): OutboxRow {
    if (!this.#hasTable) for (const statement of schema) this.#sql.exec(statement)
    this.#hasTable = true
    this.#lastId ??= this.#sql.exec<{ id: number }>('SELECT coalesce(max(id), 0) AS id FROM outbox').one().id
    const added = { ...row, id: ++this.#lastId }
    const open = this.listOpen()
    const prune = "DELETE FROM outbox WHERE id <= ? AND state NOT IN ('prepared', 'sending')"
    this.#sql.exec(prune, added.id - maxClosedRows)
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

  update(row: OutboxRow): void {
    const { id, custody } = row
    this.#sql.exec('UPDATE outbox SET state = ?, body = ? WHERE id = ?', custody.state, JSON.stringify(row), id)
    this.#open = this.listOpen().flatMap((other) => (other.id === id ? (isOpen(custody) ? [row] : []) : [other]))
  }

  get(id: number): OutboxRow | undefined {
    if (!this.#hasTable) return undefined
    return this.#sql.exec<Raw>('SELECT body FROM outbox WHERE id = ?', id).toArray().map(rowOf)[0]
  }

  listByRun(run: string): readonly OutboxRow[] {
    if (!this.#hasTable) return []
    return this.#sql.exec<Raw>('SELECT body FROM outbox WHERE run = ? ORDER BY id', run).toArray().map(rowOf)
  }
}

/**
 * Stores the messages that a session sends to its chat, one row each. Rows are added in the write that ends the turn,
 * so neither an answer nor its row can exist alone. The first row creates the table.
 */

import type { DeliveryRecord, MessageChunk, ReplyHandle } from '#agent/core/delivery.ts'
import type { ChatAddress } from '#channels/channel.ts'
import { isOpen } from '#agent/policy/delivery-attempt.ts'

export type OutboxRow = {
  readonly id: number
  readonly run: string
  /**
   * `preview`: the beginning of an answer while it is written. `notice`: a text of the system, for example about expired
   * replies. `ask`: a pending request.
   */
  readonly kind: 'reply' | 'preview' | 'notice' | 'ask'
  /** Stored as `custody`. */
  readonly deliveryState: DeliveryRecord
  /** Without text while `source` is present. */
  readonly chunk: MessageChunk
  /** The text before it is rendered for the platform, whose code may not be loaded when the row is added. */
  readonly source?: RowSource
  /** A file of the workspace, which is sent instead of a text. */
  readonly file?: string
  /** A text that becomes a voice message: `file` takes its place. */
  readonly speech?: string
  /** The platform has refused the file: its name and a link are sent. */
  readonly isLinked?: true
  readonly replyHandle?: ReplyHandle
  /** The platform's id of the quoted message. */
  readonly replyTo?: string
  /** The row whose message is edited into this one. */
  readonly edits?: number
  /** For a notice: the number of expired replies that it stands for. */
  readonly missed?: number
  /**
   * The pending request (its id without the session's prefix), and the person who may answer besides admins. An empty
   * request: the choices are commands, for this person alone.
   */
  readonly asks?: {
    readonly request: string
    readonly person?: string
    readonly choices: readonly string[]
    /** The progress above the question, where the question stands in the message of the progress. */
    readonly card?: string
    /** The choices send, change or drop this text. */
    readonly draft?: string
  }
  /** Another chat than that of the session. */
  readonly to?: ChatAddress
}

export type RowSource = {
  readonly text: string
  readonly format: 'markdown' | 'plain'
  /** Only the first message of the text is sent. */
  readonly isFirstOnly?: true
}

/** Rendering turns a row into several with the ids that follow. The next added row has an id behind all of them. */
const idsPerRow = 10_000

const schema = [
  'CREATE TABLE outbox (id INTEGER PRIMARY KEY, run TEXT NOT NULL, state TEXT NOT NULL, body TEXT NOT NULL)',
  "CREATE INDEX outbox_open ON outbox(id) WHERE state IN ('prepared', 'sending')",
]
const prune = `DELETE FROM outbox WHERE state NOT IN ('prepared', 'sending')
  AND id < (SELECT id FROM outbox ORDER BY id DESC LIMIT 1 OFFSET ?)`
/** Closed rows are kept for delivery errors of runs and for buttons that are pressed late. */
const maxClosedRows = 500

type OutboxBody = { readonly body: string }
type StoredOutboxRow = Omit<OutboxRow, 'deliveryState'> & { readonly custody: DeliveryRecord }

function rowOf({ body }: OutboxBody): OutboxRow {
  const { custody, ...row } = JSON.parse(body) as StoredOutboxRow
  return { ...row, deliveryState: custody }
}

const bodyOf = ({ deliveryState, ...row }: OutboxRow): string =>
  JSON.stringify({ ...row, custody: deliveryState } satisfies StoredOutboxRow)

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
    return (this.#open ??= this.#sql.exec<OutboxBody>(query).toArray().map(rowOf))
  }

  add(row: Omit<OutboxRow, 'id'>): OutboxRow {
    if (!this.#hasTable) for (const statement of schema) this.#sql.exec(statement)
    this.#hasTable = true
    this.#lastId ??= this.#sql.exec<{ id: number }>('SELECT coalesce(max(id), 0) AS id FROM outbox').one().id
    const added = { ...row, id: nextId(this.#lastId) }
    const open = this.listOpen()
    this.#sql.exec(prune, maxClosedRows)
    this.#insert(added)
    this.#lastId = added.id
    this.#open = [...open.filter(({ id }) => id !== added.id), added]
    return added
  }

  /** Replaces a row by its rendered messages. The first keeps its id; without one the row is removed. */
  expand({ id, source: _source, ...row }: OutboxRow, chunks: readonly MessageChunk[]): void {
    const { edits: _edits, replyTo: _replyTo, ...following } = row
    const rows = chunks
      .slice(0, idsPerRow)
      .map((chunk, n) => ({ ...(n === 0 ? row : following), id: id + n, chunk }) satisfies OutboxRow)
    const open = this.listOpen()
    this.#sql.exec('DELETE FROM outbox WHERE id = ?', id)
    for (const each of rows) this.#insert(each)
    this.#lastId = Math.max(this.#lastId ?? 0, rows.at(-1)?.id ?? 0)
    this.#open = open.flatMap((other) => (other.id === id ? rows : [other]))
  }

  /** Replaces a rendered row by its parts. They and the open rows of the same text get new ids in the same order. */
  split({ id, ...row }: OutboxRow, chunks: readonly MessageChunk[]): void {
    const { edits: _edits, replyTo: _replyTo, ...following } = row
    const open = this.listOpen()
    const isSameText = (other: OutboxRow) => other.id > id && other.id < nextId(id)
    const parts = chunks.map((chunk, n) => ({ ...(n === 0 ? row : following), id: id + 1 + n, chunk }))
    const behind = open.filter(isSameText).map((other) => ({ ...other, id: other.id + chunks.length }))
    for (const other of open)
      if (other.id === id || isSameText(other)) this.#sql.exec('DELETE FROM outbox WHERE id = ?', other.id)
    for (const each of [...parts, ...behind]) this.#insert(each)
    this.#lastId = Math.max(this.#lastId ?? 0, [...parts, ...behind].at(-1)?.id ?? 0)
    this.#open = open.flatMap((other) => (other.id === id ? [...parts, ...behind] : isSameText(other) ? [] : [other]))
  }

  #insert(row: OutboxRow): void {
    this.#sql.exec('INSERT INTO outbox VALUES (?, ?, ?, ?)', row.id, row.run, row.deliveryState.state, bodyOf(row))
  }

  update(row: OutboxRow): void {
    const { id, deliveryState } = row
    this.#sql.exec('UPDATE outbox SET state = ?, body = ? WHERE id = ?', deliveryState.state, bodyOf(row), id)
    this.#open = this.listOpen().flatMap((other) => (other.id === id ? (isOpen(deliveryState) ? [row] : []) : [other]))
  }

  get(id: number): OutboxRow | undefined {
    if (!this.#hasTable) return undefined
    return this.#sql.exec<OutboxBody>('SELECT body FROM outbox WHERE id = ?', id).toArray().map(rowOf)[0]
  }

  /** The message that the platform knows by this id. */
  findSent(platformId: string): OutboxRow | undefined {
    if (!this.#hasTable) return undefined
    const query = "SELECT body FROM outbox WHERE state = 'sent' AND body ->> '$.custody.platformId' = ?"
    return this.#sql.exec<OutboxBody>(query, platformId).toArray().map(rowOf)[0]
  }

  /** The messages that are, or were, sent with this handle. */
  countHandle({ token }: ReplyHandle): number {
    if (!this.#hasTable) return 0
    const query = "SELECT count(*) AS n FROM outbox WHERE body ->> '$.replyHandle.token' = ?"
    return this.#sql.exec<{ n: number }>(query, token).one().n
  }

  listByRun(run: string): readonly OutboxRow[] {
    if (!this.#hasTable) return []
    return this.#sql.exec<OutboxBody>('SELECT body FROM outbox WHERE run = ? ORDER BY id', run).toArray().map(rowOf)
  }
}

const nextId = (last: number): number => (Math.floor((last - 1) / idsPerRow) + 1) * idsPerRow + 1

/**
 * Stores the messages that were delivered into the session until they are part of the conversation, and the keys of all
 * delivered messages: however often one is delivered, it counts once.
 */

import type { Marks } from '#agent/core/marks.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { MessageSource } from '#agent/core/message.ts'

/** A message that nobody typed: the result of a job, a subagent or a background turn. */
export type InjectedMessage = {
  /** The same for every attempt to deliver the message. */
  readonly key: string
  readonly source: MessageSource
  readonly text: string
  /** Absent in messages that are older than marks. */
  readonly marks?: Marks
  /** The agent answers it in a turn. Otherwise it only joins the conversation, where the next turn reads it. */
  readonly startsTurn: boolean
}

export type WaitingMessage = InjectedMessage & { readonly id: number; readonly authority: Authority }

const schema = `CREATE TABLE IF NOT EXISTS delivered (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
  at INTEGER NOT NULL, body TEXT)`
/** Senders give up earlier. */
const keyRetentionMs = 30 * 86_400_000
const maxWaiting = 1_000
const maxWaitingChars = 8_000_000

export class InjectedMessages {
  readonly #sql: SqlStorage
  #hasTable: boolean
  #isPruned = false
  /** Loaded with the first use. */
  #waiting: readonly WaitingMessage[] | undefined

  /** `exists`: the table was there when the object started. */
  constructor(sql: SqlStorage, exists: boolean) {
    this.#sql = sql
    this.#hasTable = exists
  }

  has(key: string): boolean {
    return this.#hasTable && this.#sql.exec('SELECT 1 FROM delivered WHERE key = ?', key).toArray().length > 0
  }

  /** The messages that are no part of the conversation yet, in the order of their arrival. */
  waiting(): readonly WaitingMessage[] {
    return (this.#waiting ??= this.#hasTable ? this.#read() : [])
  }

  hasRoomFor({ text }: InjectedMessage): boolean {
    const chars = this.waiting().reduce((sum, one) => sum + one.text.length, text.length)
    return this.waiting().length < maxWaiting && chars <= maxWaitingChars
  }

  add(message: InjectedMessage, authority: Authority, at: number): void {
    if (!this.#hasTable) this.#sql.exec(schema)
    this.#hasTable = true
    this.#prune(at)
    const { key, ...body } = message
    const insert = 'INSERT INTO delivered (key, at, body) VALUES (?, ?, ?) RETURNING id'
    const { id } = this.#sql.exec<{ id: number }>(insert, key, at, JSON.stringify({ ...body, authority })).one()
    this.#waiting = [...this.waiting().filter((one) => one.id !== id), { ...message, id, authority }]
  }

  /** Called in the write that makes the messages a part of the conversation. Their keys stay. */
  markTaken(messages: readonly WaitingMessage[]): void {
    for (const { id } of messages) this.#sql.exec('UPDATE delivered SET body = NULL WHERE id = ?', id)
    const taken = new Set(messages.map(({ id }) => id))
    this.#waiting = this.waiting().filter(({ id }) => !taken.has(id))
  }

  #read(): readonly WaitingMessage[] {
    return this.#sql
      .exec<{ id: number; key: string; body: string }>(
        'SELECT id, key, body FROM delivered WHERE body IS NOT NULL ORDER BY id',
      )
      .toArray()
      .map(({ id, key, body }) => ({ ...(JSON.parse(body) as Omit<WaitingMessage, 'id' | 'key'>), id, key }))
  }

  #prune(now: number): void {
    if (this.#isPruned) return
    this.#sql.exec('DELETE FROM delivered WHERE body IS NULL AND at < ?', now - keyRetentionMs)
    this.#isPruned = true
  }
}

/**
 * Stores runs that are no part of the conversation: the answers of commands. They are read like any ended run, and no
 * model ever gets them.
 */

import type { Entry } from '#agent/core/history.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { endTurn, newTurn, type Turn } from '#agent/core/turn.ts'

export type Aside = {
  readonly runId: string
  readonly at: number
  readonly text: string
  /** The seq of the last message when the command was answered. */
  readonly after: number
  /** The fields by which the API shows the run. */
  readonly options: Pick<TurnOptions, 'response'>
}

const schema = 'CREATE TABLE IF NOT EXISTS aside (id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE, body TEXT NOT NULL)'
/** Older ones are dropped: they are needed for repeats and for clients that still read them. */
const maxAsides = 200
/** Above every seq of a message, so that no two ids of items are equal. */
const firstSeq = 1_000_000_000_000

type AsideRow = { readonly id: number; readonly body: string }

export class Asides {
  readonly #sql: SqlStorage
  #hasTable: boolean

  /** `exists`: the table was there when the object started. */
  constructor(sql: SqlStorage, exists: boolean) {
    this.#sql = sql
    this.#hasTable = exists
  }

  add(aside: Aside): void {
    if (!this.#hasTable) this.#sql.exec(schema)
    this.#hasTable = true
    const insert = 'INSERT INTO aside (run, body) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING id'
    const [row] = this.#sql.exec<{ id: number }>(insert, aside.runId, JSON.stringify(aside)).toArray()
    if (row) this.#sql.exec('DELETE FROM aside WHERE id <= ?', row.id - maxAsides)
  }

  find(runId: string): Aside | undefined {
    const row = this.#read(runId)
    return row && (JSON.parse(row.body) as Aside)
  }

  /** The run as a turn that has ended. */
  turnOf(runId: string): Turn | undefined {
    const aside = this.find(runId)
    return aside && endTurn(newTurn(runId, aside.at, 0, aside.options), 'answered', aside.at)
  }

  /** The answer as the only message of its run. */
  entriesOf(runId: string): Entry[] {
    const row = this.#read(runId)
    if (!row) return []
    const { text, at } = JSON.parse(row.body) as Aside
    const seq = firstSeq + row.id
    const message = { role: 'assistant', content: [{ type: 'text', text }], stop: 'end', source: 'notice' } as const
    return [{ id: `msg_${seq}`, seq, runId, at, tokens: 0, message }]
  }

  #read(runId: string): AsideRow | undefined {
    if (!this.#hasTable) return undefined
    return this.#sql.exec<AsideRow>('SELECT id, body FROM aside WHERE run = ?', runId).toArray()[0]
  }
}

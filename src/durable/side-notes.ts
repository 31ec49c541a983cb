/**
 * Calls beside the conversation that stand in no turn's books yet: what each of them costs if nothing is ever heard of
 * it again, written before it is made, and what it did cost, until a turn that has it is written. So no crash makes
 * them free. Made with the first of them: most sessions have none.
 */

import type { Usage } from '../agent/model/usage.ts'

export type SideNote = { readonly id: number; readonly usage: Usage }

export class SideNotes {
  readonly #sql: SqlStorage
  readonly #written = new Set<number>()
  #isThere: boolean
  #last = 0

  constructor(sql: SqlStorage, isThere: boolean) {
    this.#sql = sql
    this.#isThere = isThere
  }

  /** What a former life of the object has left. */
  left(): readonly SideNote[] {
    if (!this.#isThere) return []
    const rows = this.#sql.exec<{ id: number; usage: string }>('SELECT id, usage FROM aside ORDER BY id').toArray()
    for (const { id } of rows) this.#written.add((this.#last = id))
    return rows.map(({ id, usage }) => ({ id, usage: JSON.parse(usage) as Usage }))
  }

  /** The number of a new one. It costs nothing until something is put. */
  next(): number {
    return ++this.#last
  }

  put({ id, usage }: SideNote): void {
    if (!usage.by) return this.drop([id])
    if (!this.#isThere) this.#sql.exec('CREATE TABLE IF NOT EXISTS aside (id INTEGER PRIMARY KEY, usage TEXT NOT NULL)')
    this.#isThere = true
    this.#written.add(id)
    this.#sql.exec(
      'INSERT INTO aside VALUES (?, ?) ON CONFLICT DO UPDATE SET usage = excluded.usage',
      id,
      JSON.stringify(usage),
    )
  }

  drop(ids: readonly number[]): void {
    for (const id of ids) if (this.#written.delete(id)) this.#sql.exec('DELETE FROM aside WHERE id = ?', id)
  }
}

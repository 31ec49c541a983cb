/**
 * Calls beside the conversation that stand in no turn's books yet: what each of them costs if nothing is ever heard of
 * it again, written before it is made, and what it did cost, until a turn that has it is written. So neither a crash
 * nor an eviction makes them free. All in one row, which is there only as long as there is something in it.
 */

import type { Usage } from '../../agent/model/usage.ts'
import type { Journal } from './journal.ts'

export type SideNote = { readonly id: number; readonly usage: Usage }

export class SideNotes {
  readonly #journal: Journal
  readonly #kept: Map<number, Usage>
  #last: number

  constructor(journal: Journal) {
    this.#journal = journal
    this.#kept = new Map(journal.asides())
    this.#last = Math.max(0, ...this.#kept.keys())
  }

  /** At the beginning of a life: what a former one has left. */
  left(): readonly SideNote[] {
    return [...this.#kept].map(([id, usage]) => ({ id, usage }))
  }

  /** The number of a new one. It costs nothing until something is put. */
  next(): number {
    return ++this.#last
  }

  put({ id, usage }: SideNote): void {
    if (!usage.by) return this.drop([id])
    this.#kept.set(id, usage)
    this.#journal.putAsides([...this.#kept])
  }

  drop(ids: readonly number[]): void {
    const gone = ids.filter((id) => this.#kept.delete(id))
    if (gone.length) this.#journal.putAsides([...this.#kept])
  }
}

/**
 * Stores the usage of side calls until a turn bills it. An estimate is written before each call and replaced by the real
 * usage, so that a crash or an eviction does not lose the cost. All notes are one row, deleted when there are none.
 */

import type { Usage } from '#agent/core/usage.ts'
import type { Journal } from './journal.ts'

export type SideCallNote = { readonly id: number; readonly usage: Usage }

export class SideCallNotes {
  readonly #journal: Journal
  readonly #usages: Map<number, Usage>
  #lastId: number

  constructor(journal: Journal) {
    this.#journal = journal
    this.#usages = new Map(journal.sideCallNotes())
    this.#lastId = Math.max(0, ...this.#usages.keys())
  }

  /** The notes that an earlier instance of the object has left. */
  list(): readonly SideCallNote[] {
    return [...this.#usages].map(([id, usage]) => ({ id, usage }))
  }

  /** Reserves an id. Nothing is written until it is set. */
  nextId(): number {
    return ++this.#lastId
  }

  set({ id, usage }: SideCallNote): void {
    if (!usage.by) return this.delete([id])
    this.#usages.set(id, usage)
    this.#journal.putSideCallNotes([...this.#usages])
  }

  delete(ids: readonly number[]): void {
    const deleted = ids.filter((id) => this.#usages.delete(id))
    if (deleted.length) this.#journal.putSideCallNotes([...this.#usages])
  }
}

/**
 * Thinking as gateways pass it on: a list of pieces, some of them sealed, that has to come back unchanged. It comes
 * in fragments; those of one piece stand next to each other.
 */

import type { Room } from '../shared/read-body.ts'

export type ReasoningDetail = { readonly type?: string; readonly index?: number; readonly [more: string]: unknown }

type Growing = { type?: string; index?: number; [more: string]: unknown }

/** Fields that grow from fragment to fragment; of all others the last one holds. */
const growing = ['text', 'summary', 'data'] as const

export class ReasoningDetails {
  readonly #room: Room
  readonly #all: Growing[] = []

  constructor(room: Room) {
    this.#room = room
  }

  get all(): readonly ReasoningDetail[] {
    return this.#all
  }

  take(fragments: readonly ReasoningDetail[]): void {
    for (const fragment of fragments) {
      const last = this.#all.at(-1)
      const goesOn =
        last && last.type === fragment.type && fragment.index !== undefined && last.index === fragment.index
      if (goesOn) this.#grow(last, fragment)
      else this.#begin(fragment)
    }
  }

  #begin(fragment: ReasoningDetail): void {
    this.#room.takePart()
    this.#room.take(JSON.stringify(fragment))
    this.#all.push({ ...fragment })
  }

  /** In its place: a copy for each fragment would take all that came before again and again. */
  #grow(last: Growing, fragment: ReasoningDetail): void {
    for (const [name, value] of Object.entries(fragment)) {
      if (value === null || value === undefined) continue
      const before = last[name]
      if (typeof value === 'string') this.#room.take(value)
      if (!Object.hasOwn(last, name)) this.#room.take(JSON.stringify([name, value]))
      const grows = growing.some((one) => one === name) && typeof before === 'string' && typeof value === 'string'
      Object.defineProperty(last, name, { ...plain, value: grows ? before + value : value })
    }
  }
}

/** A field may have any name, even one that means something to objects. */
const plain = { configurable: true, enumerable: true, writable: true }

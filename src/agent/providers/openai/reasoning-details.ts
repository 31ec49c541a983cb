/**
 * Assembles `reasoning_details`: thinking as gateways send it, a list of pieces that must go back unchanged. The
 * fragments of one piece arrive one after the other.
 */

import type { ReplySizeLimit } from '../shared/reply-size-limit.ts'

export type ReasoningDetail = { readonly type?: string; readonly index?: number; readonly [field: string]: unknown }

type PartialDetail = { type?: string; index?: number; [field: string]: unknown }

/** Fields whose fragments are concatenated. For all others the last value counts. */
const appendedFields = ['text', 'summary', 'data'] as const

export class ReasoningDetails {
  readonly #sizeLimit: ReplySizeLimit
  readonly #all: PartialDetail[] = []

  constructor(sizeLimit: ReplySizeLimit) {
    this.#sizeLimit = sizeLimit
  }

  get all(): readonly ReasoningDetail[] {
    return this.#all
  }

  add(fragments: readonly ReasoningDetail[]): void {
    for (const fragment of fragments) {
      const last = this.#all.at(-1)
      const isContinuation =
        last && last.type === fragment.type && fragment.index !== undefined && last.index === fragment.index
      if (isContinuation) this.#append(last, fragment)
      else this.#start(fragment)
    }
  }

  #start(fragment: ReasoningDetail): void {
    this.#sizeLimit.countPart()
    this.#sizeLimit.countText(JSON.stringify(fragment))
    this.#all.push({ ...fragment })
  }

  /** Changes the detail in place. Copying it for every fragment would take quadratic time. */
  #append(last: PartialDetail, fragment: ReasoningDetail): void {
    for (const [name, value] of Object.entries(fragment)) {
      if (value === null || value === undefined) continue
      const before = last[name]
      if (typeof value === 'string') this.#sizeLimit.countText(value)
      if (!Object.hasOwn(last, name)) this.#sizeLimit.countText(JSON.stringify([name, value]))
      const isAppended =
        appendedFields.some((field) => field === name) && typeof before === 'string' && typeof value === 'string'
      Object.defineProperty(last, name, { ...plainProperty, value: isAppended ? before + value : value })
    }
  }
}

/** Field names are untrusted, so `__proto__` must become a plain property. */
const plainProperty = { configurable: true, enumerable: true, writable: true }

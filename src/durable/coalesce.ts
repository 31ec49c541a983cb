/**
 * Gathers deltas: the first goes out at once, what follows within the window goes out together. Never
 * later than the window, and always before anything else is said (`flush`).
 */

import type { Delta } from '../agent/model/dialect.ts'

const windowMs = 40

export class Coalescer {
  readonly #emit: (kind: 'm' | 'r', text: string) => void
  #kind: 'm' | 'r' = 'm'
  #text = ''
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(emit: (kind: 'm' | 'r', text: string) => void) {
    this.#emit = emit
  }

  take({ of, text }: Delta): void {
    const kind = of === 'text' ? 'm' : 'r'
    if (kind !== this.#kind) this.#put()
    this.#kind = kind
    this.#text += text
    if (this.#timer === undefined) this.#tick()
  }

  #tick = () => {
    this.#timer = undefined
    if (!this.#text) return
    this.#put()
    this.#timer = setTimeout(this.#tick, windowMs)
  }

  flush(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer)
    this.#timer = undefined
    this.#put()
  }

  /** Late pieces of a call that was given up must not reach anyone. */
  discard(): void {
    this.#text = ''
    this.flush()
  }

  #put() {
    if (!this.#text) return
    const text = this.#text
    this.#text = ''
    this.#emit(this.#kind, text)
  }
}

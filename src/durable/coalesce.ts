/**
 * Gathers deltas: the first goes out at once, what follows within the window goes out together, a few
 * dozen times a second, and always before anything else is said (`flush`).
 */

import type { Delta } from '../agent/model/dialect.ts'

const windowMs = 40
const longestMs = 200

export class Coalescer {
  readonly #emit: (kind: 'm' | 'r', text: string) => void
  #kind: 'm' | 'r' = 'm'
  #text = ''
  /** When the next tick should come. */
  #due = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(emit: (kind: 'm' | 'r', text: string) => void) {
    this.#emit = emit
  }

  take({ of, text }: Delta): void {
    const kind = of === 'text' ? 'm' : 'r'
    if (kind !== this.#kind) this.#put()
    this.#kind = kind
    this.#text += text
    if (this.#timer === undefined) {
      this.#due = Date.now()
      this.#tick()
    }
  }

  #tick = () => {
    this.#timer = undefined
    if (!this.#text) return
    this.#put()
    // A tick that comes late says that the machine is busy: fewer and larger pieces let everybody end sooner.
    const now = Date.now()
    const late = Math.max(0, now - this.#due)
    const pause = Math.min(windowMs + 4 * late, longestMs)
    this.#due = now + pause
    this.#timer = setTimeout(this.#tick, pause)
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

/**
 * Gathers deltas: the first goes out at once, what follows within the window goes out together, a few
 * dozen times a second, and always before anything else is said (`flush`). Deltas push each other out: a timer only
 * sees to those that no other follows, because a timer costs as much as a delta.
 */

import type { Delta } from '../../agent/model/dialect.ts'
import { joinCrowd } from '../platform/isolate-load.ts'
import { clock, type Timers } from '../platform/clock.ts'

/** Milliseconds. Where many are answered at once, fewer and larger pieces let everybody end sooner. */
const window = { least: 40, each: 1.25, most: 200 }

const windowFor = (sessions: number): number => Math.min(Math.max(window.least, window.each * sessions), window.most)

export class DeltaBuffer {
  readonly #sessionId: string
  readonly #emit: (kind: 'm' | 'r', text: string) => void
  #kind: 'm' | 'r' = 'm'
  #text = ''
  #windowMs = 0
  /** When the window ends within which deltas are gathered. */
  #until = 0
  readonly #timers: Timers
  /** Takes the timer back. */
  #cancel: (() => void) | undefined

  constructor(sessionId: string, emit: (kind: 'm' | 'r', text: string) => void, timers = clock) {
    this.#sessionId = sessionId
    this.#emit = emit
    this.#timers = timers
  }

  take({ of, text }: Delta): void {
    const kind = of === 'text' ? 'm' : 'r'
    if (kind !== this.#kind) this.#put()
    this.#kind = kind
    this.#text += text
    const now = this.#timers.now()
    if (now >= this.#until) {
      this.#put()
      this.#windowMs = windowFor(joinCrowd(this.#sessionId, now))
      this.#until = now + this.#windowMs
    } else this.#cancel ??= this.#timers.later(2 * this.#windowMs, this.#late)
  }

  /** Whatever has been gathered since the timer was set: nothing has pushed it out. */
  readonly #late = () => {
    this.#cancel = undefined
    const left = this.#until - this.#timers.now()
    if (!this.#text) return
    if (left > 0) this.#cancel = this.#timers.later(left, this.#late)
    else this.#put()
  }

  flush(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#until = 0
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

/**
 * Joins the streamed deltas of a model call, so that subscribers get at most one event per interval. The first delta
 * is emitted at once; `flush` must be called before any other event is emitted, so that the order holds. The next delta
 * usually empties the buffer; a timer does it only when no delta follows, because a timer costs as much as a delta.
 */

import type { Delta } from '#agent/core/dialect.ts'
import { clock, type Timers } from '#durable/platform/clock.ts'

const intervalMs = 40

export class DeltaBuffer {
  readonly #emit: (kind: 'm' | 'r', text: string) => void
  readonly #timers: Timers
  #kind: 'm' | 'r' = 'm'
  #text = ''
  /** When the interval ends within which deltas are buffered. */
  #bufferUntil = 0
  #cancelTimer: (() => void) | undefined

  constructor(emit: (kind: 'm' | 'r', text: string) => void, timers = clock) {
    this.#emit = emit
    this.#timers = timers
  }

  append({ of, text }: Delta): void {
    const kind = of === 'text' ? 'm' : 'r'
    if (kind !== this.#kind) this.#emitBuffered()
    this.#kind = kind
    this.#text += text
    const now = this.#timers.now()
    if (now >= this.#bufferUntil) {
      this.#emitBuffered()
      this.#bufferUntil = now + intervalMs
    } else this.#cancelTimer ??= this.#timers.schedule(2 * intervalMs, this.#onTimer)
  }

  /** Emits what no later delta has pushed out since the timer was set. */
  readonly #onTimer = () => {
    this.#cancelTimer = undefined
    if (!this.#text) return
    const leftMs = this.#bufferUntil - this.#timers.now()
    if (leftMs > 0) this.#cancelTimer = this.#timers.schedule(leftMs, this.#onTimer)
    else this.#emitBuffered()
  }

  flush(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#bufferUntil = 0
    this.#emitBuffered()
  }

  /** Drops the buffered deltas of a call that was given up. */
  discard(): void {
    this.#text = ''
    this.flush()
  }

  #emitBuffered() {
    if (!this.#text) return
    const text = this.#text
    this.#text = ''
    this.#emit(this.#kind, text)
  }
}

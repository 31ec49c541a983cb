/** Shows the arguments of a long call while the model writes them. A short call is there before anybody could read that. */

import type { Event } from '#agent/core/event.ts'
import { clock } from '#durable/platform/clock.ts'

const minChars = 400
const intervalMs = 250
/** Of one event. Subscribers see the end of what was written since the last one. */
const maxChars = 2_000

type Generating = Extract<Event, { type: 'tool.generating' }>

export class ArgumentsPreview {
  readonly #emit: (event: Generating) => void
  #tool = ''
  #chars = 0
  #text = ''
  #quietUntil = 0

  constructor(emit: (event: Generating) => void) {
    this.#emit = emit
  }

  append(tool: string, piece: string): void {
    if (tool !== this.#tool) this.reset()
    this.#tool = tool
    this.#chars += piece.length
    this.#text = (this.#text + piece).slice(-maxChars)
    if (this.#chars < minChars || clock.now() < this.#quietUntil) return
    this.#quietUntil = clock.now() + intervalMs
    this.#emit({ type: 'tool.generating', tool, delta: this.#text, chars: this.#chars })
    this.#text = ''
  }

  /** The call is complete, or its model call has ended. */
  reset(): void {
    this.#tool = ''
    this.#chars = 0
    this.#text = ''
    this.#quietUntil = 0
  }
}

/** The sign that somebody is typing. It is shown again and again while a turn is at work, and always comes to an end. */

import type { Outcome } from '../../agent/model/delivery.ts'
import { clock } from '../platform/clock.ts'

/** However long a turn takes: nobody looks at it that long. */
const longestMs = 10 * 60_000

export class Typing {
  /** A new one for each time it begins: what is left of an earlier one goes on with nothing. */
  #current: AbortController | undefined

  async begin(show: () => Promise<Outcome>, everyMs: number): Promise<void> {
    this.end()
    const mine = (this.#current = new AbortController())
    const until = clock.now() + longestMs
    while (!mine.signal.aborted && clock.now() < until) {
      // It is an ornament: whatever goes wrong with it ends it, and nothing else.
      const outcome = await show().catch(() => undefined)
      if (outcome?.of !== 'sent') break
      // Nothing is left over that would keep the object in memory.
      await clock.wait(everyMs, { signal: mine.signal }).catch(() => undefined)
    }
    if (this.#current === mine) this.#current = undefined
  }

  end(): void {
    this.#current?.abort()
    this.#current = undefined
  }
}

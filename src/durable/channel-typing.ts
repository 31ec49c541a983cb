/** The sign that somebody is typing. It is shown again and again while a turn is at work, and always comes to an end. */

import type { Outcome } from '../agent/model/delivery.ts'

/** However long a turn takes: nobody looks at it that long. */
const longestMs = 10 * 60_000

export class Typing {
  /** A new one for each time it begins: what is left of an earlier one goes on with nothing. */
  #current: object | undefined

  async begin(show: () => Promise<Outcome>, everyMs: number): Promise<void> {
    const mine = (this.#current = {})
    const until = Date.now() + longestMs
    while (this.#current === mine && Date.now() < until) {
      // It is an ornament: whatever goes wrong with it ends it, and nothing else.
      const outcome = await show().catch(() => undefined)
      if (outcome?.of !== 'sent') break
      await scheduler.wait(everyMs)
    }
    if (this.#current === mine) this.#current = undefined
  }

  end(): void {
    this.#current = undefined
  }
}

/** Keeps the typing indicator of a chat visible while a turn runs. */

import type { SendOutcome } from '../../agent/model/delivery.ts'
import { clock } from '../platform/clock.ts'

const maxDurationMs = 10 * 60_000

export class TypingIndicator {
  /** One per start, so that the loop of an earlier start cannot continue. */
  #current: AbortController | undefined

  async start(show: () => Promise<SendOutcome>, intervalMs: number): Promise<void> {
    this.stop()
    const controller = (this.#current = new AbortController())
    const until = clock.now() + maxDurationMs
    while (!controller.signal.aborted && clock.now() < until) {
      // Any error ends the indicator, and affects nothing else.
      const outcome = await show().catch(() => undefined)
      if (outcome?.of !== 'sent') break
      // The abort ends the timer too: a pending one would keep the object in memory.
      await clock.wait(intervalMs, { signal: controller.signal }).catch(() => undefined)
    }
    if (this.#current === controller) this.#current = undefined
  }

  stop(): void {
    this.#current?.abort()
    this.#current = undefined
  }
}

/** Keeps the typing indicator of a chat visible while a turn runs. */

import { clock } from '#durable/platform/clock.ts'

const maxDurationMs = 10 * 60_000

export class TypingIndicator {
  /** One per start, so that the loop of an earlier start cannot continue. */
  #current: AbortController | undefined

  /** `show` returns the pause until it must be shown again; undefined ends the indicator. */
  async start(show: () => Promise<number | undefined>): Promise<void> {
    if (this.#current) return
    const controller = (this.#current = new AbortController())
    const until = clock.now() + maxDurationMs
    while (!controller.signal.aborted && clock.now() < until) {
      // Any error ends the indicator, and affects nothing else.
      const pauseMs = await show().catch(() => undefined)
      if (pauseMs === undefined) break
      // The abort ends the timer too: a pending one would keep the object in memory.
      await clock.wait(pauseMs, { signal: controller.signal }).catch(() => undefined)
    }
    if (this.#current === controller) this.#current = undefined
  }

  stop(): void {
    this.#current?.abort()
    this.#current = undefined
  }
}

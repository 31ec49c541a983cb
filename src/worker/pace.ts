/**
 * Takes up requests a few at a time. Work that is ready keeps the one thread from its connections: when many requests
 * come in the same moment, all of them advance in step, and hardly anything leaves before the last one has got as far
 * as the first. One behind the other, each is through when it is through, and the last no later.
 */

import { clock, type Timers } from '../durable/platform/clock.ts'

/** Enough to keep the thread busy while one of them waits for its storage; more of them when very many wait. */
const abreast = 3
const share = 1 / 16
/** Milliseconds without any movement, after which the one who leads is taken for gone: its client has left. */
const stuckMs = 250

export class Pace {
  readonly #timers: Timers
  /** In order. The first one leads: it waits until the thread has looked at its connections, and lets the next go. */
  readonly #waiting: (() => void)[] = []
  #busy = 0
  #moved = 0

  constructor(timers: Timers) {
    this.#timers = timers
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isStuck) this.#release(this.#waiting.length)
    if (this.#busy < abreast && !this.#waiting.length) this.#busy++
    else await this.#place()
    this.#moved = this.#timers.now()
    try {
      return await work()
    } finally {
      this.#busy = Math.max(0, this.#busy - 1)
    }
  }

  get #isStuck(): boolean {
    return this.#timers.now() - this.#moved > stuckMs
  }

  async #place(): Promise<void> {
    let called = Promise.withResolvers<void>()
    const call = (): void => called.resolve()
    this.#waiting.push(call)
    while (this.#waiting.includes(call)) {
      if (this.#waiting[0] === call) {
        await this.#timers.wait(0)
        if (this.#waiting[0] === call) this.#release(Math.max(abreast, Math.ceil(this.#waiting.length * share)))
      } else {
        const cancel = this.#timers.later(stuckMs, call)
        await called.promise
        cancel()
        called = Promise.withResolvers<void>()
        if (this.#isStuck) this.#release(this.#waiting.indexOf(call))
      }
    }
  }

  /** Those who were let go before count no longer: what they have to wait for, they do not wait for here. */
  #release(count: number): void {
    this.#moved = this.#timers.now()
    const released = this.#waiting.splice(0, count)
    this.#busy = released.length
    for (const call of released) call()
    this.#waiting[0]?.()
  }
}

const pace = new Pace(clock)

/** One request wakes another one here, which the platform allows by this flag. Without it, nobody waits for anybody. */
const mayWakeOthers = Cloudflare.compatibilityFlags['handle_cross_request_promise_resolution'] === true

export const paced = <T>(work: () => Promise<T>): Promise<T> => (mayWakeOthers ? pace.take(work) : work())

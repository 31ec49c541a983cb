/**
 * Wakes the parts of a Durable Object. Each part has a time of its own and does the work that is due then. A part that
 * fails waits longer after each failure; the other parts are not affected.
 */

import { clock } from './clock.ts'
import { retryDelayMs, type WakeSchedule } from './schedule.ts'

/** A part with work to do at a time of its own. The times are milliseconds since 1970. */
export type ScheduledPart = {
  /** When the part has to wake next. Undefined: never. */
  readonly wakeAt: () => number | undefined
  /** Does the work that is due. A rejection is retried with a growing delay. */
  readonly wake: (now: number) => Promise<void> | void
}

/** Parts by the reason of their alarm. */
export type ScheduledParts<Reason extends string = string> = Readonly<Record<Reason, ScheduledPart>>

/** A failed part waits until `retryAt`, even if its own time is earlier. */
type FailedWake = { readonly failures: number; readonly retryAt: number }

export class PartSchedule<Reason extends string = string> {
  readonly #parts: () => ScheduledParts<Reason>
  readonly #onFailure: (reason: Reason, error: unknown) => void
  readonly #failed = new Map<Reason, FailedWake>()

  /** `onFailure` reports an error. It may throw the error on instead: then the part does not wait. */
  constructor(parts: () => ScheduledParts<Reason>, onFailure: (reason: Reason, error: unknown) => void) {
    this.#parts = parts
    this.#onFailure = onFailure
  }

  get reasons(): readonly Reason[] {
    return Object.keys(this.#parts()) as Reason[]
  }

  /** The time of each part. */
  wakes(): WakeSchedule<Reason>['wakes'] {
    const times = this.reasons.map((reason) => [reason, this.wakeAt(reason)] as const)
    return Object.fromEntries(times) as WakeSchedule<Reason>['wakes']
  }

  wakeAt(reason: Reason): number | undefined {
    const at = this.#parts()[reason].wakeAt()
    return at === undefined ? undefined : Math.max(at, this.#failed.get(reason)?.retryAt ?? 0)
  }

  /** Whether a part has failed, and is not to be tried again yet. */
  isWaiting(reason: Reason, now: number): boolean {
    return (this.#failed.get(reason)?.retryAt ?? 0) > now
  }

  /** Does the work of a part. Rejects only with an error that `onFailure` throws on. */
  async wake(reason: Reason, now: number): Promise<void> {
    try {
      await this.#parts()[reason].wake(now)
      this.#failed.delete(reason)
    } catch (error) {
      this.#onFailure(reason, error)
      const failures = (this.#failed.get(reason)?.failures ?? 0) + 1
      this.#failed.set(reason, { failures, retryAt: clock.now() + retryDelayMs(failures) })
    }
  }

  /** Sets the time of a part ahead, in case the object is evicted during its work. */
  postpone(reason: Reason, retryAt: number): void {
    this.#failed.set(reason, { failures: this.#failed.get(reason)?.failures ?? 0, retryAt })
  }
}

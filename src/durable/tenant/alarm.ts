/** Runs the due work of a tenant's parts: its object has one alarm, and each part has its own next time. */

import { log } from '#agent/core/log.ts'
import { clock } from '#durable/platform/clock.ts'
import { type Armed, armAlarm, dueReasons, leaseMs, retryDelayMs, type Schedule } from '#durable/platform/schedule.ts'

/** A part with work to do at a time of its own. The times are milliseconds since 1970. */
export type ScheduledPart = {
  /** When the part has to wake next. Undefined: never. */
  readonly wakeAt: () => number | undefined
  /** Does the work that is due. A rejection is retried with a growing delay. */
  readonly wake: (now: number) => Promise<void> | void
}

/** Parts by the reason of their alarm: the name of the part. */
export type ScheduledParts = Readonly<Record<string, ScheduledPart>>

/** A failed part waits until `retryAt`, even if its own time is earlier. */
type Failure = { readonly failures: number; readonly retryAt: number }

export class TenantAlarm {
  readonly #storage: DurableObjectStorage
  readonly #parts: () => ScheduledParts
  readonly #failed = new Map<string, Failure>()
  #armed: Armed = 'unknown'

  constructor(storage: DurableObjectStorage, parts: () => ScheduledParts) {
    this.#storage = storage
    this.#parts = parts
  }

  /** Sets the alarm to the next time of any part. A part calls it when its times have changed. */
  arm(): void {
    this.#armed = armAlarm(this.#storage, this.#schedule())
  }

  /** Handles the alarm of the object. It is set again before any work: a crash in between is retried. */
  async run(): Promise<void> {
    const now = clock.now()
    this.#armed = 'none'
    const due = dueReasons(this.#schedule(), now)
    for (const reason of due) this.#postpone(reason, now + leaseMs)
    this.arm()
    await Promise.all(due.map((reason) => this.#wake(reason, now)))
    this.arm()
  }

  async #wake(reason: string, now: number): Promise<void> {
    try {
      await this.#parts()[reason]?.wake(now)
      this.#failed.delete(reason)
    } catch (error) {
      const failures = (this.#failed.get(reason)?.failures ?? 0) + 1
      this.#failed.set(reason, { failures, retryAt: clock.now() + retryDelayMs(failures) })
      log.error('tenant.work_failed', `The scheduled work of "${reason}" failed and will be retried.`, { error })
    }
  }

  #postpone(reason: string, retryAt: number): void {
    this.#failed.set(reason, { failures: this.#failed.get(reason)?.failures ?? 0, retryAt })
  }

  #schedule(): Schedule {
    const wakes = Object.entries(this.#parts()).map(([reason, part]) => [reason, this.#timeOf(reason, part)] as const)
    return { wakes: Object.fromEntries(wakes), armed: this.#armed }
  }

  #timeOf(reason: string, part: ScheduledPart): number | undefined {
    const at = part.wakeAt()
    return at === undefined ? undefined : Math.max(at, this.#failed.get(reason)?.retryAt ?? 0)
  }
}

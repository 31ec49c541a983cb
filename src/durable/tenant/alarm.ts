/** Runs the due work of a tenant's parts: its object has one alarm, and each part has its own next time. */

import { log } from '#agent/core/log.ts'
import { clock } from '#durable/platform/clock.ts'
import { PartSchedule, type ScheduledParts } from '#durable/platform/part-schedule.ts'
import { type Armed, armAlarm, dueReasons, leaseMs, type WakeSchedule } from '#durable/platform/schedule.ts'

export class TenantAlarm {
  readonly #storage: DurableObjectStorage
  readonly #parts: PartSchedule
  #armed: Armed = 'unknown'

  constructor(storage: DurableObjectStorage, parts: () => ScheduledParts) {
    this.#storage = storage
    this.#parts = new PartSchedule(parts, (reason, error) =>
      log.error('tenant.work_failed', `The scheduled work of "${reason}" failed and will be retried.`, { error }),
    )
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
    for (const reason of due) this.#parts.postpone(reason, now + leaseMs)
    this.arm()
    await Promise.all(due.map((reason) => this.#parts.wake(reason, now)))
    this.arm()
  }

  #schedule(): WakeSchedule {
    return { wakes: this.#parts.wakes(), armed: this.#armed }
  }
}

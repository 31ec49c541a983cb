/**
 * Counts what the runs of a tenant spend and checks it against the limits of its day and month. Nothing is counted
 * while there is no such limit.
 */

import { RpcTarget } from 'cloudflare:workers'
import { sumUsageSince } from '../../db/usage-totals.ts'
import { clock } from '../platform/clock.ts'
import { type Admission, effectiveLimits } from './effective-limits.ts'
import { type Amount, countsSpending, spansOf, Spending } from './spending.ts'
import type { StoredValues } from './stored-values.ts'

export type BillingOptions = {
  readonly tenantId: string
  readonly sql: SqlStorage
  readonly values: StoredValues
  readonly history: D1Database
}

/** The final amount of a run and the time it ended. */
export type SettledRun = Amount & { readonly at: number }

export class TenantBilling extends RpcTarget {
  readonly #options: BillingOptions
  readonly #spending: Spending

  constructor(options: BillingOptions) {
    super()
    this.#options = options
    this.#spending = new Spending(options.sql)
  }

  /** Records the cost of an open run so far. Returns whether the run may continue. */
  async report(runId: string, amount: Amount): Promise<Admission> {
    await this.startCounting(runId)
    this.#spending.report(runId, amount, clock.now())
    return this.check()
  }

  /** Records the final amount of a run. Repeating it changes nothing. */
  settle(runId: string, { at, ...amount }: SettledRun): void {
    if (this.#isLimited) this.#spending.settle(runId, amount, at)
  }

  /** Checks what was spent against the limits of the day and the month. */
  check(): Admission {
    const over = this.#isLimited ? this.#spending.over(this.#limits, clock.now()) : undefined
    return over ? { ok: false, ...over } : { ok: true }
  }

  /**
   * Starts the counters with the totals of history, once. `runId` is left out of them: the caller reports it. While
   * history is unreachable nothing is counted, and the next call tries again.
   */
  async startCounting(runId: string): Promise<void> {
    if (this.#spending.isCounting || !this.#isLimited) return
    const { history, tenantId } = this.#options
    const now = clock.now()
    const { day, month } = spansOf(now)
    try {
      const totals = await sumUsageSince(history, tenantId, { month: month.from, day: day.from, without: runId })
      if (!this.#spending.isCounting) this.#spending.start(totals, now)
    } catch (error) {
      console.warn('The spending totals could not be read from history.', error)
    }
  }

  /** Stops counting when the last limit is gone: a later limit starts with the totals of history again. */
  limitsChanged(): void {
    if (this.#spending.isCounting && !this.#isLimited) this.#spending.stop()
  }

  get #limits() {
    return effectiveLimits(this.#options.values)
  }

  get #isLimited(): boolean {
    return countsSpending(this.#limits)
  }
}

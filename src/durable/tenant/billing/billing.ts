/**
 * Reserves and counts what the runs of a tenant spend, against the limits of its day and month and of unattended turns.
 * Nothing is counted for the turns of persons while there is no such limit.
 */

import type { HistoryDb } from '#db/shards/sharded-database.ts'
import { log } from '#agent/core/log.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { LimitWarning } from '#agent/policy/spending-limit.ts'
import { sumUsageSince } from '#db/usage-totals.ts'
import { clock } from '#durable/platform/clock.ts'
import { logIdsOf } from '#durable/platform/log-context.ts'
import { type Admission, effectiveLimits } from '../effective-limits.ts'
import {
  type Amount,
  countsSpending,
  type LimitUse,
  noAmount,
  type Over,
  plus,
  listSpans,
  Spending,
  type Demand,
} from './spending.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import type { StoredValues } from '../stored-values.ts'
import { type UnattendedTurn, UnattendedTurns } from './unattended-turns.ts'

export type BillingOptions = {
  readonly mayChange: ChangeCheck
  readonly tenantId: string
  readonly sql: SqlStorage
  readonly values: StoredValues
  readonly history: HistoryDb
}

/** The final amount of a run and the time it ended. */
export type SettledRun = Amount & { readonly at: number }

/** `isReserved`: calls in flight have reserved what is left, so a later try may succeed. */
export type Reservation = (Extract<Admission, { ok: true }> | (Over & { readonly ok: false })) & {
  readonly warning?: LimitWarning
}

/** Share of a limit from which a warning is given, in percent. */
const warningPercent = 80
/** Name of the stored times of the warnings: the start of the day or month, by limit. */
const warnedName = 'warned'

export class TenantBilling extends TenantPart {
  readonly #options: BillingOptions
  readonly #spending: Spending
  readonly #unattended: UnattendedTurns

  constructor(options: BillingOptions) {
    super(options.mayChange)
    this.#options = options
    this.#spending = new Spending(options.sql)
    this.#unattended = new UnattendedTurns(options.sql)
  }

  /** Reserves the most that a call can cost, before it is sent. `spent` and `held` are those of the whole run. */
  async reserve(authority: Authority, runId: string, demand: Demand): Promise<Reservation> {
    await this.startCounting(authority, runId)
    const now = clock.now()
    const { spent, held, call } = demand
    this.#unattended.record(runId, plus(spent, held))
    const refused =
      this.#unattended.over(runId, this.#limits, now) ??
      (this.#isLimited ? this.#spending.reserve(runId, demand, this.#limits, now) : undefined)
    if (!refused) this.#unattended.record(runId, plus(spent, plus(held, call)))
    return { ...(refused ? { ok: false, ...refused } : { ok: true }), ...this.#takeWarning(now) }
  }

  /** Records the cost of an open run so far, and what its calls in flight have reserved. */
  async report(authority: Authority, runId: string, spent: Amount, held = noAmount): Promise<Reservation> {
    await this.startCounting(authority, runId)
    const now = clock.now()
    this.#unattended.record(runId, plus(spent, held))
    if (this.#isLimited) this.#spending.report(runId, { spent, held }, now)
    return { ...this.check(authority), ...this.#takeWarning(now) }
  }

  /** Records the final amount of a run. Repeating it changes nothing. */
  settle(authority: Authority, runId: string, { at, ...amount }: SettledRun): void {
    this.requireOwn(authority)
    this.#unattended.record(runId, amount)
    if (this.#isLimited) this.#spending.settle(runId, amount, at)
  }

  /** Removes a run that belongs to no turn: the next turn counts what it has spent. */
  release(authority: Authority, runId: string): void {
    this.requireOwn(authority)
    this.#spending.release(runId)
  }

  /** Checks what was spent against the limits of the day and the month. */
  check(authority: Authority): Admission {
    this.requireOwn(authority)
    const over = this.#isLimited ? this.#spending.over(this.#limits, clock.now()) : undefined
    return over ? { ok: false, ...over } : { ok: true }
  }

  /** Counts a turn that no person has started, unless a limit refuses it. */
  admitUnattended(authority: Authority, runId: string, turn: UnattendedTurn): Admission {
    this.requireOwn(authority)
    const over = this.#unattended.admit(runId, turn, this.#limits, clock.now())
    return over ? { ok: false, ...over } : { ok: true }
  }

  /** How much of each limit of the day and the month is used. */
  async listUse(authority: Authority): Promise<readonly LimitUse[]> {
    await this.startCounting(authority, '')
    if (!this.#isLimited) return []
    return this.#spending.listUse(this.#limits, clock.now())
  }

  /**
   * Starts the counters with the totals of history, once. `runId` is left out of them: the caller reports it. While
   * history is unreachable only reported runs are counted, and the next call tries again.
   */
  async startCounting(authority: Authority, runId: string): Promise<void> {
    this.requireOwn(authority)
    if (this.#spending.isCounting || !this.#isLimited) return
    const { history, tenantId } = this.#options
    const now = clock.now()
    const { day, month } = listSpans(now)
    try {
      const totals = await sumUsageSince(history, tenantId, { month: month.from, day: day.from, without: runId })
      if (!this.#spending.isCounting) this.#spending.start(totals, now)
    } catch (error) {
      log.warn('billing.unreadable', 'The spending totals could not be read from history.', {
        error,
        run_id: runId || undefined,
        ...logIdsOf(authority),
      })
    }
  }

  /** Stops counting when the last limit is gone: a later limit starts with the totals of history again. */
  limitsChanged(authority: Authority): void {
    this.requireOwn(authority)
    if (this.#spending.isCounting && !this.#isLimited) this.#spending.stop()
  }

  /** Returns a limit that is nearly used up: each limit once in its day or month. */
  #takeWarning(now: number): { readonly warning?: LimitWarning } {
    if (!this.#isLimited) return {}
    const warned = this.#options.values.get<Record<string, number>>(warnedName) ?? {}
    const near = this.#spending
      .listUse(this.#limits, now)
      .find(({ limit, used, max, from }) => used * 100 >= max * warningPercent && warned[limit] !== from)
    if (!near) return {}
    this.#options.values.set(warnedName, { ...warned, [near.limit]: near.from })
    return { warning: { limit: near.limit, percent: Math.floor((near.used / near.max) * 100) } }
  }

  get #limits() {
    return effectiveLimits(this.#options.values)
  }

  get #isLimited(): boolean {
    return countsSpending(this.#limits)
  }
}

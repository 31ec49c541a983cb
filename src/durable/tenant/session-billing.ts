/**
 * Checks a session against its limits and reports its cost to the tenant's object. While the tenant has a limit for
 * the day or month, every model call is reported. The usage of side calls is held until a turn adds it to its own.
 */

import type { Limits } from '../../agent/model/settings.ts'
import type { Turn } from '../../agent/model/turn.ts'
import { addUsage, noUsage, tokensUsed, type Usage } from '../../agent/model/usage.ts'
import { findReachedLimit, type ReachedLimit } from '../../agent/policy/spending-limit.ts'
import { countsSpending } from './spending.ts'
import type { SideCallNote, SideCallNotes } from '../storage/side-call-notes.ts'
import type { SettledRun } from './billing.ts'
import type { Admission } from './effective-limits.ts'
import type { SessionBytes } from './limits.ts'
import type { TenantDO } from './tenant-object.ts'
import { clock } from '../platform/clock.ts'

export type SessionBillingOptions = {
  readonly tenant: () => DurableObjectStub<TenantDO>
  /** The stricter of the tenant's and the session's limits. */
  readonly limits: () => Limits
  readonly usage: () => Usage
  /** The bytes that the session stores now. */
  readonly sessionBytes: () => SessionBytes
  /** Adds usage to a run that has ended. */
  readonly addLateUsage: (runId: string, usage: Usage) => void
  readonly notes: SideCallNotes
}

/** The usage of a run, and the time it is counted at. */
type RunCost = { readonly usage: Usage; readonly at: number }

const amountOf = (usage: Usage) => ({ tokens: tokensUsed(usage), usd: usage.costUsd })

/** Seconds until a retry: a session over its own limit stays over it. */
const sessionLimitRetrySeconds = 86_400

export class SessionBilling {
  readonly notes: SideCallNotes
  readonly #options: SessionBillingOptions
  /** Usage of side calls that no turn has claimed yet, and the ids of their notes. */
  #sideUsage: Usage | undefined
  #sideNotes: number[] = []
  /** Claimed notes. They are deleted when a turn with another usage than `before` is written. */
  #claimed: { readonly notes: readonly number[]; readonly before: Usage | undefined } | undefined
  #reached: ReachedLimit | undefined
  /** Ended runs to report to the tenant's object: the final amount, or only that the slot is free. */
  readonly #unreported = new Map<string, SettledRun | 'slot'>()

  constructor(options: SessionBillingOptions) {
    this.#options = options
    this.notes = options.notes
    for (const note of this.notes.list()) this.#addUnclaimed(note)
  }

  /** Records a side call. The open turn claims its usage, or the next one. */
  addSideCall(note: SideCallNote): void {
    this.notes.set(note)
    if (note.usage.by) this.#addUnclaimed(note)
  }

  #addUnclaimed({ id, usage }: SideCallNote): void {
    this.#sideUsage = addUsage(this.#sideUsage ?? noUsage, usage)
    this.#sideNotes.push(id)
  }

  /** Returns the usage of unclaimed side calls for the turn to add. Their notes stay until the turn is written. */
  claimSideCalls(turn: Turn | undefined): Usage | undefined {
    const usage = this.#sideUsage
    if (!usage) return undefined
    this.#claimed = { notes: [...(this.#claimed?.notes ?? []), ...this.#sideNotes], before: turn?.usage }
    this.#sideUsage = undefined
    this.#sideNotes = []
    return usage
  }

  /** Deletes claimed notes. Called in the synchronous stretch that writes the turn. */
  confirmSideCalls(turn: Turn | undefined): void {
    if (this.#claimed && this.#claimed.before !== turn?.usage) this.#deleteClaimed()
  }

  #deleteClaimed(): void {
    this.notes.delete(this.#claimed?.notes ?? [])
    this.#claimed = undefined
  }

  /** Returns the limit that stops the next model call of this turn. */
  reachedLimit(turn: Turn, now: number): keyof Limits | undefined {
    const limits = this.#options.limits()
    // Checked before every call: the session is only summed when it has a limit.
    const session = limits.usd_per_session === undefined ? noUsage : this.#options.usage()
    return findReachedLimit(limits, { turn: turn.usage, session, reached: this.#reached }, now)
  }

  /**
   * Admits a run against the limits and takes a slot among the tenant's turns. Returns at once when no limit needs the
   * tenant's object. Rejects when that cannot be reached.
   */
  admit(runId: string): Promise<Admission> | Admission {
    const limits = this.#options.limits()
    const { usd_per_session: usd = Infinity, concurrent_turns: turns, storage_bytes: bytes } = limits
    if (usd < Infinity && this.#options.usage().costUsd >= usd)
      return { ok: false, limit: 'usd_per_session', retryAfter: sessionLimitRetrySeconds }
    if (!countsSpending(limits) && turns === undefined && bytes === undefined) return { ok: true }
    return this.#admitAtTenant(runId)
  }

  /** Async, because the promise of an RPC call is no `Promise`: callers could not distinguish it from an admission. */
  async #admitAtTenant(runId: string): Promise<Admission> {
    return this.#options.tenant().limits.admitTurn(runId)
  }

  /** Reports the cost of the turn so far, before the next call is decided. */
  async report(turn: Turn, usage: Usage): Promise<void> {
    if (!countsSpending(this.#options.limits())) return
    try {
      const answer = await this.#options.tenant().billing.report(turn.id, amountOf(addUsage(turn.usage, usage)))
      this.#reached = answer.ok ? undefined : { limit: answer.limit, until: clock.now() + answer.retryAfter * 1_000 }
    } catch (error) {
      // Each report has the total of its run: the next one replaces this one.
      console.warn('The cost of a turn could not be reported to the tenant.', error)
    }
  }

  /** Reports the end of a run: its slot is free, and its cost is final. Rejects when the tenant cannot be reached. */
  async settle(runId: string, cost: RunCost | undefined): Promise<void> {
    // A turn that was stopped in the middle of a tool leaves side calls unclaimed.
    const left = cost && this.claimSideCalls(undefined)
    if (left) {
      this.#options.addLateUsage(runId, left)
      this.#deleteClaimed()
    }
    this.#enqueue(runId, cost && { ...cost, usage: addUsage(cost.usage, left ?? noUsage) })
    await this.flush()
  }

  /** Enqueues the last run after an eviction: it may not have been reported before. Reporting twice is harmless. */
  restore(run: (RunCost & { readonly id: string }) | undefined): void {
    if (run && !this.#unreported.has(run.id)) this.#enqueue(run.id, run)
  }

  /** Enqueues only what a limit of the tenant needs. */
  #enqueue(runId: string, cost: RunCost | undefined): void {
    const limits = this.#options.limits()
    const counts = countsSpending(limits) || limits.storage_bytes !== undefined
    if (cost && counts) this.#unreported.set(runId, { ...amountOf(cost.usage), at: cost.at })
    else if (limits.concurrent_turns !== undefined && !this.#unreported.has(runId)) this.#unreported.set(runId, 'slot')
  }

  /** Reports bytes that were stored outside a turn. Never rejects: the end of the next turn reports them again. */
  async reportStorage(): Promise<void> {
    if (this.#options.limits().storage_bytes === undefined) return
    try {
      await this.#options.tenant().limits.setStoredBytes(this.#options.sessionBytes())
    } catch (error) {
      console.warn('The stored bytes of a session could not be reported to the tenant.', error)
    }
  }

  /** Reports that the session stores nothing any more. Rejects when the tenant cannot be reached. */
  async releaseStorage(): Promise<void> {
    if (this.#options.limits().storage_bytes === undefined) return
    await this.#options.tenant().limits.setStoredBytes({ ...this.#options.sessionBytes(), bytes: 0 })
  }

  /** Sends the queued reports. Rejects when the tenant cannot be reached; unsent reports stay queued. */
  async flush(): Promise<void> {
    for (const [runId, report] of this.#unreported) {
      if (report === 'slot') await this.#options.tenant().limits.releaseTurn(runId)
      else await this.#options.tenant().limits.settleTurn(runId, report, this.#options.sessionBytes())
      if (this.#unreported.get(runId) === report) this.#unreported.delete(runId)
    }
  }
}

/**
 * Checks a session against its limits and reports its cost to the tenant's object. While the tenant has a limit for
 * the day or month, every model call is reserved there before it is sent, and settled after it. The usage of side calls
 * is held until a turn adds it to its own.
 */

import { log } from '#agent/core/log.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Failure } from '#agent/core/failure.ts'
import type { Limits } from '#agent/core/settings.ts'
import { totalUsage, type Turn } from '#agent/core/turn.ts'
import { addUsage, noUsage, tokensUsed, type Usage } from '#agent/core/usage.ts'
import {
  explainLimit,
  findExceededLimit,
  findNearLimit,
  findReachedLimit,
  hasUsdLimit,
  type LimitWarning,
} from '#agent/policy/spending-limit.ts'
import { type Amount, countsSpending, noAmount, plus } from './spending.ts'
import type { SideCallNote, SideCallNotes } from '#durable/storage/side-call-notes.ts'
import type { Reservation, SettledRun } from './billing.ts'
import type { UnattendedTurn } from './unattended-turns.ts'
import type { Admission } from '../effective-limits.ts'
import type { SessionBytes } from '../limits.ts'
import type { TenantDO } from '../tenant-object.ts'

export type SessionBillingOptions = {
  readonly tenant: () => DurableObjectStub<TenantDO>
  /** Of the session itself. */
  readonly authority: () => Authority
  /** The stricter of the tenant's and the session's limits. */
  readonly limits: () => Limits
  readonly usage: () => Usage
  /** The bytes that the session stores now. */
  readonly sessionBytes: () => SessionBytes
  /** Adds usage to a run that has ended. */
  readonly addLateUsage: (runId: string, usage: Usage) => void
  readonly notes: SideCallNotes
  /** Whether no person has started the turn. */
  readonly isUnattended: (turn: Turn) => boolean
  /** Whether every call must fit into the limits of the session: its money was held before it began. */
  readonly hasHardLimit: () => boolean
  /** Runs work in the background; the platform keeps the object alive for it. */
  readonly runInBackground: (work: Promise<unknown>) => void
}

/** The usage of a run, and the time it is counted at. */
export type RunCost = { readonly usage: Usage; readonly at: number; readonly isUnattended?: boolean }

/** The most that a call can cost. `usd` is undefined when its price is unknown. */
export type CallCost = {
  readonly model: string
  readonly tokens: number
  readonly usd: number | undefined
  /** The call costs exactly this, so it must fit into every limit. Others may exceed a limit as the last call. */
  readonly isFixed?: boolean
}

/** `release` is called when the call has ended, before its usage is reported. */
export type Reserved =
  | { readonly ok: true; readonly release: () => void }
  | { readonly ok: false; readonly failure: Failure }

type FixedCall = { readonly call: Amount; readonly limits: Limits; readonly isCounted: boolean }

const unlimited: Reserved = { ok: true, release: () => undefined }
/** The pause before the next try while the tenant's object cannot be reached. */
const unreachableRetryMs = 5_000

const amountOf = (usage: Usage) => ({ tokens: tokensUsed(usage), usd: usage.costUsd })

/** Prompts are estimated; a provider may count more tokens. */
const hardLimitMargin = 1.25

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
  /** The most that each call in flight can cost. */
  readonly #held = new Set<Amount>()
  /** The prices of calls in flight that cost exactly that. */
  readonly #fixed = new Set<Amount>()
  /** The last request to the tenant's object: they are sent one after the other, because each replaces the one before. */
  #sending: Promise<unknown> = Promise.resolve()
  /** A limit of the tenant that is nearly used up, and the run that was told. */
  #warning: { readonly runId: string; readonly warning: LimitWarning } | undefined
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
  reachedLimit(turn: Turn): keyof Limits | undefined {
    const limits = this.#options.limits()
    return findReachedLimit(limits, this.#spentOf(turn, limits))
  }

  /** Returns a limit of which most is used: of the turn, the session or the tenant. */
  nearLimit(turn: Turn): LimitWarning | undefined {
    const limits = this.#options.limits()
    const own = findNearLimit(limits, this.#spentOf(turn, limits), turn.usageBefore)
    return own ?? (this.#warning?.runId === turn.id ? this.#warning.warning : undefined)
  }

  /** The session is only summed when it has a limit, because this is asked before every call. */
  #spentOf(turn: Turn, { usd_per_session: usd, tokens_per_session: tokens }: Limits) {
    return {
      turn: totalUsage(turn),
      session: usd === undefined && tokens === undefined ? noUsage : this.#options.usage(),
    }
  }

  /**
   * Reserves the most that a call of this turn can cost, before it is sent. Returns at once when no limit needs the
   * tenant's object. `turn` is undefined for a side call after the turn.
   */
  reserve(turn: Turn | undefined, cost: CallCost): Promise<Reserved> | Reserved {
    const { model, tokens, usd } = cost
    const limits = this.#options.limits()
    const isUnattended = turn !== undefined && this.#options.isUnattended(turn)
    if (usd === undefined && hasUsdLimit(limits, isUnattended)) return { ok: false, failure: explainUnpriced(model) }
    const reached = turn && this.reachedLimit(turn)
    if (reached) return refuse(reached)
    const isHard = this.#isHard(cost, limits)
    const call = { tokens, usd: (usd ?? 0) * (isHard ? hardLimitMargin : 1) }
    const isCounted = countsSpending(limits) || isUnattended
    if (cost.isFixed || isHard) return this.#reserveFixed(turn, { call, limits, isCounted })
    return isCounted ? this.#reserveAtTenant(turn, call, false) : unlimited
  }

  #isHard({ isFixed }: CallCost, { usd_per_session: usd }: Limits): boolean {
    return !isFixed && usd !== undefined && this.#options.hasHardLimit()
  }

  /** The price is held at once: calls side by side are checked one after the other. */
  async #reserveFixed(turn: Turn | undefined, { call, limits, isCounted }: FixedCall): Promise<Reserved> {
    const exceeded = this.#findExceeded(turn, limits, call)
    if (exceeded) return refuse(exceeded)
    this.#fixed.add(call)
    const reserved = isCounted ? await this.#reserveAtTenant(turn, call, true) : unlimited
    const release = () => {
      this.#fixed.delete(call)
      if (reserved.ok) reserved.release()
    }
    if (!reserved.ok) release()
    return reserved.ok ? { ok: true, release } : reserved
  }

  /** Counts what is spent, side calls that no turn has claimed, and calls of a fixed price in flight. */
  #findExceeded(turn: Turn | undefined, limits: Limits, call: Amount): keyof Limits | undefined {
    const spent = { turn: turn ? totalUsage(turn) : noUsage, session: this.#options.usage() }
    const unclaimed = amountOf(this.#sideUsage ?? noUsage)
    return findExceededLimit(limits, spent, [...this.#fixed, unclaimed].reduce<Amount>(plus, call))
  }

  async #reserveAtTenant(turn: Turn | undefined, call: Amount, isFixed: boolean): Promise<Reserved> {
    const runId = turn?.id ?? this.#sideRunId
    try {
      const answer = await this.#send(async (): Promise<Reservation> => {
        const demand = { ...this.#runSpending(turn), call, ...(isFixed && { isFixed }) }
        return this.#options.tenant().billing.reserve(this.#options.authority(), runId, demand)
      })
      this.#noteWarning(runId, answer)
      if (!answer.ok) return refuse(answer.limit, answer.isReserved && answer.retryAfter * 1_000)
    } catch (error) {
      // The call waits: without the tenant's object nobody knows whether there is room for it.
      log.warn('tenant.unreachable', 'The tenant cannot be reached; the call waits.', { error })
      const message = 'The spending limits could not be checked.'
      return { ok: false, failure: { kind: 'limit', message, retryAfterMs: unreachableRetryMs } }
    }
    // A new object: equal amounts are different calls.
    const held = { ...call }
    this.#held.add(held)
    return { ok: true, release: () => void this.#held.delete(held) }
  }

  /** Returns the run's cost so far, with unclaimed side calls and its other calls in flight. */
  #runSpending(turn: Turn | undefined, usage = noUsage) {
    const held = [...this.#held].reduce<Amount>(plus, noAmount)
    if (!turn) return { spent: noAmount, held }
    return { spent: amountOf(addUsage(addUsage(turn.usage, usage), this.#sideUsage ?? noUsage)), held }
  }

  /** Side calls after a turn count as a run until the next turn claims them. */
  get #sideRunId(): string {
    return `side ${this.#options.sessionBytes().sessionId}`
  }

  #send<T>(request: () => Promise<T>): Promise<T> {
    const sent = this.#sending.then(request)
    this.#sending = sent.catch(() => undefined)
    return sent
  }

  #noteWarning(runId: string, { warning }: Reservation): void {
    if (warning) this.#warning = { runId, warning }
  }

  /**
   * Admits a run against the limits and takes a slot among the tenant's turns. Returns at once when no limit needs the
   * tenant's object. Rejects when that cannot be reached.
   */
  admit(runId: string, unattended?: UnattendedTurn): Promise<Admission> | Admission {
    const limits = this.#options.limits()
    const { usd_per_session: usd, tokens_per_session: tokens, concurrent_turns: turns, storage_bytes: bytes } = limits
    const session = usd === undefined && tokens === undefined ? noUsage : this.#options.usage()
    const reached = findReachedLimit(limits, { turn: noUsage, session })
    if (reached) return { ok: false, limit: reached, retryAfter: sessionLimitRetrySeconds }
    if (!countsSpending(limits) && turns === undefined && bytes === undefined && !unattended) return { ok: true }
    return this.#admitAtTenant(runId, unattended)
  }

  /** Takes a slot again for a run that goes on after it has waited for its caller. */
  admitAgain(runId: string): Promise<Admission> | Admission {
    if (this.#options.limits().concurrent_turns === undefined) return { ok: true }
    // The release of the slot, if it is still on its way, comes first.
    return this.flush().then(() => this.#admitAtTenant(runId, undefined))
  }

  /** Async, because the promise of an RPC call is no `Promise`: callers could not distinguish it from an admission. */
  async #admitAtTenant(runId: string, unattended: UnattendedTurn | undefined): Promise<Admission> {
    return this.#options.tenant().limits.admitTurn(this.#options.authority(), runId, unattended)
  }

  /** Reports the cost of the turn so far, after a call. Nothing waits for it: the next call is reserved anyway. */
  report(turn: Turn, usage: Usage): void {
    if (countsSpending(this.#options.limits()) || this.#options.isUnattended(turn))
      this.#options.runInBackground(this.#reportRun(turn.id, this.#runSpending(turn, usage)))
  }

  async #reportRun(runId: string, { spent, held }: { readonly spent: Amount; readonly held: Amount }): Promise<void> {
    try {
      const request = async (): Promise<Reservation> =>
        this.#options.tenant().billing.report(this.#options.authority(), runId, spent, held)
      this.#noteWarning(runId, await this.#send(request))
    } catch (error) {
      // Each report has the total of its run: the next one replaces this one.
      log.warn('billing.unreported', 'The cost of a turn could not be reported to the tenant.', { error })
    }
  }

  /** Ends the reservations of side calls after a turn: the next turn counts what they have cost. */
  releaseSideCalls(): void {
    if (!countsSpending(this.#options.limits())) return
    const released = this.#send(async () =>
      this.#options.tenant().billing.release(this.#options.authority(), this.#sideRunId),
    )
    this.#options.runInBackground(
      released.catch((error: unknown) =>
        log.warn('billing.unreleased', 'A reservation could not be released; it expires.', { error }),
      ),
    )
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
    const counts = countsSpending(limits) || limits.storage_bytes !== undefined || cost?.isUnattended
    if (cost && counts) this.#unreported.set(runId, { ...amountOf(cost.usage), at: cost.at })
    else if (limits.concurrent_turns !== undefined && !this.#unreported.has(runId)) this.#unreported.set(runId, 'slot')
  }

  /** Reports bytes that were stored outside a turn. Never rejects: the end of the next turn reports them again. */
  async reportStorage(): Promise<void> {
    if (this.#options.limits().storage_bytes === undefined) return
    try {
      await this.#options.tenant().limits.setStoredBytes(this.#options.authority(), this.#options.sessionBytes())
    } catch (error) {
      log.warn('billing.unreported', 'The stored bytes of a session could not be reported to the tenant.', { error })
    }
  }

  /** Reports that the session stores nothing any more. Rejects when the tenant cannot be reached. */
  async releaseStorage(): Promise<void> {
    if (this.#options.limits().storage_bytes === undefined) return
    const none = { ...this.#options.sessionBytes(), bytes: 0 }
    await this.#options.tenant().limits.setStoredBytes(this.#options.authority(), none)
  }

  /** Sends the queued reports. Rejects when the tenant cannot be reached; unsent reports stay queued. */
  async flush(): Promise<void> {
    for (const [runId, report] of this.#unreported) {
      await this.#send(async () =>
        report === 'slot'
          ? this.#options.tenant().limits.releaseTurn(this.#options.authority(), runId)
          : this.#options
              .tenant()
              .limits.settleTurn(this.#options.authority(), runId, report, this.#options.sessionBytes()),
      )
      if (this.#unreported.get(runId) === report) this.#unreported.delete(runId)
    }
  }
}

const refuse = (limit: keyof Limits, retryAfterMs?: number): Reserved => ({
  ok: false,
  failure: { kind: 'limit', message: explainLimit(limit), ...(retryAfterMs !== undefined && { retryAfterMs }) },
})

const explainUnpriced = (model: string): Failure => ({
  kind: 'unpriced',
  message: `A limit in USD holds, and the price of ${model} is unknown. Set models["${model}"].prices, with 0 for a free model, or limit tokens instead`,
})

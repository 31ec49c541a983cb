/**
 * What a session spends, beside its turns' own books: calls beside the conversation until a turn takes
 * them over, the limits, and what the tenant's object has to hear. It hears of every call while there is
 * a limit for the tenant's day or month, in memory; a row is written once, at the end of the turn.
 */

import type { Limits } from '../../agent/model/settings.ts'
import type { Turn } from '../../agent/model/turn.ts'
import { addUsage, noUsage, tokensUsed, type Usage } from '../../agent/model/usage.ts'
import { overLimit, type Reached } from '../../agent/policy/allowance.ts'
import { countsSpending } from './spending.ts'
import type { SideNote, SideNotes } from '../storage/side-call-notes.ts'
import type { Settled, Stored, TenantDO } from './tenant-object.ts'
import { clock } from '../platform/clock.ts'

export type SessionBillingOptions = {
  readonly tenant: () => DurableObjectStub<TenantDO>
  /** The tenant's and, where they are stricter, the session's own. */
  readonly limits: () => Limits
  readonly usage: () => Usage
  readonly stored: () => Stored
  /** Puts down what was spent for a run that has ended. */
  readonly book: (runId: string, usage: Usage) => void
  readonly notes: SideNotes
}

/** By a run, and the time it counts at. */
type Spent = { readonly usage: Usage; readonly at: number }

const amountOf = (usage: Usage) => ({ tokens: tokensUsed(usage), usd: usage.costUsd })

export class SessionBilling {
  readonly notes: SideNotes
  readonly #options: SessionBillingOptions
  /** Calls beside the conversation that no turn has taken over, and the notes of them. */
  #asides: Usage | undefined
  #notes: number[] = []
  /** Notes that are not needed any more, once a turn is written with another usage than this. */
  #taken: { readonly notes: readonly number[]; readonly before: Usage | undefined } | undefined
  #reached: Reached | undefined
  /** Runs that have ended, of which the tenant's object has not heard yet: what it cost, or only that its place is free. */
  readonly #unreported = new Map<string, Settled | 'place'>()

  constructor(options: SessionBillingOptions) {
    this.#options = options
    this.notes = options.notes
    for (const note of this.notes.left()) this.#hold(note)
  }

  /** A call beside the conversation, paid for by the turn that is open, or by the next one. */
  add(note: SideNote): void {
    this.notes.put(note)
    if (note.usage.by) this.#hold(note)
  }

  #hold({ id, usage }: SideNote): void {
    this.#asides = addUsage(this.#asides ?? noUsage, usage)
    this.#notes.push(id)
  }

  /** What the turn takes over. The notes stay until it is written. */
  take(turn: Turn | undefined): Usage | undefined {
    const asides = this.#asides
    if (!asides) return undefined
    this.#taken = { notes: [...(this.#taken?.notes ?? []), ...this.#notes], before: turn?.usage }
    this.#asides = undefined
    this.#notes = []
    return asides
  }

  /** The turn is being written, in this stretch. */
  written(turn: Turn | undefined): void {
    if (this.#taken && this.#taken.before !== turn?.usage) this.#forgetTaken()
  }

  #forgetTaken(): void {
    this.notes.drop(this.#taken?.notes ?? [])
    this.#taken = undefined
  }

  over(turn: Turn, now: number): keyof Limits | undefined {
    const limits = this.#options.limits()
    // Sums of sessions are only made where somebody asks for them: this is asked before every call.
    const session = limits.usd_per_session === undefined ? noUsage : this.#options.usage()
    return overLimit(limits, { turn: turn.usage, session, reached: this.#reached }, now)
  }

  /** Whether a turn may begin that nobody has asked for at the door; it takes its place. Rejects while the tenant is away. */
  async admit(runId: string): Promise<boolean> {
    const limits = this.#options.limits()
    const { usd_per_session: most = Infinity, concurrent_turns: turns, storage_bytes: bytes } = limits
    if (most < Infinity && this.#options.usage().costUsd >= most) return false
    if (!countsSpending(limits) && turns === undefined && bytes === undefined) return true
    return (await this.#options.tenant().admitTurn(runId)).ok
  }

  /** Resolves when the tenant's object has heard of it, which is before the next call is decided on. */
  async report(turn: Turn, usage: Usage): Promise<void> {
    if (!countsSpending(this.#options.limits())) return
    try {
      const answer = await this.#options.tenant().charge(turn.id, amountOf(addUsage(turn.usage, usage)))
      this.#reached = answer.ok ? undefined : { limit: answer.limit, until: clock.now() + answer.retryAfter * 1_000 }
    } catch (error) {
      // Each report holds the whole run: the next one brings this one along.
      console.warn('The tenant cannot hear what was spent.', error)
    }
  }

  /** A run has ended: gives back its place among the tenant's and says what it cost. */
  async settle(runId: string, spent: Spent | undefined): Promise<void> {
    // What no call of the turn has taken over: it was stopped in the middle of a tool.
    const left = spent && this.take(undefined)
    if (left) {
      this.#options.book(runId, left)
      this.#forgetTaken()
    }
    this.#enqueue(runId, spent && { ...spent, usage: addUsage(spent.usage, left ?? noUsage) })
    await this.flush()
  }

  /** A run that had ended when the object died: whether the tenant's object has heard of it, nobody knows. */
  restore(run: (Spent & { readonly id: string }) | undefined): void {
    if (run && !this.#unreported.has(run.id)) this.#enqueue(run.id, run)
  }

  /** Only what a limit of the tenant is about. */
  #enqueue(runId: string, spent: Spent | undefined): void {
    const limits = this.#options.limits()
    const counts = countsSpending(limits) || limits.storage_bytes !== undefined
    if (spent && counts) this.#unreported.set(runId, { ...amountOf(spent.usage), at: spent.at })
    else if (limits.concurrent_turns !== undefined && !this.#unreported.has(runId)) this.#unreported.set(runId, 'place')
  }

  /** What was stored without a turn. While the tenant's object is away, the end of the next turn tells it. */
  async tellStored(): Promise<void> {
    if (this.#options.limits().storage_bytes === undefined) return
    try {
      await this.#options.tenant().setStored(this.#options.stored())
    } catch (error) {
      console.warn('The tenant cannot hear what is stored.', error)
    }
  }

  /** The session goes, and with it what it stored. Rejects while the tenant's object is away. */
  async forget(): Promise<void> {
    if (this.#options.limits().storage_bytes === undefined) return
    await this.#options.tenant().setStored({ ...this.#options.stored(), bytes: 0 })
  }

  /** Rejects while the tenant's object is away; what it has to hear is kept. */
  async flush(): Promise<void> {
    for (const [runId, owed] of this.#unreported) {
      if (owed === 'place') await this.#options.tenant().releaseTurn(runId)
      else await this.#options.tenant().settleTurn(runId, owed, this.#options.stored())
      if (this.#unreported.get(runId) === owed) this.#unreported.delete(runId)
    }
  }
}

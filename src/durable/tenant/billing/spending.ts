/**
 * Sums what a tenant has spent today and this month. A run has one row in `spent`, written when it ends. An open run has
 * one row in `open_run`: what it has spent so far, and the most that its calls in flight can cost. That row is written
 * before each call, so that no crash loses the cost of a call.
 */

import type { Limits } from '#agent/core/settings.ts'
import { isAbove, isUsedUp } from '#agent/core/usage.ts'

export type Amount = { readonly tokens: number; readonly usd: number }
export type Totals = { readonly day: Amount; readonly month: Amount }

const schema = [
  `CREATE TABLE IF NOT EXISTS spent (run TEXT PRIMARY KEY, at INTEGER NOT NULL, tokens INTEGER NOT NULL,
    usd REAL NOT NULL) WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS open_run (run TEXT PRIMARY KEY, at INTEGER NOT NULL, tokens INTEGER NOT NULL,
    usd REAL NOT NULL, held_tokens INTEGER NOT NULL, held_usd REAL NOT NULL) WITHOUT ROWID`,
]

/** Start and end of the UTC day and month of a time. */
export function listSpans(now: number) {
  const date = new Date(now)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  return {
    day: { from: Date.UTC(year, month, day), to: Date.UTC(year, month, day + 1) },
    month: { from: Date.UTC(year, month, 1), to: Date.UTC(year, month + 1, 1) },
  }
}

/** The limits that need counters, in the order in which they are checked. */
const counted = [
  { limit: 'tokens_per_day', span: 'day', unit: 'tokens' },
  { limit: 'usd_per_day', span: 'day', unit: 'usd' },
  { limit: 'tokens_per_month', span: 'month', unit: 'tokens' },
  { limit: 'usd_per_month', span: 'month', unit: 'usd' },
] as const satisfies readonly { limit: keyof Limits; span: keyof Totals; unit: keyof Amount }[]

/** Whether any limit of the day or the month needs counters. */
export const countsSpending = (limits: Limits): boolean => counted.some(({ limit }) => limits[limit] !== undefined)

/** A reached limit. `retryAfter` is in seconds. `isReserved`: calls in flight have reserved what is left. */
export type Over = { readonly limit: keyof Limits; readonly retryAfter: number; readonly isReserved?: true }

/** How much of a limit is used up. `from` and `to` are the ends of its day or month. */
export type LimitUse = {
  readonly limit: keyof Limits
  readonly max: number
  readonly used: number
  readonly reserved: number
  readonly from: number
  readonly to: number
}

/** The cost of an open run, and the reservations of its calls in flight. */
export type RunSpending = { readonly spent: Amount; readonly held: Amount }
/** `isFixed`: the call costs exactly this amount, so it must fit into the limits. */
export type Demand = RunSpending & { readonly call: Amount; readonly isFixed?: boolean }

type SpendingRun = RunSpending & { readonly at: number }
type OpenRow = { run: string; at: number; tokens: number; usd: number; held_tokens: number; held_usd: number }

/** After this time a reservation counts as spent: its session has crashed, or reports a very long call later. */
const reservationMs = 300_000
/** A call in flight is usually settled by then. */
const reservedRetrySeconds = 1

export class Spending {
  readonly #sql: SqlStorage
  /** Cached sums of the rows, for the day that began at `since`. */
  #sums: { readonly since: number; day: Amount; month: Amount } | undefined
  /** Cached rows of open runs. */
  readonly #open: Map<string, SpendingRun>

  constructor(sql: SqlStorage) {
    this.#sql = sql
    for (const statement of schema) sql.exec(statement)
    this.#open = new Map(
      sql
        .exec<OpenRow>('SELECT * FROM open_run')
        .toArray()
        .map((row) => [row.run, toOpenRun(row)]),
    )
  }

  /** Whether the counters are complete since they were started. */
  get isCounting(): boolean {
    return this.#hasEnded(markerRow)
  }

  /** Starts the counters with the totals of history. */
  start({ day, month }: Totals, now: number): void {
    const spans = listSpans(now)
    this.#sql.exec('DELETE FROM spent')
    this.#put(markerRow, Number.MAX_SAFE_INTEGER, noAmount)
    this.#put('before today', spans.month.from, minus(month, day))
    this.#put('today before', spans.day.from, day)
    this.#sums = undefined
  }

  /** Deletes all counters. */
  stop(): void {
    this.#sql.exec('DELETE FROM spent')
    this.#sql.exec('DELETE FROM open_run')
    this.#open.clear()
    this.#sums = undefined
  }

  /** Records all that an open run has spent so far, and what its calls in flight have reserved. */
  report(run: string, { spent, held }: RunSpending, now: number): void {
    // A late report must not count an ended run twice.
    if (!this.#hasEnded(run)) this.#putOpen(run, { spent, held, at: now })
  }

  /**
   * Reserves the most that a call can cost. Returns the limit that refuses it: one that is used up, or one whose rest
   * other calls have reserved. The last call may exceed a limit, because its cost is known only afterwards.
   */
  reserve(run: string, { spent, held, call, isFixed = false }: Demand, limits: Limits, now: number) {
    this.#open.set(run, { spent, held, at: now })
    const refused =
      this.over(limits, now) ??
      this.#overReserved(limits, now) ??
      (isFixed ? this.#exceeded(call, limits, now) : undefined)
    this.#putOpen(run, { spent, held: refused ? held : plus(held, call), at: now })
    return refused
  }

  /** Writes the final amount of a run. Repeating it changes nothing. */
  settle(run: string, amount: Amount, at: number): void {
    if (this.#open.delete(run)) this.#sql.exec('DELETE FROM open_run WHERE run = ?', run)
    const [known = noAmount] = this.#sql.exec<Amount>('SELECT tokens, usd FROM spent WHERE run = ?', run).toArray()
    this.#put(run, at, amount)
    if (this.#sums?.since !== listSpans(at).day.from) return void (this.#sums = undefined)
    const { since, day, month } = this.#sums
    const more = { tokens: amount.tokens - known.tokens, usd: amount.usd - known.usd }
    this.#sums = { since, day: plus(day, more), month: plus(month, more) }
  }

  /** Removes an open run that belongs to no turn: another run counts what it has spent. */
  release(run: string): void {
    if (this.#open.delete(run)) this.#sql.exec('DELETE FROM open_run WHERE run = ?', run)
  }

  /** Returns the first limit that is used up. */
  over(limits: Limits, now: number): Over | undefined {
    const reached = this.listUse(limits, now).find(({ used, max }) => isUsedUp(used, max))
    return reached && { limit: reached.limit, retryAfter: Math.max(1, Math.ceil((reached.to - now) / 1_000)) }
  }

  /** A call that does not fit beside others may fit when these are settled for less than they have reserved. */
  #exceeded(call: Amount, limits: Limits, now: number): Over | undefined {
    const uses = this.listUse(limits, now)
    const priceOf = (limit: keyof Limits) => call[counted.find((one) => one.limit === limit)?.unit ?? 'usd']
    const full = uses.find(({ limit, used, max }) => priceOf(limit) > 0 && isAbove(used + priceOf(limit), max))
    if (full) return { limit: full.limit, retryAfter: Math.max(1, Math.ceil((full.to - now) / 1_000)) }
    const rest = uses.find(
      ({ limit, used, reserved, max }) => priceOf(limit) > 0 && isAbove(used + reserved + priceOf(limit), max),
    )
    return rest && { limit: rest.limit, retryAfter: reservedRetrySeconds, isReserved: true }
  }

  #overReserved(limits: Limits, now: number): Over | undefined {
    const reached = this.listUse(limits, now).find(({ used, reserved, max }) => isUsedUp(used + reserved, max))
    return reached && { limit: reached.limit, retryAfter: reservedRetrySeconds, isReserved: true }
  }

  /** Lists the limits of the day and the month that are set, with what is used and reserved. */
  listUse(limits: Limits, now: number): readonly LimitUse[] {
    const totals = this.totals(now)
    const reserved = this.#reserved(now)
    const spans = listSpans(now)
    return counted.flatMap(({ limit, span, unit }) => {
      const max = limits[limit]
      return max === undefined
        ? []
        : [{ limit, max, used: totals[span][unit], reserved: reserved[unit], ...spans[span] }]
    })
  }

  totals(now: number): Totals {
    const spans = listSpans(now)
    if (this.#sums?.since !== spans.day.from) {
      this.#sql.exec('DELETE FROM spent WHERE at < ?', spans.month.from)
      this.#sums = { since: spans.day.from, day: this.#sum(spans.day.from), month: this.#sum(spans.month.from) }
    }
    let { day, month } = this.#sums
    for (const [run, open] of this.#open) {
      const amount = isExpired(open, now) ? plus(open.spent, open.held) : open.spent
      // An open run counts when it has reported last: without a report for a month it is lost.
      if (open.at < spans.month.from) this.release(run)
      else month = plus(month, amount)
      if (open.at >= spans.day.from) day = plus(day, amount)
    }
    return { day, month }
  }

  #reserved(now: number): Amount {
    return [...this.#open.values()]
      .filter((open) => !isExpired(open, now))
      .reduce<Amount>((sum, { held }) => plus(sum, held), noAmount)
  }

  #sum(from: number): Amount {
    return this.#sql
      .exec<Amount>(
        'SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(usd), 0) AS usd FROM spent WHERE at >= ?',
        from,
      )
      .one()
  }

  #hasEnded(run: string): boolean {
    return this.#sql.exec('SELECT 1 FROM spent WHERE run = ?', run).toArray().length > 0
  }

  #put(run: string, at: number, { tokens, usd }: Amount): void {
    this.#sql.exec(
      `INSERT INTO spent VALUES (?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET tokens = excluded.tokens, usd = excluded.usd 
        WHERE (spent.tokens, spent.usd) IS NOT (excluded.tokens, excluded.usd)`,
      run,
      at,
      tokens,
      usd,
    )
  }

  #putOpen(run: string, open: SpendingRun): void {
    const { spent, held, at } = open
    this.#open.set(run, open)
    const values = [run, at, spent.tokens, spent.usd, held.tokens, held.usd]
    this.#sql.exec('INSERT OR REPLACE INTO open_run VALUES (?, ?, ?, ?, ?, ?)', ...values)
  }
}

const toOpenRun = ({ at, tokens, usd, held_tokens, held_usd }: OpenRow): SpendingRun => ({
  at,
  spent: { tokens, usd },
  held: { tokens: held_tokens, usd: held_usd },
})

const isExpired = ({ at }: SpendingRun, now: number): boolean => now - at >= reservationMs

/** The row that exists while the counters are complete. */
const markerRow = 'counting'
export const noAmount: Amount = { tokens: 0, usd: 0 }
export const plus = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens + b.tokens, usd: a.usd + b.usd })
const minus = (a: Amount, b: Amount): Amount => ({
  tokens: Math.max(0, a.tokens - b.tokens),
  usd: Math.max(0, a.usd - b.usd),
})

/**
 * Sums what a tenant has spent today and this month. A run has one row, written when it ends. Reports of open runs stay
 * in memory: each one holds the total of its run, so that a lost one is replaced by the next.
 */

import type { Limits } from '../../agent/model/settings.ts'

export type Amount = { readonly tokens: number; readonly usd: number }
export type Totals = { readonly day: Amount; readonly month: Amount }

const schema = `CREATE TABLE IF NOT EXISTS spent (run TEXT PRIMARY KEY, at INTEGER NOT NULL, tokens INTEGER NOT NULL,
  usd REAL NOT NULL) WITHOUT ROWID`

/** Start and end of the UTC day and month of a time. */
export function spansOf(now: number) {
  const date = new Date(now)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  return {
    day: { from: Date.UTC(year, month, day), to: Date.UTC(year, month, day + 1) },
    month: { from: Date.UTC(year, month, 1), to: Date.UTC(year, month + 1, 1) },
  }
}

/** Whether any limit of the day or the month needs counters. */
export const countsSpending = ({ tokens_per_day: tokens, usd_per_day: day, usd_per_month: month }: Limits): boolean =>
  tokens !== undefined || day !== undefined || month !== undefined

/** A reached limit. `retryAfter` is in seconds. */
export type Over = { readonly limit: keyof Limits; readonly retryAfter: number }

export class Spending {
  readonly #sql: SqlStorage
  /** Cached sums of the rows, for the day that began at `since`. */
  #sums: { readonly since: number; day: Amount; month: Amount } | undefined
  /** Open runs with all that they have spent so far. `at` is the time of the last report. */
  readonly #running = new Map<string, Amount & { readonly at: number }>()

  constructor(sql: SqlStorage) {
    this.#sql = sql
    sql.exec(schema)
  }

  /** Whether the counters are complete since they were started. */
  get isCounting(): boolean {
    return this.#sql.exec('SELECT 1 FROM spent WHERE run = ?', markerRow).toArray().length > 0
  }

  /** Starts the counters with the totals of history. */
  start({ day, month }: Totals, now: number): void {
    const spans = spansOf(now)
    this.#sql.exec('DELETE FROM spent')
    this.#put(markerRow, Number.MAX_SAFE_INTEGER, noAmount)
    this.#put('before today', spans.month.from, minus(month, day))
    this.#put('today before', spans.day.from, day)
    this.#sums = undefined
  }

  /** Deletes all counters. */
  stop(): void {
    this.#sql.exec('DELETE FROM spent')
    this.#running.clear()
    this.#sums = undefined
  }

  /** Keeps all that an open run has spent so far, in memory. */
  report(run: string, amount: Amount, now: number): void {
    this.#running.set(run, { ...amount, at: now })
  }

  /** Writes the final amount of a run. Repeating it changes noAmount. */
  settle(run: string, amount: Amount, at: number): void {
    this.#running.delete(run)
    const [known = noAmount] = this.#sql.exec<Amount>('SELECT tokens, usd FROM spent WHERE run = ?', run).toArray()
    this.#put(run, at, amount)
    if (this.#sums?.since !== spansOf(at).day.from) return void (this.#sums = undefined)
    const { since, day, month } = this.#sums
    const more = { tokens: amount.tokens - known.tokens, usd: amount.usd - known.usd }
    this.#sums = { since, day: plus(day, more), month: plus(month, more) }
  }

  /** Returns the first limit that is reached. */
  over(limits: Limits, now: number): Over | undefined {
    const { day, month } = this.totals(now)
    const spans = spansOf(now)
    const secondsUntil = (to: number) => Math.max(1, Math.ceil((to - now) / 1_000))
    if (day.tokens >= (limits.tokens_per_day ?? Infinity))
      return { limit: 'tokens_per_day', retryAfter: secondsUntil(spans.day.to) }
    if (day.usd >= (limits.usd_per_day ?? Infinity))
      return { limit: 'usd_per_day', retryAfter: secondsUntil(spans.day.to) }
    if (month.usd >= (limits.usd_per_month ?? Infinity))
      return { limit: 'usd_per_month', retryAfter: secondsUntil(spans.month.to) }
    return undefined
  }

  totals(now: number): Totals {
    const spans = spansOf(now)
    if (this.#sums?.since !== spans.day.from) {
      this.#sql.exec('DELETE FROM spent WHERE at < ?', spans.month.from)
      this.#sums = { since: spans.day.from, day: this.#sum(spans.day.from), month: this.#sum(spans.month.from) }
    }
    let { day, month } = this.#sums
    for (const [run, amount] of this.#running) {
      // An open run reports after each model call: without a report for a day it is lost.
      if (amount.at < now - dayMs) this.#running.delete(run)
      else [day, month] = [plus(day, amount), plus(month, amount)]
    }
    return { day, month }
  }

  #sum(from: number): Amount {
    return this.#sql
      .exec<Amount>(
        'SELECT coalesce(sum(tokens), 0) AS tokens, coalesce(sum(usd), 0) AS usd FROM spent WHERE at >= ?',
        from,
      )
      .one()
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
}

const dayMs = 86_400_000
/** The row that exists while the counters are complete. */
const markerRow = 'counting'
const noAmount: Amount = { tokens: 0, usd: 0 }
const plus = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens + b.tokens, usd: a.usd + b.usd })
const minus = (a: Amount, b: Amount): Amount => ({
  tokens: Math.max(0, a.tokens - b.tokens),
  usd: Math.max(0, a.usd - b.usd),
})

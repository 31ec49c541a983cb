/**
 * What a tenant has spent, counted exactly: a row for each run, written when it ends; what runs report
 * meanwhile stays in memory, since each report holds the whole run. Kept only while there is a limit.
 * What was spent before the first limit of a month is asked of history once.
 */

import type { Limits } from '../../agent/model/settings.ts'

export type Amount = { readonly tokens: number; readonly usd: number }
export type Totals = { readonly day: Amount; readonly month: Amount }

const schema = `CREATE TABLE IF NOT EXISTS spent (run TEXT PRIMARY KEY, at INTEGER NOT NULL, tokens INTEGER NOT NULL,
  usd REAL NOT NULL) WITHOUT ROWID`

/** The day and the month of a time, in UTC: when they began and when they end. */
export function spansOf(now: number) {
  const date = new Date(now)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  return {
    day: { from: Date.UTC(year, month, day), to: Date.UTC(year, month, day + 1) },
    month: { from: Date.UTC(year, month, 1), to: Date.UTC(year, month + 1, 1) },
  }
}

export const countsSpending = ({ tokens_per_day: tokens, usd_per_day: day, usd_per_month: month }: Limits): boolean =>
  tokens !== undefined || day !== undefined || month !== undefined

export type Over = { readonly limit: keyof Limits; readonly retryAfter: number }

export class Spending {
  readonly #sql: SqlStorage
  /** Sums of the rows, for the day that began at `since`. */
  #sums: { readonly since: number; day: Amount; month: Amount } | undefined
  /** Runs under way: all that they have spent so far. */
  readonly #running = new Map<string, Amount & { readonly at: number }>()

  constructor(sql: SqlStorage) {
    this.#sql = sql
    sql.exec(schema)
  }

  /** It is being counted, and was without a gap since it began. */
  get isCounting(): boolean {
    return this.#sql.exec('SELECT 1 FROM spent WHERE run = ?', marker).toArray().length > 0
  }

  /** Begins anew, with what history knows of this month. */
  seed({ day, month }: Totals, now: number): void {
    const spans = spansOf(now)
    this.#sql.exec('DELETE FROM spent')
    this.#put(marker, Number.MAX_SAFE_INTEGER, nothing)
    this.#put('before today', spans.month.from, minus(month, day))
    this.#put('today before', spans.day.from, day)
    this.#sums = undefined
  }

  /** There is no limit any more: nothing is counted until there is one again. */
  forget(): void {
    this.#sql.exec('DELETE FROM spent')
    this.#running.clear()
    this.#sums = undefined
  }

  charge(run: string, amount: Amount, now: number): void {
    this.#running.set(run, { ...amount, at: now })
  }

  /** The run has ended. A repeat changes nothing. */
  settle(run: string, amount: Amount, at: number): void {
    this.#running.delete(run)
    const [known = nothing] = this.#sql.exec<Amount>('SELECT tokens, usd FROM spent WHERE run = ?', run).toArray()
    this.#put(run, at, amount)
    if (this.#sums?.since !== spansOf(at).day.from) return void (this.#sums = undefined)
    const { since, day, month } = this.#sums
    const more = { tokens: amount.tokens - known.tokens, usd: amount.usd - known.usd }
    this.#sums = { since, day: plus(day, more), month: plus(month, more) }
  }

  over(limits: Limits, now: number): Over | undefined {
    const { day, month } = this.totals(now)
    const spans = spansOf(now)
    const until = (to: number) => Math.max(1, Math.ceil((to - now) / 1_000))
    if (day.tokens >= (limits.tokens_per_day ?? Infinity))
      return { limit: 'tokens_per_day', retryAfter: until(spans.day.to) }
    if (day.usd >= (limits.usd_per_day ?? Infinity)) return { limit: 'usd_per_day', retryAfter: until(spans.day.to) }
    if (month.usd >= (limits.usd_per_month ?? Infinity))
      return { limit: 'usd_per_month', retryAfter: until(spans.month.to) }
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
      // Nobody works for a day without a word.
      if (amount.at < now - spanOfDay) this.#running.delete(run)
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

const spanOfDay = 86_400_000
const marker = 'counting'
const nothing: Amount = { tokens: 0, usd: 0 }
const plus = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens + b.tokens, usd: a.usd + b.usd })
const minus = (a: Amount, b: Amount): Amount => ({
  tokens: Math.max(0, a.tokens - b.tokens),
  usd: Math.max(0, a.usd - b.usd),
})

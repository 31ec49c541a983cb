/** The report of what was spent: by day, model, session or source, a page at a time, with the sums of all. */

import { dayOf } from './append-pages.ts'
import { boundTo, type Value } from './tenant-db.ts'
import { parts, statuses, sums, tokens } from './usage-sql.ts'

export const usageGroups = ['day', 'model', 'session', 'source'] as const
export type UsageGroup = (typeof usageGroups)[number]

export type UsageFilter = {
  readonly group: UsageGroup
  /** Milliseconds since 1970: from ≤ time < to. */
  readonly from: number
  readonly to: number
  readonly limit: number
  readonly cursor?: UsageCursor | undefined
}

export type UsageSums = {
  readonly turns: number
  readonly calls: number
  readonly cut_calls: number
  readonly input: number
  readonly output: number
  readonly cached_read: number
  readonly cached_write: number
  readonly reasoning: number
  readonly cost_usd: number
  readonly cost_status: (typeof statuses)[number]
}
export type UsageLine = UsageSums & { readonly key: string }
export type UsageCursor = { readonly weight: number; readonly key: string }

/** What lines are put together by, and what they are sorted by. Days in UTC, the newest first; else the dearest. */
const groups: Record<UsageGroup, readonly [key: string, weight: string]> = {
  day: ["date(at / 1000, 'unixepoch')", 'max(at / 86400000)'],
  model: ["iif(instr(name, ' '), substr(name, 1, instr(name, ' ') - 1), name)", `sum(${tokens})`],
  session: ['session', `sum(${tokens})`],
  source: ['source', `sum(${tokens})`],
}

type Row = Omit<UsageLine, 'cost_status'> & { readonly weight: number; readonly certainty: number }

export async function usageReport(db: D1Database, tenantId: string, filter: UsageFilter) {
  const { statement, readAll } = boundTo(db, tenantId)
  const [key, weight] = groups[filter.group]
  const span: Value[] = [filter.from, filter.to, dayOf(filter.from)]
  const lines = `WITH ${parts}, lines AS (SELECT ${key} AS key, ${weight} AS weight, ${sums} FROM parts GROUP BY 1)
    SELECT * FROM lines WHERE ?5 IS NULL OR weight < ?5 OR (weight = ?5 AND key > ?6)
    ORDER BY weight DESC, key LIMIT ?7`
  const [rows = [], totals = []] = await readAll<Row>([
    statement(lines, ...span, filter.cursor?.weight ?? null, filter.cursor?.key ?? null, filter.limit + 1),
    statement(`WITH ${parts} SELECT '' AS key, 0 AS weight, ${sums} FROM parts`, ...span),
  ])
  const data = rows.slice(0, filter.limit)
  const last = data.at(-1)
  return {
    data: data.map((row): UsageLine => ({ key: row.key, ...sumsOf(row) })),
    totals: sumsOf(totals[0]!),
    next: rows.length > filter.limit && last ? { weight: last.weight, key: last.key } : undefined,
  }
}

function sumsOf({ certainty, key: _key, weight: _weight, ...counts }: Row): UsageSums {
  return { ...counts, cost_status: statuses[certainty] ?? 'unknown' }
}

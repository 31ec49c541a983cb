/** Reports usage grouped by day, model, session or source, page by page, with the totals of the whole span. */

import { dayNumber } from './append-pages.ts'
import { createTenantDb, type SqlValue } from './tenant-db.ts'
import { partsTable, costStatuses, sumColumns, tokensExpression } from './usage-sql.ts'

export const usageGroups = ['day', 'model', 'session', 'source'] as const
export type UsageGroup = (typeof usageGroups)[number]

export type UsageFilter = {
  readonly group: UsageGroup
  /** Milliseconds since 1970; from ≤ time < to. */
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
  readonly cost_status: (typeof costStatuses)[number]
}
export type UsageLine = UsageSums & { readonly key: string }
export type UsageCursor = { readonly weight: number; readonly key: string }

/** The grouping key and the sort weight. Days (UTC) are sorted newest first, the other groups by tokens. */
const groupExpressions: Record<UsageGroup, readonly [key: string, weight: string]> = {
  day: ["date(at / 1000, 'unixepoch')", 'max(at / 86400000)'],
  model: ["iif(instr(name, ' '), substr(name, 1, instr(name, ' ') - 1), name)", `sum(${tokensExpression})`],
  session: ['session', `sum(${tokensExpression})`],
  source: ['source', `sum(${tokensExpression})`],
}

type Row = Omit<UsageLine, 'cost_status'> & { readonly weight: number; readonly certainty: number }

export async function reportUsage(db: D1Database, tenantId: string, filter: UsageFilter) {
  const { statement, readAll } = createTenantDb(db, tenantId)
  const [key, weight] = groupExpressions[filter.group]
  const span: SqlValue[] = [filter.from, filter.to, dayNumber(filter.from)]
  const lines = `WITH ${partsTable}, lines AS (SELECT ${key} AS key, ${weight} AS weight, ${sumColumns} FROM parts GROUP BY 1)
    SELECT * FROM lines WHERE ?5 IS NULL OR weight < ?5 OR (weight = ?5 AND key > ?6)
    ORDER BY weight DESC, key LIMIT ?7`
  const [rows = [], totals = []] = await readAll<Row>([
    statement(lines, ...span, filter.cursor?.weight ?? null, filter.cursor?.key ?? null, filter.limit + 1),
    statement(`WITH ${partsTable} SELECT '' AS key, 0 AS weight, ${sumColumns} FROM parts`, ...span),
  ])
  const data = rows.slice(0, filter.limit)
  const last = data.at(-1)
  return {
    data: data.map((row): UsageLine => ({ key: row.key, ...toSums(row) })),
    totals: toSums(totals[0]!),
    next: rows.length > filter.limit && last ? { weight: last.weight, key: last.key } : undefined,
  }
}

function toSums({ certainty, key: _key, weight: _weight, ...counts }: Row): UsageSums {
  return { ...counts, cost_status: costStatuses[certainty] ?? 'unknown' }
}

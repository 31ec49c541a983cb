/** Reports usage grouped by day, model, session or source, page by page, with the totals of the whole span. */

import { dayNumber } from './append-pages.ts'
import type { HistoryDb } from './shards/sharded-database.ts'
import { createTenantDb, type SqlValue } from './tenant-db.ts'
import { costStatuses, partsTable, sumColumns, tokensExpression } from './usage-sql.ts'
import { dayMs, findChange, offsetAt } from '#agent/schedule/civil-time.ts'

export const usageGroups = ['day', 'model', 'session', 'source'] as const
export type UsageGroup = (typeof usageGroups)[number]

export type UsageFilter = {
  readonly group: UsageGroup
  /** Divides each group further. */
  readonly secondGroup?: UsageGroup | undefined
  /** The IANA zone of the days. */
  readonly zone?: string | undefined
  readonly sessionId?: string | undefined
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
/** With two groups, a line names both besides the key. */
export type UsageLine = UsageSums & { readonly key: string } & { readonly [Group in UsageGroup]?: string }
export type UsageCursor = { readonly weight: number; readonly key: string }

/** The grouping key and the sort weight. Days are sorted newest first, the other groups by tokens. */
const byTokens = `sum(${tokensExpression})`
const groupExpressions: Record<UsageGroup, (wallTime: string) => readonly [key: string, weight: string]> = {
  day: (at) => [`date(${at} / 1000, 'unixepoch')`, `max(${at} / 86400000)`],
  model: () => ["iif(instr(name, ' '), substr(name, 1, instr(name, ' ') - 1), name)", byTokens],
  session: () => ['session', byTokens],
  source: () => ['source', byTokens],
}

type UsageRow = Omit<UsageLine, 'cost_status'> & {
  readonly weight: number
  readonly certainty: number
  readonly first: string
  readonly second: string | null
}

export async function reportUsage(db: HistoryDb, tenantId: string, filter: UsageFilter) {
  const { statement, readAll } = createTenantDb(db, tenantId)
  const { group, secondGroup, zone = 'UTC', sessionId = null } = filter
  const wallTime = wallTimeSql(zone, filter.from, filter.to)
  const [first, weight] = groupExpressions[group](wallTime)
  const second = secondGroup ? groupExpressions[secondGroup](wallTime)[0] : 'NULL'
  const span: SqlValue[] = [filter.from, filter.to, dayNumber(filter.from), sessionId]
  const own = 'own AS (SELECT * FROM parts WHERE ?5 IS NULL OR session = ?5)'
  const lines = `WITH ${partsTable}, ${own}, groups AS (SELECT ${first} AS first, ${second} AS second, ${weight} AS weight,
      ${sumColumns} FROM own GROUP BY 1, 2),
    lines AS (SELECT iif(second IS NULL, first, first || ' ' || second) AS key, * FROM groups)
    SELECT * FROM lines WHERE ?6 IS NULL OR weight < ?6 OR (weight = ?6 AND key > ?7)
    ORDER BY weight DESC, key LIMIT ?8`
  const totalsQuery = `WITH ${partsTable}, ${own} SELECT '' AS key, 0 AS weight, '' AS first, NULL AS second, ${sumColumns} FROM own`
  const [rows = [], totals = []] = await readAll<UsageRow>([
    statement(lines, ...span, filter.cursor?.weight ?? null, filter.cursor?.key ?? null, filter.limit + 1),
    statement(totalsQuery, ...span),
  ])
  const data = rows.slice(0, filter.limit)
  const last = data.at(-1)
  return {
    data: data.map((row): UsageLine => {
      const parts = secondGroup && { [group]: row.first, [secondGroup]: row.second ?? '' }
      return { key: row.key, ...parts, ...toSums(row) }
    }),
    totals: toSums(totals[0]!),
    next: rows.length > filter.limit && last ? { weight: last.weight, key: last.key } : undefined,
  }
}

function toSums({
  certainty,
  key: _key,
  weight: _weight,
  first: _first,
  second: _second,
  ...counts
}: UsageRow): UsageSums {
  return { ...counts, cost_status: costStatuses[certainty] ?? 'unknown' }
}

// Renders the days of a time zone as SQL: SQLite knows no zones, so the offsets of the zone in the span are listed.

/** The steps in which changes are looked for. No zone changes twice within it. */
const stepMs = 7 * dayMs
/** Earlier days of a longer span count with the first offset. */
const maxSteps = 600

/** The wall time of the column `at`, in milliseconds. */
function wallTimeSql(zone: string, from: number, to: number): string {
  if (zone === 'UTC') return 'at'
  const start = Math.max(from, to - maxSteps * stepMs)
  const cases: string[] = []
  let offset = offsetAt(zone, start)
  for (let at = start; at < to; at += stepMs) {
    const next = Math.min(at + stepMs, to)
    const following = offsetAt(zone, next)
    if (following === offset) continue
    cases.push(`WHEN at < ${findChange(zone, at, next)} THEN ${offset}`)
    offset = following
  }
  return cases.length ? `(at + CASE ${cases.join(' ')} ELSE ${offset} END)` : `(at + ${offset})`
}

/**
 * Sums the tokens and the cost of a tenant in the current month and on the current day. Initialises counters that start
 * in the middle of a month.
 */

import { dayNumber } from './append-pages.ts'
import type { HistoryDb } from './shards/sharded-database.ts'
import { createTenantDb } from './tenant-db.ts'
import { partsTable, tokensExpression } from './usage-sql.ts'

type UsedAmount = { readonly tokens: number; readonly usd: number }

const costExpression = "counts ->> '$.costUsd'"
const selectTotals = `WITH ${partsTable} SELECT coalesce(sum(${tokensExpression}), 0) AS tokens, coalesce(sum(${costExpression}), 0) AS usd,
  coalesce(sum(iif(at >= ?5, ${tokensExpression}, 0)), 0) AS tokens_today, coalesce(sum(iif(at >= ?5, ${costExpression}, 0)), 0) AS usd_today
  FROM parts WHERE run <> ?6`

type TotalsRow = {
  readonly tokens: number
  readonly usd: number
  readonly tokens_today: number
  readonly usd_today: number
}

export async function sumUsageSince(
  db: HistoryDb,
  tenantId: string,
  { month, day, without }: { readonly month: number; readonly day: number; readonly without: string },
): Promise<{ readonly month: UsedAmount; readonly day: UsedAmount }> {
  const { read } = createTenantDb(db, tenantId)
  const [row] = await read<TotalsRow>(selectTotals, month, Number.MAX_SAFE_INTEGER, dayNumber(month), day, without)
  if (!row) throw new Error('The query of usage totals returned no row.')
  return {
    month: { tokens: row.tokens, usd: row.usd },
    day: { tokens: row.tokens_today, usd: row.usd_today },
  }
}

/** What a tenant has spent since two moments, for counters that begin in the middle of a month. */

import { dayOf } from './append-pages.ts'
import { boundTo } from './tenant-db.ts'
import { parts, tokens } from './usage-sql.ts'

type Amount = { readonly tokens: number; readonly usd: number }

const cost = "counts ->> '$.costUsd'"
const totals = `WITH ${parts} SELECT coalesce(sum(${tokens}), 0) AS tokens, coalesce(sum(${cost}), 0) AS usd,
  coalesce(sum(iif(at >= ?5, ${tokens}, 0)), 0) AS tokens_today, coalesce(sum(iif(at >= ?5, ${cost}, 0)), 0) AS usd_today
  FROM parts WHERE run <> ?6`

type Row = {
  readonly tokens: number
  readonly usd: number
  readonly tokens_today: number
  readonly usd_today: number
}

export async function spentSince(
  db: D1Database,
  tenantId: string,
  { month, day, without }: { readonly month: number; readonly day: number; readonly without: string },
): Promise<{ readonly month: Amount; readonly day: Amount }> {
  const { read } = boundTo(db, tenantId)
  const [row] = await read<Row>(totals, month, Number.MAX_SAFE_INTEGER, dayOf(month), day, without)
  if (!row) throw new Error('A sum has a row.')
  return {
    month: { tokens: row.tokens, usd: row.usd },
    day: { tokens: row.tokens_today, usd: row.usd_today },
  }
}

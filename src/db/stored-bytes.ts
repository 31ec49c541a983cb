/** Measures what a tenant stores in D1, without indexes. */

import type { HistoryDb } from './shards/sharded-database.ts'
import { createTenantDb } from './tenant-db.ts'

/** `octet_length` reads the header of a row only, not its text. */
const bytesOfPages = 'total(octet_length(page.body) + coalesce(octet_length(page.turn), 0)) AS bytes'
const ownPages = 'page.id >= session.num << 20 AND page.id < (session.num + 1) << 20'
const ofAll = `SELECT session.num, session.id, ${bytesOfPages} FROM session LEFT JOIN page ON ${ownPages}
  WHERE session.tenant_id = ?1 AND session.num > ?2 GROUP BY session.num ORDER BY session.num LIMIT ?3`
const ofSome = `SELECT session.num, session.id, ${bytesOfPages} FROM session LEFT JOIN page ON ${ownPages}
  WHERE session.tenant_id = ?1 AND session.id IN (SELECT value FROM json_each(?2)) GROUP BY session.num`
const sumAudit = 'SELECT total(octet_length(body)) AS bytes FROM audit WHERE tenant_id = ?1 AND at >= ?2 AND at < ?3'

const maxRows = 5_000

type SessionSize = { readonly num: number; readonly id: string; readonly bytes: number }

/** The bytes of history by session: of these sessions, or of all. */
export async function sumHistory(
  db: HistoryDb,
  tenantId: string,
  sessionIds?: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { read } = createTenantDb(db, tenantId)
  const bytes = new Map<string, number>()
  const add = (rows: readonly SessionSize[]) => {
    for (const row of rows) bytes.set(row.id, row.bytes)
  }
  if (sessionIds) {
    for (let from = 0; from < sessionIds.length; from += maxRows)
      add(await read<SessionSize>(ofSome, JSON.stringify(sessionIds.slice(from, from + maxRows))))
    return bytes
  }
  for (let last = -1; ;) {
    const rows = await read<SessionSize>(ofAll, last, maxRows)
    add(rows)
    if (rows.length < maxRows) return bytes
    last = rows.at(-1)?.num ?? last
  }
}

/** The bytes of the audit entries from `since` until before `until`. */
export async function sumAuditBytes(
  db: D1Database,
  tenantId: string,
  { since, until }: { readonly since: number; readonly until: number },
): Promise<number> {
  const [row] = await createTenantDb(db, tenantId).read<{ bytes: number }>(sumAudit, since, until)
  return row?.bytes ?? 0
}

/** Lists the sessions of a tenant that have been inactive since a day, oldest first. */

import { dayNumber } from './append-pages.ts'
import type { HistoryDb } from './shards/sharded-database.ts'
import { createTenantDb } from './tenant-db.ts'

/** The place of a session in the list. */
export type InactivePosition = { readonly day: number; readonly id: string }

/** `before`: milliseconds since 1970. Sessions of that day are not listed. */
export function listInactiveSessions(
  db: HistoryDb,
  tenantId: string,
  { before, after, limit }: { readonly before: number; readonly after: InactivePosition; readonly limit: number },
): Promise<readonly InactivePosition[]> {
  return createTenantDb(db, tenantId).read<InactivePosition>(
    `SELECT active_day AS day, id FROM session WHERE tenant_id = ?1 AND active_day < ?2
      AND (active_day > ?3 OR (active_day = ?3 AND id > ?4)) ORDER BY active_day, id LIMIT ?5`,
    dayNumber(before),
    after.day,
    after.id,
    limit,
  )
}

/** Measures what a tenant stores in D1. */

import { historyDb, type HistoryDb } from './shards/sharded-database.ts'
import { createTenantDb } from './tenant-db.ts'

/** `octet_length` reads the header of a row only, not its text. */
const sumHistory = `SELECT total(octet_length(page.body) + coalesce(octet_length(page.turn), 0)) AS bytes
  FROM session JOIN page ON page.id >= session.num << 20 AND page.id < (session.num + 1) << 20
  WHERE session.tenant_id = ?1`
const sumAudit = 'SELECT total(octet_length(body)) AS bytes FROM audit WHERE tenant_id = ?1'

/** The bytes of history and audit log, without indexes. */
export async function sumStoredBytes(env: Env, tenantId: string): Promise<number> {
  const sum = async (db: HistoryDb, sql: string) =>
    (await createTenantDb(db, tenantId).read<{ bytes: number }>(sql))[0]?.bytes ?? 0
  const [history, audit] = await Promise.all([sum(historyDb(env, tenantId), sumHistory), sum(env.DB, sumAudit)])
  return history + audit
}

/** Measures what a tenant stores in D1. */

import { createTenantDb } from './tenant-db.ts'

/** `octet_length` reads the header of a row only, not its text. */
const sumHistory = `SELECT total(octet_length(page.body) + coalesce(octet_length(page.turn), 0)) AS bytes
  FROM session JOIN page ON page.id >= session.num << 20 AND page.id < (session.num + 1) << 20
  WHERE session.tenant_id = ?1`
const sumAudit = 'SELECT total(octet_length(body)) AS bytes FROM audit WHERE tenant_id = ?1'

/** The bytes of history and audit log, without indexes. */
export async function sumStoredBytes(db: D1Database, tenantId: string): Promise<number> {
  const { statement, readAll } = createTenantDb(db, tenantId)
  const results = await readAll<{ bytes: number }>([statement(sumHistory), statement(sumAudit)])
  return results.reduce((sum, [row]) => sum + (row?.bytes ?? 0), 0)
}

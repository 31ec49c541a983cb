/**
 * Deletes pages together with their index rows, in one transaction. The usage of the deleted turns is copied to
 * `usage_kept`, so that it stays counted.
 */

import type { AuditEvent } from '#agent/core/permission/audit.ts'
import type { SpentTurn } from '#agent/core/history.ts'
import { auditStatement } from './audit-log.ts'
import type { HistoryDb } from './shards/sharded-database.ts'
import { createTenantDb, type TenantDb } from './tenant-db.ts'

const ownSession = 'FROM session WHERE tenant_id = ?1 AND id = ?2'
const keyRange = (key: string) =>
  `${key} >= (SELECT (num << 20) + ?3 ${ownSession}) AND ${key} < (SELECT (num + 1) << 20 ${ownSession})`
const deleteWords = `DELETE FROM words WHERE ${keyRange('rowid')}`
const deletePieces = `DELETE FROM pieces WHERE ${keyRange('rowid')}`
const deletePageRows = `DELETE FROM page WHERE ${keyRange('page.id')}`
const copyUsage = `INSERT INTO usage_kept(tenant_id, run_id, at, session_id, source, model, usage)
  SELECT ?1, page.run_id, page.at, session.id, session.source, page.model, page.usage
    FROM session JOIN page ON page.id >= (session.num << 20) + ?3 AND page.id < (session.num + 1) << 20
    WHERE session.tenant_id = ?1 AND session.id = ?2 AND page.tenant_id = ?1 AND page.usage IS NOT NULL
  ON CONFLICT DO NOTHING`
const insertUsage = `INSERT INTO usage_kept(tenant_id, run_id, at, session_id, source, model, usage)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING`
const deleteSessionRow = 'DELETE FROM session WHERE tenant_id = ?1 AND id = ?2'

/** Sets `through` to the last seq of the remaining pages. */
const updateThrough = `UPDATE session SET through = coalesce((SELECT last FROM page
    WHERE page.id > session.num << 20 AND page.id < (session.num << 20) + ?3 ORDER BY page.id DESC LIMIT 1), 0)
  WHERE tenant_id = ?1 AND id = ?2 AND through >= ?3`

const usageStatements = ({ statement }: TenantDb, sessionId: string, turns: readonly SpentTurn[]) =>
  turns.map(({ runId, at, source, model, usage }) =>
    statement(insertUsage, runId, at, sessionId, source, model ?? null, JSON.stringify(usage)),
  )

/** Adds usage that belongs to no session. */
export async function addUsage(db: HistoryDb, tenantId: string, spent: SpentTurn): Promise<void> {
  const tenantDb = createTenantDb(db, tenantId)
  await tenantDb.write(usageStatements(tenantDb, '', [spent]))
}

/** Deletes the pages from `from` on. `unsent`: deleted turns that were never sent to the history. */
export async function deletePagesFrom(
  tenantDb: TenantDb,
  sessionId: string,
  from: number,
  unsent: readonly SpentTurn[] = [],
): Promise<void> {
  const { statement, write } = tenantDb
  const first = Math.max(1, from)
  await write([
    statement(copyUsage, sessionId, first),
    ...usageStatements(tenantDb, sessionId, unsent),
    statement(deleteWords, sessionId, first),
    statement(deletePieces, sessionId, first),
    statement(deletePageRows, sessionId, first),
    statement(updateThrough, sessionId, first),
  ])
}

/** Usage that is in pages again counts once. */
export async function forgetKeptUsage({ statement, write }: TenantDb, runIds: readonly string[]): Promise<void> {
  if (!runIds.length) return
  const kept = 'DELETE FROM usage_kept WHERE tenant_id = ?1 AND run_id IN (SELECT value FROM json_each(?2))'
  await write([statement(kept, JSON.stringify(runIds))])
}

export async function deleteSession(
  tenantDb: TenantDb,
  sessionId: string,
  unsent: readonly SpentTurn[] = [],
  audit?: AuditEvent,
): Promise<boolean> {
  const { statement, write } = tenantDb
  const statements = [
    statement(copyUsage, sessionId, 0),
    ...usageStatements(tenantDb, sessionId, unsent),
    // Key 0 is the title.
    statement(deleteWords, sessionId, 0),
    statement(deletePieces, sessionId, 0),
    statement(deletePageRows, sessionId, 0),
    statement(deleteSessionRow, sessionId),
  ]
  const results = await write(statements, audit ? [auditStatement(tenantDb.directory, audit)] : [])
  return results.at(-1)!.meta.changes > 0
}

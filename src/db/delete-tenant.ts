/**
 * Deletes a tenant. Its row stays as a tombstone with the status `deleting` until everything else is gone: keys are
 * refused as unknown, and the id cannot be used again. Every step can be repeated.
 */

import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { createAuditEvent } from '#agent/core/permission/audit.ts'
import { auditStatementIfChanged } from './audit-log.ts'
import { deleteSession } from './delete-pages.ts'
import * as schema from './schema.ts'
import { listHistoryDatabases } from './shards/history-databases.ts'
import { createTenantDb, type TenantDb } from './tenant-db.ts'

export type TenantRemoval = {
  /** Marks the tenant, and writes that to the audit log of the operator. False when there is none. */
  readonly mark: (at: number, actor: string) => Promise<boolean>
  /** Whether the tombstone is there. */
  readonly isMarked: () => Promise<boolean>
  readonly listSessions: (limit: number) => Promise<readonly string[]>
  /** Deletes some rows of every table that has a tenant, also full text. True when none were left. */
  readonly deleteRows: () => Promise<boolean>
  /** Deletes the tombstone. */
  readonly finish: () => Promise<void>
}

/** Rows of one table that are deleted at once: D1 limits the time of a statement. */
const batchRows = 500

/** All tables with a tenant. Pages come first, because full text is found by them. */
export const tenantTables: readonly string[] = Object.values(schema)
  .filter((value) => is(value, SQLiteTable))
  .filter((table) => 'tenantId' in getTableColumns(table))
  .map((table) => getTableName(table))

const chosen = (table: string) => `SELECT rowid FROM ${table} WHERE tenant_id = ?1 ORDER BY rowid LIMIT ${batchRows}`

const markTenant = "UPDATE tenant SET status = 'deleting' WHERE id = ?1 AND status <> 'deleting'"
const selectMarked = "SELECT 1 FROM tenant WHERE id = ?1 AND status = 'deleting'"

/** Also a tenant that is being moved has all its rows deleted: every database is asked for them. */
export function createTenantRemoval(env: Env, tenantId: string): TenantRemoval {
  const db = env.DB
  const tenantDbs = listHistoryDatabases(env).map((one) => createTenantDb(one.db, tenantId))
  const select = () => db.prepare(selectMarked).bind(tenantId)
  return {
    mark: async (at, actor) => {
      const event = createAuditEvent({
        at,
        kind: 'tenant.deleted',
        actor,
        subject: tenantId,
        details: { tenant: tenantId },
      })
      // Only the operator's log keeps it.
      const entry = auditStatementIfChanged(createTenantDb(db, schema.ownerTenant), event)
      const [, , marked] = await db.batch([db.prepare(markTenant).bind(tenantId), entry, select()])
      return (marked?.results.length ?? 0) > 0
    },
    isMarked: async () => (await select().first()) !== null,
    listSessions: async (limit) => {
      const lists = await Promise.all(tenantDbs.map((tenantDb) => listSessions(tenantDb, limit)))
      return [...new Set(lists.flat())].slice(0, limit)
    },
    deleteRows: async () => {
      let isDone = true
      for (const tenantDb of tenantDbs) isDone = (await deleteRowsOf(tenantDb, tenantTables)) && isDone
      return isDone
    },
    finish: async () => {
      await db.prepare("DELETE FROM tenant WHERE id = ?1 AND status = 'deleting'").bind(tenantId).run()
    },
  }
}

async function listSessions({ read }: TenantDb, limit: number): Promise<readonly string[]> {
  const query = 'SELECT id FROM session WHERE tenant_id = ?1 ORDER BY num LIMIT ?2'
  return (await read<{ id: string }>(query, limit)).map(({ id }) => id)
}

/** Deletes some rows of these tables, also full text. True when none were left. */
export async function deleteRowsOf(tenantDb: TenantDb, tables: readonly string[]): Promise<boolean> {
  const { statement, write } = tenantDb
  // The key of a page and of its full text is made from the session's row: sessions are deleted with their pages.
  for (const id of await listSessions(tenantDb, batchRows)) await deleteSession(tenantDb, id)
  const fullText = ['words', 'pieces'].map((table) =>
    statement(`DELETE FROM ${table} WHERE rowid IN (${chosen('page')})`),
  )
  const rows = tables.map((table) =>
    statement(`DELETE FROM ${table} WHERE tenant_id = ?1 AND rowid IN (${chosen(table)})`),
  )
  const results = await write([...fullText, ...rows])
  return results.slice(fullText.length).every(({ meta }) => meta.changes === 0)
}

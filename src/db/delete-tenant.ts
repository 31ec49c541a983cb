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
import { createTenantDb } from './tenant-db.ts'

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

export function createTenantRemoval(db: D1Database, tenantId: string): TenantRemoval {
  const tenantDb = createTenantDb(db, tenantId)
  const { read, statement, write } = tenantDb
  const select = () => db.prepare(selectMarked).bind(tenantId)
  const listSessions = async (limit: number) =>
    (await read<{ id: string }>('SELECT id FROM session WHERE tenant_id = ?1 ORDER BY num LIMIT ?2', limit)).map(
      ({ id }) => id,
    )
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
    listSessions,
    deleteRows: async () => {
      // The key of a page and of its full text is made from the session's row: sessions are deleted with their pages.
      for (const id of await listSessions(batchRows)) await deleteSession(tenantDb, id)
      const fullText = ['words', 'pieces'].map((table) =>
        statement(`DELETE FROM ${table} WHERE rowid IN (${chosen('page')})`),
      )
      const rows = tenantTables.map((table) =>
        statement(`DELETE FROM ${table} WHERE tenant_id = ?1 AND rowid IN (${chosen(table)})`),
      )
      const results = await write([...fullText, ...rows])
      return results.slice(fullText.length).every(({ meta }) => meta.changes === 0)
    },
    finish: async () => {
      await db.prepare("DELETE FROM tenant WHERE id = ?1 AND status = 'deleting'").bind(tenantId).run()
    },
  }
}

/**
 * Runs a change of the operator together with its entries in the audit log, as one transaction. The log of the changed
 * tenant has the entry, and that of the operator too, because it outlives the tenant.
 */

import { type AuditAction, type AuditedAction, createAuditEvent } from '#agent/core/permission/audit.ts'
import { auditStatementIfChanged } from './audit-log.ts'
import { ownerTenant } from './schema.ts'
import { createTenantDb } from './tenant-db.ts'

/** A statement as drizzle renders it. */
type RenderedStatement = { readonly sql: string; readonly params: readonly unknown[] }

type AdminAction = AuditedAction & { readonly kind: AuditAction; readonly at: number; readonly tenantId: string }

export type AdminAudit = {
  /** Returns whether the statement has changed a row. Only then the entries are written. */
  readonly run: (statement: RenderedStatement, action: AdminAction) => Promise<boolean>
}

export const createAdminAudit = (db: D1Database, actor: string): AdminAudit => ({
  run: async ({ sql, params }, { tenantId, details, ...action }) => {
    const event = createAuditEvent({ ...action, actor, details: { tenant: tenantId, ...details } })
    const logs = [...new Set([tenantId, ownerTenant])]
    // Each statement depends on the one before it.
    const entries = logs.map((log) => auditStatementIfChanged(createTenantDb(db, log), event))
    const [changed] = await db.batch([db.prepare(sql).bind(...params), ...entries])
    return (changed?.meta.changes ?? 0) > 0
  },
})

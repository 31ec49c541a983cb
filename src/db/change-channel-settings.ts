/** Changes the settings of a connection by a function of the stored ones, so that no concurrent change is lost. */

import { createAuditEvent, listChanges } from '#agent/core/permission/audit.ts'
import { auditStatementIfChanged } from './audit-log.ts'
import { createTenantDb } from './tenant-db.ts'

export type ChannelSettingsChange = {
  readonly id: string
  /** The person who makes the change, for the audit log. */
  readonly actor: string
  /** Returns a patch of the stored settings (RFC 7396). Undefined: nothing changes. */
  readonly compute: (settings: object) => object | undefined
}

const select = 'SELECT settings FROM channel WHERE tenant_id = ?1 AND id = ?2'
const update = `UPDATE channel SET settings = json_patch(settings, ?3) WHERE tenant_id = ?1 AND id = ?2 AND settings = ?4
  RETURNING id`
const maxAttempts = 8

/** Does nothing when the connection does not exist. */
export async function changeChannelSettings(
  db: D1Database,
  tenantId: string,
  { id, actor, compute }: ChannelSettingsChange,
): Promise<void> {
  const tenantDb = createTenantDb(db, tenantId)
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const [row] = await tenantDb.read<{ readonly settings: string }>(select, id)
    const stored = row && (JSON.parse(row.settings) as object)
    const patch = stored && compute(stored)
    if (!patch) return
    const changes = listChanges({ settings: stored }, { settings: { ...stored, ...patch } })
    const event = createAuditEvent({ at: Date.now(), kind: 'channel.changed', actor, subject: id, changes })
    const changing = tenantDb.statement(update, id, JSON.stringify(patch), row.settings)
    const [result] = await tenantDb.write([changing, auditStatementIfChanged(tenantDb, event)])
    if (result?.results.length) return
  }
  throw new Error('The settings of a channel were changed by others each time.')
}

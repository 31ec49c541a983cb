/**
 * Stores the connections of tenants to messaging platforms. Only the webhook looks one up without a tenant, because
 * its address contains just the id. The webhook then verifies that the sender has the secret of the connection.
 */

import {
  type AuditAction,
  type AuditedAction,
  type AuditedChange,
  createAuditEvent,
  listChanges,
} from '#agent/core/permission/audit.ts'
import { auditStatementIfChanged } from './audit-log.ts'
import { createTenantDb } from './tenant-db.ts'

/** Generic webhooks are connections to no platform: their rows have this one. */
export const webhookPlatform = 'webhook'

export type Connection = {
  readonly id: string
  readonly tenantId: string
  readonly platform: string
  readonly name: string
  readonly status: 'active' | 'paused'
  readonly createdAt: number
  readonly webhookUrl: string
  readonly settings: unknown
  /** All secrets as one sealed value. */
  readonly secrets: string
  /** The last characters of each secret, for display. */
  readonly endings: Readonly<Record<string, string>>
  readonly account: unknown
}

type ConnectionRow = {
  readonly id: string
  readonly tenant_id: string
  readonly platform: string
  readonly name: string
  readonly status: 'active' | 'paused'
  readonly created_at: number
  readonly webhook_url: string
  readonly settings: string
  readonly secrets: string
  readonly endings: string
  readonly account: string | null
}

const parseRow = (row: ConnectionRow): Connection => ({
  id: row.id,
  tenantId: row.tenant_id,
  platform: row.platform,
  name: row.name,
  status: row.status,
  createdAt: row.created_at,
  webhookUrl: row.webhook_url,
  settings: JSON.parse(row.settings) as unknown,
  secrets: row.secrets,
  endings: JSON.parse(row.endings) as Readonly<Record<string, string>>,
  account: row.account === null ? null : (JSON.parse(row.account) as unknown),
})

export type Connections = {
  /** Lists connections older than `before`, newest first. */
  readonly list: (page: {
    readonly limit: number
    readonly before?: ConnectionCursor | undefined
    /** Absent: both. */
    readonly kind?: 'channel' | 'webhook'
  }) => Promise<readonly Connection[]>
  readonly get: (id: string) => Promise<Connection | undefined>
  readonly create: (connection: Omit<Connection, 'tenantId'>) => Promise<void>
  /** Updates the given fields only. Undefined when the connection does not exist or its secrets changed meanwhile. */
  readonly update: (id: string, change: ConnectionChange, now?: number) => Promise<Connection | undefined>
  /** Stores the account that the secrets belong to. Does nothing when the secrets changed meanwhile. */
  readonly setAccount: (connection: Pick<Connection, 'id' | 'secrets'>, account: unknown) => Promise<void>
  /** Returns false when the connection did not exist. */
  readonly delete: (id: string, now?: number) => Promise<boolean>
}

/**
 * New secrets carry the sealed secrets that they replace as `before`: a change of one secret is based on the others, so
 * it must not overwrite a concurrent change. New secrets clear the account, which may be a different one.
 */
export type ConnectionChange = {
  readonly name?: string | undefined
  readonly status?: Connection['status'] | undefined
  readonly settings?: object | undefined
  readonly secrets?: (Pick<Connection, 'secrets' | 'endings'> & { readonly before: string }) | undefined
}

export type ConnectionCursor = { readonly at: number; readonly id: string }

const insertConnection = `INSERT INTO channel(tenant_id, id, platform, name, status, created_at, webhook_url, settings, secrets, endings,
  account) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`
const updateConnection = `UPDATE channel SET name = coalesce(?3, name), status = coalesce(?4, status),
  settings = json_patch(settings, ?5), secrets = coalesce(?6, secrets), endings = coalesce(?7, endings),
  account = CASE WHEN ?6 IS NULL THEN account END WHERE tenant_id = ?1 AND id = ?2
  AND (?8 IS NULL OR secrets = ?8) RETURNING *`
const selectNewest = `SELECT * FROM channel WHERE tenant_id = ?1 AND (created_at, id) < (?2, ?3)
  AND (?5 IS NULL OR (platform = '${webhookPlatform}') = (?5 = 'webhook'))
  ORDER BY created_at DESC, id DESC LIMIT ?4`

type FieldChange = { readonly name: string | null; readonly status: string | null; readonly settings: object }

function changesOf(before: Connection, { name, status, settings }: FieldChange): readonly AuditedChange[] {
  const old = { name: before.name, status: before.status, settings: before.settings as object }
  const changed = { name: name ?? old.name, status: status ?? old.status, settings: { ...old.settings, ...settings } }
  return listChanges(old, changed)
}

/** `actor`: who makes the changes, for the audit log. */
export function createConnections(db: D1Database, tenantId: string, actor = ''): Connections {
  const tenantDb = createTenantDb(db, tenantId)
  const { read, statement, write } = tenantDb
  const get = async (id: string) =>
    (await read<ConnectionRow>('SELECT * FROM channel WHERE tenant_id = ?1 AND id = ?2', id)).map(parseRow)[0]
  /** Writes the change and, if it took place, its entry in the audit log. */
  const change = async (changing: D1PreparedStatement, kind: AuditAction, action: AuditedAction, at: number) => {
    const entry = auditStatementIfChanged(tenantDb, createAuditEvent({ at, kind, actor, ...action }))
    const [result] = await write([changing, entry])
    return result
  }
  return {
    list: async ({ limit, before = { at: Number.MAX_SAFE_INTEGER, id: '' }, kind = null }) =>
      (await read<ConnectionRow>(selectNewest, before.at, before.id, limit, kind)).map(parseRow),
    get,
    create: async (connection) => {
      const { id, platform, name, status, createdAt, webhookUrl, secrets } = connection
      const [settings, endings] = [connection.settings, connection.endings].map((value) => JSON.stringify(value))
      const account = connection.account === null ? null : JSON.stringify(connection.account)
      const values = [
        id,
        platform,
        name,
        status,
        createdAt,
        webhookUrl,
        settings ?? '{}',
        secrets,
        endings ?? '{}',
        account,
      ]
      const action = { subject: id, details: { platform, name } }
      await change(statement(insertConnection, ...values), 'channel.created', action, createdAt)
    },
    update: async (id, { name = null, status = null, settings = {}, secrets }, now = Date.now()) => {
      const before = await get(id)
      if (!before) return undefined
      const sealed = secrets ? [secrets.secrets, JSON.stringify(secrets.endings), secrets.before] : [null, null, null]
      const changing = statement(updateConnection, id, name, status, JSON.stringify(settings), ...sealed)
      const action = {
        subject: id,
        changes: changesOf(before, { name, status, settings }),
        details: { secrets: !!secrets },
      }
      const result = await change(changing, 'channel.changed', action, now)
      return (result?.results as readonly ConnectionRow[] | undefined)?.map(parseRow)[0]
    },
    setAccount: async ({ id, secrets }, account) => {
      const set = 'UPDATE channel SET account = ?3 WHERE tenant_id = ?1 AND id = ?2 AND secrets = ?4'
      await write([statement(set, id, JSON.stringify(account), secrets)])
    },
    delete: async (id, now = Date.now()) => {
      const deleting = statement('DELETE FROM channel WHERE tenant_id = ?1 AND id = ?2', id)
      const result = await change(deleting, 'channel.deleted', { subject: id }, now)
      return (result?.meta.changes ?? 0) > 0
    },
  }
}

const selectWithTenant = `SELECT channel.*, tenant.status AS standing FROM channel
  LEFT JOIN tenant ON tenant.id = channel.tenant_id WHERE channel.id = ?1`

/** Returns a connection of any tenant, for the webhook. Connections of a suspended tenant count as paused. */
export async function getConnectionById(db: D1Database, id: string): Promise<Connection | undefined> {
  const row = await db.prepare(selectWithTenant).bind(id).first<ConnectionRow & { readonly standing: string | null }>()
  if (!row) return undefined
  const connection = parseRow(row)
  if (row.standing === 'deleting') return undefined
  return row.standing === 'suspended' ? { ...connection, status: 'paused' } : connection
}

/** Its conditions are those of the unique index `channel_mail`. */
export const selectByAddress = `SELECT id FROM channel WHERE platform = 'email'
  AND lower(json_extract(settings, '$.address')) = ?1`

/** Returns the id of the connection that mail to an address belongs to. */
export async function findMailConnection(db: D1Database, address: string): Promise<string | undefined> {
  const row = await db.prepare(selectByAddress).bind(address.trim().toLowerCase()).first<{ readonly id: string }>()
  return row?.id
}

/** The error of `create` and `update` for an address that another email connection has. */
export const isAddressTaken = (error: unknown): boolean =>
  error instanceof Error && error.message.includes("UNIQUE constraint failed: index 'channel_mail'")

/**
 * Connections of tenants to messaging platforms. Only the webhook, which has nothing but the id in its address, may look
 * one up without knowing its tenant: whoever sends has to prove next that they know its secret.
 */

import { boundTo } from './tenant-db.ts'

export type Connection = {
  readonly id: string
  readonly tenantId: string
  readonly platform: string
  readonly name: string
  readonly status: 'active' | 'paused'
  readonly createdAt: number
  readonly webhookUrl: string
  readonly settings: unknown
  /** Sealed. */
  readonly secrets: string
  /** The last characters of each secret. */
  readonly endings: Readonly<Record<string, string>>
  readonly account: unknown
}

type Row = {
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

const connectionOf = (row: Row): Connection => ({
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
  /** Newest first, those that are older than `before`. */
  readonly list: (page: {
    readonly limit: number
    readonly before?: Place | undefined
  }) => Promise<readonly Connection[]>
  readonly get: (id: string) => Promise<Connection | undefined>
  readonly add: (connection: Omit<Connection, 'tenantId'>) => Promise<void>
  /** What is not named stays as it is by then. Undefined when there is none, or none with the secrets of before. */
  readonly change: (id: string, to: ConnectionChange) => Promise<Connection | undefined>
  /** Whom these secrets are of; nothing happens when it has others by now. */
  readonly setAccount: (of: Pick<Connection, 'id' | 'secrets'>, account: unknown) => Promise<void>
  /** False when there was none. */
  readonly remove: (id: string) => Promise<boolean>
}

/**
 * Secrets come with their endings, and with those `before`, sealed, that they were made of: one of them may be all that
 * changes. The account of those of before is not known to be theirs.
 */
export type ConnectionChange = {
  readonly name?: string | undefined
  readonly status?: Connection['status'] | undefined
  readonly settings?: object | undefined
  readonly secrets?: (Pick<Connection, 'secrets' | 'endings'> & { readonly before: string }) | undefined
}

export type Place = { readonly at: number; readonly id: string }

const add = `INSERT INTO channel(tenant_id, id, platform, name, status, created_at, webhook_url, settings, secrets, endings,
  account) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`
const change = `UPDATE channel SET name = coalesce(?3, name), status = coalesce(?4, status),
  settings = json_patch(settings, ?5), secrets = coalesce(?6, secrets), endings = coalesce(?7, endings),
  account = CASE WHEN ?6 IS NULL THEN account END WHERE tenant_id = ?1 AND id = ?2
  AND (?8 IS NULL OR secrets = ?8) RETURNING *`
const newest = `SELECT * FROM channel WHERE tenant_id = ?1 AND (created_at, id) < (?2, ?3)
  ORDER BY created_at DESC, id DESC LIMIT ?4`

export function connections(db: D1Database, tenantId: string): Connections {
  const { read, statement, write } = boundTo(db, tenantId)
  return {
    list: async ({ limit, before = { at: Number.MAX_SAFE_INTEGER, id: '' } }) =>
      (await read<Row>(newest, before.at, before.id, limit)).map(connectionOf),
    get: async (id) =>
      (await read<Row>('SELECT * FROM channel WHERE tenant_id = ?1 AND id = ?2', id)).map(connectionOf)[0],
    add: async (one) => {
      const { id, platform, name, status, createdAt, webhookUrl, secrets } = one
      const [settings, endings] = [one.settings, one.endings].map((value) => JSON.stringify(value))
      const account = one.account === null ? null : JSON.stringify(one.account)
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
      await write([statement(add, ...values)])
    },
    change: async (id, { name = null, status = null, settings = {}, secrets }) => {
      const sealed = secrets ? [secrets.secrets, JSON.stringify(secrets.endings), secrets.before] : [null, null, null]
      const [result] = await write([statement(change, id, name, status, JSON.stringify(settings), ...sealed)])
      return (result?.results as readonly Row[] | undefined)?.map(connectionOf)[0]
    },
    setAccount: async ({ id, secrets }, account) => {
      const set = 'UPDATE channel SET account = ?3 WHERE tenant_id = ?1 AND id = ?2 AND secrets = ?4'
      await write([statement(set, id, JSON.stringify(account), secrets)])
    },
    remove: async (id) => {
      const [result] = await write([statement('DELETE FROM channel WHERE tenant_id = ?1 AND id = ?2', id)])
      return (result?.meta.changes ?? 0) > 0
    },
  }
}

const withTenant = `SELECT channel.*, tenant.status AS standing FROM channel
  LEFT JOIN tenant ON tenant.id = channel.tenant_id WHERE channel.id = ?1`

/** For the webhook: of whichever tenant. Nobody listens to the channels of a suspended one. */
export async function connectionById(db: D1Database, id: string): Promise<Connection | undefined> {
  const row = await db.prepare(withTenant).bind(id).first<Row & { readonly standing: string | null }>()
  if (!row) return undefined
  const connection = connectionOf(row)
  return row.standing === 'suspended' ? { ...connection, status: 'paused' } : connection
}

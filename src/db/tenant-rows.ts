/** Reads and writes the rows of a tenant for backups: keys, logins, channels, audit log and kept usage. */

import { historyDb, type HistoryDb } from './shards/sharded-database.ts'

/** History and its search index are not among them: the objects of sessions write both again. */
const tables = ['api_key', 'login', 'channel', 'audit', 'usage_kept'] as const
/** The other tables are in `DB`. */
const isOfHistory = (table: CopiedTable): boolean => table === 'usage_kept'
type CopiedTable = (typeof tables)[number]
type TenantTableRow = Readonly<Record<string, string | number | null>>
export type TenantRow = { readonly table: CopiedTable; readonly row: TenantTableRow }

const pageRows = 500

/** In the order of their insertion. `num` of the audit log is the database's own. */
export async function* readTenantRows(env: Env, tenantId: string): AsyncGenerator<TenantRow> {
  for (const table of tables) {
    let after = 0
    for (;;) {
      const page = await databaseOf(env, tenantId, table)
        .prepare(`SELECT rowid AS position, * FROM ${table} WHERE tenant_id = ? AND rowid > ? ORDER BY rowid LIMIT ?`)
        .bind(tenantId, after, pageRows)
        .all<TenantTableRow & { readonly position: number }>()
      for (const { position, num: _num, ...row } of page.results) {
        after = position
        yield { table, row }
      }
      if (page.results.length < pageRows) break
    }
  }
}

/** A row that exists stays as it is. `tenantId` is that of every row. */
export async function writeTenantRows(env: Env, tenantId: string, rows: readonly TenantRow[]): Promise<void> {
  for (const part of [rows.filter(({ table }) => isOfHistory(table)), rows.filter(({ table }) => !isOfHistory(table))])
    if (part[0]) {
      const db = databaseOf(env, tenantId, part[0].table)
      await db.batch(part.map((one) => insert(db, tenantId, one)))
    }
}

const databaseOf = (env: Env, tenantId: string, table: CopiedTable): HistoryDb =>
  isOfHistory(table) ? historyDb(env, tenantId) : env.DB

function insert(db: HistoryDb, tenantId: string, { table, row }: TenantRow): D1PreparedStatement {
  const values = { ...row, tenant_id: tenantId }
  const columns = Object.keys(values)
  if (!tables.includes(table) || !columns.every((name) => /^[a-z_]{1,40}$/.test(name)))
    throw new Error('The row is not of a backup.')
  const marks = columns.map(() => '?').join(', ')
  return db
    .prepare(`INSERT OR IGNORE INTO ${table} (${columns.join(', ')}) VALUES (${marks})`)
    .bind(...Object.values(values))
}

/**
 * Finds the D1 databases of histories. `DB` has the directory of the deployment: tenants, keys, logins, channels and the
 * audit log. Sessions, pages, their search index and kept usage of a tenant are in one of `HISTORY_1` … `HISTORY_n`,
 * which the row of the tenant names, or in `DB` as well (docs/design/scale.md).
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'

export type HistoryDatabase = { readonly name: string; readonly db: D1Database }

const directory = 'DB'
const maxCached = 5_000
/** A tenant that was moved is found again at once, because its old database refuses it (sharded-database.ts). */
const cacheMs = 30_000

type CachedName = { readonly name: string; readonly at: number }
const names = new BoundedMap<string, CachedName>(maxCached)

/** `HISTORY_1` and so on, without a gap. Empty when `DB` holds everything. */
export function listShards(env: Env): readonly HistoryDatabase[] {
  let found = shards.get(env)
  if (!found) shards.set(env, (found = findShards(env)))
  return found
}

const shards = new WeakMap<Env, readonly HistoryDatabase[]>()

function findShards(env: Env): readonly HistoryDatabase[] {
  const bound = env as unknown as Readonly<Record<string, D1Database | undefined>>
  const found: HistoryDatabase[] = []
  for (;;) {
    const name = `HISTORY_${found.length + 1}`
    const db = bound[name]
    if (!db) return found
    found.push({ name, db })
  }
}

/** All databases that may hold a history, `DB` first. */
export const listHistoryDatabases = (env: Env): readonly HistoryDatabase[] => [
  { name: directory, db: env.DB },
  ...listShards(env),
]

export function getHistoryDatabase(env: Env, name: string): HistoryDatabase {
  const found = listHistoryDatabases(env).find((one) => one.name === name)
  if (!found) throw new Error(`The deployment has no binding ${name}, which has the history of a tenant.`)
  return found
}

/** Reads the name from the row of the tenant. */
export async function readHistoryName({ DB }: Pick<Env, 'DB'>, tenantId: string): Promise<string> {
  const query = 'SELECT history FROM tenant WHERE id = ?'
  const row = await DB.prepare(query).bind(tenantId).first<{ readonly history: string | null }>()
  return row?.history ?? directory
}

/** The database of a tenant, as this isolate knows it. */
export async function findHistoryDatabase(env: Env, tenantId: string): Promise<HistoryDatabase> {
  const cached = names.get(tenantId)
  if (cached && Date.now() - cached.at < cacheMs) return getHistoryDatabase(env, cached.name)
  const name = await readHistoryName(env, tenantId)
  names.set(tenantId, { name, at: Date.now() })
  return getHistoryDatabase(env, name)
}

export const forgetHistoryDatabase = (tenantId: string): void => void names.delete(tenantId)

/** The size of a database in bytes, which comes with the answer to every query. */
export const readBytes = async (db: D1Database): Promise<number> =>
  (await db.prepare('SELECT 1').run()).meta.size_after ?? 0

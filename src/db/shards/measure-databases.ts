/** Measures the databases that hold histories, and says which are nearly full. */

import { listHistoryDatabases, readBytes } from './history-databases.ts'

/** D1 refuses writes above it (https://developers.cloudflare.com/d1/platform/limits/). */
export const maxDatabaseBytes = 10_000_000_000
const warnShare = 0.7

type MeasuredDatabase = { readonly name: string; readonly bytes: number; readonly tenants: number }

const countTenants = "SELECT coalesce(history, 'DB') AS name, count(*) AS tenants FROM tenant GROUP BY 1"

export async function measureDatabases(env: Env): Promise<readonly MeasuredDatabase[]> {
  const counted = await env.DB.prepare(countTenants).all<{ name: string; tenants: number }>()
  const tenants = new Map(counted.results.map((row) => [row.name, row.tenants]))
  return Promise.all(
    listHistoryDatabases(env).map(async ({ name, db }) => ({
      name,
      bytes: await readBytes(db),
      tenants: tenants.get(name) ?? 0,
    })),
  )
}

/** Databases whose sizes differ by less count as equally large. */
const sizeStepBytes = 64_000_000

/**
 * The smallest of `HISTORY_n`, for a new tenant; of equally large ones that with the fewest tenants, because tenants who
 * are created together have no history yet. Null without such databases.
 */
export async function chooseHistoryDatabase(env: Env): Promise<string | null> {
  const [_directory, ...shards] = await measureDatabases(env)
  const sizeOf = ({ bytes }: MeasuredDatabase) => Math.floor(bytes / sizeStepBytes)
  return shards.toSorted((a, b) => sizeOf(a) - sizeOf(b) || a.tenants - b.tenants)[0]?.name ?? null
}

/** One text for each database, as health shows it. */
export async function describeDatabases(env: Env): Promise<Readonly<Record<string, string>>> {
  const texts = await Promise.all(
    listHistoryDatabases(env).map(async ({ name, db }) => [name, describe(await readBytes(db))] as const),
  )
  return Object.fromEntries(texts)
}

export function describe(bytes: number): string {
  const share = Math.round((100 * bytes) / maxDatabaseBytes)
  const size = `${share} % of 10 GB`
  return bytes < warnShare * maxDatabaseBytes
    ? size
    : `${size}: nearly full, move tenants or add databases (docs/design/scale.md)`
}

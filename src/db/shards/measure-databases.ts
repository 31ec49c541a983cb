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

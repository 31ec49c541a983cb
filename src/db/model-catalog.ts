/**
 * Stores the fetched model catalogs: one row for each provider and source, shared by all tenants. The row `refresh`
 * is the lease of the next fetch; rows named `refresh <providers>` are leases for providers that were added later.
 */

import { and, eq, lt, ne } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/d1'
import { catalog } from './schema.ts'

export type CatalogRow = { readonly name: string; readonly at: number; readonly body: unknown }

export type ModelCatalog = {
  readonly list: () => Promise<readonly CatalogRow[]>
  /**
   * Claims the lease: true for one caller, then for none until `everyMs` have passed. With `providers`, it claims a
   * separate lease for these.
   */
  readonly claim: (now: number, everyMs: number, providers?: readonly string[]) => Promise<boolean>
  readonly save: (rows: readonly CatalogRow[]) => Promise<void>
}

const refreshName = 'refresh'

export function createModelCatalog(db: D1Database): ModelCatalog {
  const orm = drizzle(db)
  return {
    list: () => orm.select().from(catalog).where(ne(catalog.name, refreshName)),
    claim: async (now, everyMs, providers = []) => {
      const name = [refreshName, ...providers].join(' ')
      const inserted = await orm
        .insert(catalog)
        .values({ name, at: now, body: {} })
        .onConflictDoNothing()
        .returning({ name: catalog.name })
      if (inserted.length) return true
      const updated = await orm
        .update(catalog)
        .set({ at: now })
        .where(and(eq(catalog.name, name), lt(catalog.at, now - everyMs)))
        .returning({ name: catalog.name })
      return updated.length > 0
    },
    save: async (rows) => {
      for (const row of rows)
        await orm
          .insert(catalog)
          .values(row)
          .onConflictDoUpdate({ target: catalog.name, set: { at: row.at, body: row.body } })
    },
  }
}

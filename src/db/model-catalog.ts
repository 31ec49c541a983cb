/**
 * What was fetched of the public catalogs of models: one row for each provider and source, for the whole deployment.
 * No tenant's data. A row named `refresh` holds who may fetch next, and when; others of its kind hold the same for
 * providers that came into use since.
 */

import { and, eq, lt, ne } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/d1'
import { catalog } from './schema.ts'

export type CatalogRow = { readonly name: string; readonly at: number; readonly body: unknown }

export type CatalogRows = {
  readonly all: () => Promise<readonly CatalogRow[]>
  /** True for one caller only, and then for nobody until `everyMs` have gone by. `of`: only these providers. */
  readonly claim: (now: number, everyMs: number, of?: readonly string[]) => Promise<boolean>
  readonly save: (rows: readonly CatalogRow[]) => Promise<void>
}

const refresh = 'refresh'

export function catalogRows(db: D1Database): CatalogRows {
  const orm = drizzle(db)
  return {
    all: () => orm.select().from(catalog).where(ne(catalog.name, refresh)),
    claim: async (now, everyMs, of = []) => {
      const name = [refresh, ...of].join(' ')
      const made = await orm
        .insert(catalog)
        .values({ name, at: now, body: {} })
        .onConflictDoNothing()
        .returning({ name: catalog.name })
      if (made.length) return true
      const taken = await orm
        .update(catalog)
        .set({ at: now })
        .where(and(eq(catalog.name, name), lt(catalog.at, now - everyMs)))
        .returning({ name: catalog.name })
      return taken.length > 0
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

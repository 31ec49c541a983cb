/** Creates, lists and updates tenants and their API keys. Used by the admin routes and by authentication only. */

import { and, eq, ne } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/d1'
import type { TenantStatus } from '../agent/model/access.ts'
import { createApiKeys, type ApiKeys } from './api-keys.ts'
import type { Limits } from '../agent/model/settings.ts'
import { tenant } from './schema.ts'

export type Tenant = {
  readonly id: string
  readonly name: string
  readonly status: TenantStatus
  /** Limits that the operator sets. */
  readonly limits: Limits
  /** Milliseconds since 1970. */
  readonly createdAt: number
}
export type TenantChange = Partial<Pick<Tenant, 'name' | 'limits'>> & { readonly status?: 'active' | 'suspended' }

/** A tenant id is part of object names and R2 keys. */
const tenantIdPattern = /^[a-z0-9][a-z0-9-]{0,62}$/

export type Tenants = ApiKeys & {
  /** Undefined when the id is taken; throws when it is invalid. Without an id, a random one is used. */
  readonly create: (
    newTenant: { readonly id?: string | undefined; readonly name: string },
    now: number,
  ) => Promise<Tenant | undefined>
  /** Oldest first. */
  readonly list: () => Promise<readonly Tenant[]>
  readonly get: (id: string) => Promise<Tenant | undefined>
  /** Undefined when the tenant does not exist or is being deleted. `limits` replaces all limits. */
  readonly update: (id: string, change: TenantChange) => Promise<Tenant | undefined>
}

const isUndeleted = (id: string) => and(eq(tenant.id, id), ne(tenant.status, 'deleting'))

export function createTenants(db: D1Database): Tenants {
  const orm = drizzle(db)
  return {
    ...createApiKeys(db),
    create: async ({ id = crypto.randomUUID(), name }, now) => {
      if (!tenantIdPattern.test(id)) throw new Error(`${JSON.stringify(id)} is not a valid tenant id.`)
      const row: Tenant = { id, name, status: 'active', limits: {}, createdAt: now }
      const inserted = await orm.insert(tenant).values(row).onConflictDoNothing().returning({ id: tenant.id })
      return inserted.length > 0 ? row : undefined
    },
    list: () => orm.select().from(tenant).orderBy(tenant.createdAt, tenant.id),
    get: async (id) => (await orm.select().from(tenant).where(eq(tenant.id, id)))[0],
    update: async (id, { name, status, limits }) => {
      const change = { ...(name !== undefined && { name }), ...(status && { status }), ...(limits && { limits }) }
      const query =
        Object.keys(change).length === 0
          ? orm.select().from(tenant).where(isUndeleted(id))
          : orm.update(tenant).set(change).where(isUndeleted(id)).returning()
      return (await query)[0]
    },
  }
}

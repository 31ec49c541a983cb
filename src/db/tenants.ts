/** Creates, lists and updates tenants and their API keys. Used by the admin routes and by authentication only. */

import { and, desc, eq, gt, ne, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/d1'
import type { TenantStatus } from '#agent/core/permission/access.ts'
import { listChanges } from '#agent/core/permission/audit.ts'
import { createApiKeys, type ApiKeys, type ListRange } from './api-keys.ts'
import { knownLimits, type Limits } from '#agent/core/settings.ts'
import { createAdminAudit } from './admin-audit.ts'
import { tenant } from './schema.ts'

export type Tenant = {
  readonly id: string
  readonly name: string
  readonly status: TenantStatus
  /** Limits that the operator sets. */
  readonly limits: Limits
  /** Mail addresses, domains as `@example.com`, or `*`, that the operator has assigned. Channels may use no others. */
  readonly mail: readonly string[]
  /** Milliseconds since 1970. */
  readonly createdAt: number
}
export type TenantChange = Partial<Pick<Tenant, 'name' | 'limits' | 'mail'>> & {
  readonly status?: 'active' | 'suspended'
}

/** A tenant id is part of object names and R2 keys. */
export const tenantIdPattern = /^[a-z0-9][a-z0-9-]{0,62}$/

export type Tenants = ApiKeys & {
  /** Undefined when the id is taken; throws when it is invalid. Without an id, a random one is used. */
  readonly create: (
    newTenant: { readonly id?: string | undefined; readonly name: string },
    now: number,
  ) => Promise<Tenant | undefined>
  /** Newest first, those behind `after`. */
  readonly list: (range: ListRange) => Promise<readonly Tenant[]>
  readonly get: (id: string) => Promise<Tenant | undefined>
  /** Undefined when the tenant does not exist or is being deleted. `limits` replaces all limits. */
  readonly update: (id: string, change: TenantChange, now?: number) => Promise<Tenant | undefined>
}

type StoredTenant = Omit<Tenant, 'mail'> & { readonly history: string | null; readonly mail: Tenant['mail'] | null }

/** The tenant that every deployment has belongs to the operator. */
const assignedByDefault = (id: string): Tenant['mail'] => (id === 'default' ? ['*'] : [])

const toTenant = ({ history: _history, ...row }: StoredTenant): Tenant => ({
  ...row,
  mail: row.mail ?? assignedByDefault(row.id),
  limits: knownLimits(row.limits),
})

const isUndeleted = (id: string) => and(eq(tenant.id, id), ne(tenant.status, 'deleting'))

/** Names the binding of the database for the history of a new tenant. Null: DB. */
export type ChooseHistory = () => Promise<string | null>

/** `actor`: who makes the changes, for the audit log. */
export function createTenants(
  db: D1Database,
  actor = '',
  choose: ChooseHistory = () => Promise.resolve(null),
): Tenants {
  const orm = drizzle(db)
  const audit = createAdminAudit(db, actor)
  return {
    ...createApiKeys(db, actor),
    create: async ({ id = crypto.randomUUID(), name }, now) => {
      if (!tenantIdPattern.test(id)) throw new Error(`${JSON.stringify(id)} is not a valid tenant id.`)
      const row = { id, name, status: 'active', limits: {}, createdAt: now } as const
      const insert = orm
        .insert(tenant)
        .values({ ...row, history: await choose() })
        .onConflictDoNothing()
      const event = { kind: 'tenant.created', at: now, tenantId: id, subject: id, details: { name } } as const
      return (await audit.run(insert.toSQL(), event)) ? { ...row, mail: assignedByDefault(id) } : undefined
    },
    list: async ({ after, limit }) => {
      const behind = after && sql`(${tenant.createdAt}, ${tenant.id}) < (${after[0]}, ${after[1]})`
      const order = [desc(tenant.createdAt), desc(tenant.id)]
      return (
        await orm
          .select()
          .from(tenant)
          .where(behind)
          .orderBy(...order)
          .limit(limit)
      ).map(toTenant)
    },
    get: async (id) => (await orm.select().from(tenant).where(eq(tenant.id, id))).map(toTenant)[0],
    update: async (id, { name, status, limits, mail }, now = Date.now()) => {
      const change = {
        ...(name !== undefined && { name }),
        ...(status && { status }),
        ...(limits && { limits }),
        ...(mail && { mail }),
      }
      const read = async () => (await orm.select().from(tenant).where(isUndeleted(id))).map(toTenant)[0]
      const before = await read()
      if (!before || Object.keys(change).length === 0) return before
      const update = orm.update(tenant).set(change).where(isUndeleted(id))
      const changes = listChanges(before, { ...before, ...change })
      if (changes.length === 0) return before
      await audit.run(update.toSQL(), { kind: 'tenant.changed', at: now, tenantId: id, subject: id, changes })
      return read()
    },
  }
}

export type NamedTenant = Pick<Tenant, 'id' | 'name' | 'limits'>

const namedTenants = (db: D1Database) =>
  drizzle(db).select({ id: tenant.id, name: tenant.name, limits: tenant.limits }).from(tenant)

/** Lists tenants in the order of their ids, without those that are being deleted. */
export async function listTenantsAfter(db: D1Database, after: string, limit: number): Promise<readonly NamedTenant[]> {
  const found = await namedTenants(db)
    .where(and(gt(tenant.id, after), ne(tenant.status, 'deleting')))
    .orderBy(tenant.id)
    .limit(limit)
  return found.map((row) => ({ ...row, limits: knownLimits(row.limits) }))
}

/** Finds those of the tenants that exist. */
export async function findTenants(db: D1Database, ids: readonly string[]): Promise<readonly NamedTenant[]> {
  const isWanted = sql`${tenant.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`
  const found = await namedTenants(db).where(and(isWanted, ne(tenant.status, 'deleting')))
  return found.map((row) => ({ ...row, limits: knownLimits(row.limits) }))
}

/** Whether the operator has assigned the address to the tenant. */
export function hasMailAddress({ mail }: Pick<Tenant, 'mail'>, address: string): boolean {
  const wanted = address.trim().toLowerCase()
  const domain = wanted.slice(wanted.lastIndexOf('@'))
  return mail.some((one) => one === '*' || one.toLowerCase() === wanted || one.toLowerCase() === domain)
}

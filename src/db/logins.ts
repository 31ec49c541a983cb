/**
 * Stores the rules by which a token of an identity provider gives access to a tenant. A token never decides tenant or
 * scopes itself: it only has to match a rule.
 */

import { and, asc, eq, inArray, ne } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/d1'
import type { Scope } from '#agent/core/permission/authority.ts'
import { createAdminAudit } from './admin-audit.ts'
import { login, tenant } from './schema.ts'

export type Login = {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly issuer: string
  readonly audience: string
  /** The claim that must have `value`, or contain it if it is a list. Empty: every token of issuer and audience. */
  readonly claim: string
  readonly value: string
  readonly scopes: readonly Scope[]
  /** A role of the tenant's settings. */
  readonly role: string | null
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export type Logins = {
  /** Oldest first; only those of `tenantId` when given. */
  readonly list: (tenantId?: string) => Promise<readonly Login[]>
  /** False when there is no such tenant. */
  readonly create: (rule: Login) => Promise<boolean>
  /** Returns the deleted rule. */
  readonly delete: (id: string) => Promise<Login | undefined>
  /** The rules of an issuer for one of these audiences, oldest first. */
  readonly match: (issuer: string, audiences: readonly string[]) => Promise<readonly Login[]>
}

/** A token with more audiences is refused. */
const maxAudiences = 20

/** `actor`: who makes the changes, for the audit log. */
export function createLogins(db: D1Database, actor = ''): Logins {
  const orm = drizzle(db)
  const audit = createAdminAudit(db, actor)
  return {
    list: (tenantId) =>
      orm
        .select()
        .from(login)
        .where(tenantId === undefined ? undefined : eq(login.tenantId, tenantId))
        .orderBy(asc(login.createdAt), asc(login.id)),
    create: async (rule) => {
      const isLiving = and(eq(tenant.id, rule.tenantId), ne(tenant.status, 'deleting'))
      const [owner] = await orm.select({ id: tenant.id }).from(tenant).where(isLiving)
      if (!owner) return false
      const { id, tenantId, createdAt: at, ...details } = rule
      const insert = orm.insert(login).values(rule)
      return audit.run(insert.toSQL(), { kind: 'login.created', at, tenantId, subject: id, details })
    },
    delete: async (id) => {
      const [rule] = await orm.select().from(login).where(eq(login.id, id))
      if (!rule) return undefined
      const { tenantId, name } = rule
      const event = { kind: 'login.deleted', at: Date.now(), tenantId, subject: id, details: { name } } as const
      return (await audit.run(orm.delete(login).where(eq(login.id, id)).toSQL(), event)) ? rule : undefined
    },
    match: async (issuer, audiences) => {
      if (!audiences.length || audiences.length > maxAudiences) return []
      const rows = await orm
        .select({ login })
        .from(login)
        .innerJoin(tenant, eq(tenant.id, login.tenantId))
        .where(and(eq(login.issuer, issuer), inArray(login.audience, [...audiences]), ne(tenant.status, 'deleting')))
        .orderBy(asc(login.createdAt), asc(login.id))
      return rows.map((row) => row.login)
    },
  }
}

/**
 * Stores the rules by which a token of an identity provider gives access to a tenant. A token never decides tenant or
 * scopes itself: it only has to match a rule.
 */

import { and, asc, eq, inArray, ne } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/d1'
import type { Scope } from '../agent/model/authority.ts'
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

export function createLogins(db: D1Database): Logins {
  const orm = drizzle(db)
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
      if (owner) await orm.insert(login).values(rule)
      return owner !== undefined
    },
    delete: async (id) => (await orm.delete(login).where(eq(login.id, id)).returning())[0],
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

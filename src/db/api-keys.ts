/**
 * Keys of the API: `tal_<id>_<secret>`. The secret is random in full, shown once and stored as its
 * SHA-256; a stolen table opens nothing. One query per check, and the digests are compared in constant time.
 */

import { and, eq, isNull } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/d1'
import { apiKey, scopes, tenant, type Scope } from './schema.ts'

export type ApiKey = {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly lastUsedAt: number | null
  readonly revokedAt: number | null
}

export type NewKey = {
  readonly tenantId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt?: number | null | undefined
}

/** What a key proves. A suspended tenant is known by its status: refusing is the caller's part. */
export type Verified = {
  readonly keyId: string
  readonly tenantId: string
  readonly scopes: readonly Scope[]
  readonly status: 'active' | 'suspended'
  /** Milliseconds since 1970, or null. */
  readonly expiresAt: number | null
}

export type Keys = {
  /** `presented` is the whole key and is never to be had again. Undefined when there is no such tenant. */
  readonly createKey: (
    given: NewKey,
    now: number,
  ) => Promise<{ readonly key: ApiKey; readonly presented: string } | undefined>
  /** Undefined for whatever is malformed, unknown, wrong, expired or revoked, without telling which. */
  readonly verify: (presented: string, now: number) => Promise<Verified | undefined>
  /** Remembers the use of a key, at most once an hour; off the path of the request. */
  readonly touch: (keyId: string, now: number) => Promise<void>
  /** Revoked ones included, oldest first; those of one tenant when it is named. */
  readonly listKeys: (tenantId?: string) => Promise<readonly ApiKey[]>
  /** True when the key was there and not revoked yet. */
  readonly revokeKey: (id: string, now: number) => Promise<boolean>
}

const hour = 60 * 60 * 1000
const shape = /^tal_([a-z2-7]{16})_([0-9A-Za-z]{43})$/
const base32 = 'abcdefghijklmnopqrstuvwxyz234567'
const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const columns = {
  id: apiKey.id,
  tenantId: apiKey.tenantId,
  name: apiKey.name,
  scopes: apiKey.scopes,
  createdAt: apiKey.createdAt,
  expiresAt: apiKey.expiresAt,
  lastUsedAt: apiKey.lastUsedAt,
  revokedAt: apiKey.revokedAt,
}

const lookUp = `SELECT hash, tenant_id, scopes, expires_at, revoked_at, status
  FROM api_key JOIN tenant ON tenant.id = api_key.tenant_id WHERE api_key.id = ?1`
type Found = {
  readonly hash: string
  readonly tenant_id: string
  readonly scopes: string
  readonly expires_at: number | null
  readonly revoked_at: number | null
  readonly status: 'active' | 'suspended'
}

export function keys(db: D1Database): Keys {
  const orm = drizzle(db)
  return {
    createKey: async (given, now) => {
      const [owner] = await orm.select({ id: tenant.id }).from(tenant).where(eq(tenant.id, given.tenantId))
      if (!owner) return undefined
      const [id, secret] = [randomId(), randomSecret()]
      const key: ApiKey = {
        id,
        tenantId: given.tenantId,
        name: given.name,
        scopes: scopes.filter((scope) => given.scopes.includes(scope)),
        createdAt: now,
        expiresAt: given.expiresAt ?? null,
        lastUsedAt: null,
        revokedAt: null,
      }
      await orm.insert(apiKey).values({ ...key, hash: hexOf(await digest(secret)) })
      return { key, presented: `tal_${id}_${secret}` }
    },
    verify: (presented, now) => verify(db, presented, now),
    touch: async (keyId, now) => {
      const note = 'UPDATE api_key SET last_used_at = ?2 WHERE id = ?1 AND coalesce(last_used_at, 0) <= ?2 - ?3'
      await db.prepare(note).bind(keyId, now, hour).run()
    },
    listKeys: (tenantId) =>
      orm
        .select(columns)
        .from(apiKey)
        .where(tenantId === undefined ? undefined : eq(apiKey.tenantId, tenantId))
        .orderBy(apiKey.createdAt, apiKey.id),
    revokeKey: async (id, now) => {
      const open = and(eq(apiKey.id, id), isNull(apiKey.revokedAt))
      const revoked = await orm.update(apiKey).set({ revokedAt: now }).where(open).returning({ id: apiKey.id })
      return revoked.length > 0
    },
  }
}

async function verify(db: D1Database, presented: string, now: number): Promise<Verified | undefined> {
  const [, id, secret] = shape.exec(presented) ?? []
  if (id === undefined || secret === undefined) return undefined
  const given = await digest(secret)
  const row = await db.prepare(lookUp).bind(id).first<Found>()
  // An unknown id is compared too, with nothing, so that it takes as long as a wrong secret.
  const same = crypto.subtle.timingSafeEqual(given, row ? bytesOf(row.hash) : new Uint8Array(32))
  if (!row || !same || row.revoked_at !== null) return undefined
  if (row.expires_at !== null && row.expires_at <= now) return undefined
  return {
    keyId: id,
    tenantId: row.tenant_id,
    scopes: JSON.parse(row.scopes) as readonly Scope[],
    status: row.status,
    expiresAt: row.expires_at,
  }
}

const digest = async (secret: string) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(secret)))

const hexOf = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
const bytesOf = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))

/** 80 bits: public, and never given out twice. */
const randomId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => base32[byte % 32]).join('')

/** 32 random bytes in 43 digits. */
function randomSecret(): string {
  let number = BigInt(`0x${hexOf(crypto.getRandomValues(new Uint8Array(32)))}`)
  let text = ''
  for (let i = 0; i < 43; i++) {
    text = base62[Number(number % 62n)] + text
    number /= 62n
  }
  return text
}

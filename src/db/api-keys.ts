/**
 * Creates, verifies and revokes API keys of the form `tal_<id>_<secret>`. The secret is random, shown once and stored
 * as its SHA-256, so a stolen table gives no access. A check takes one query and compares digests in constant time.
 */

import { and, desc, eq, isNull, ne, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/d1'
import { type Scope, scopes } from '#agent/core/permission/authority.ts'
import { createAdminAudit } from './admin-audit.ts'
import { apiKey, tenant } from './schema.ts'
import { sha256, sha256Hex, toHex } from '#durable/platform/hash.ts'

export type ApiKey = {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly lastUsedAt: number | null
  readonly revokedAt: number | null
  /** A role of the tenant's settings. */
  readonly role: string | null
}

export type NewApiKey = {
  readonly tenantId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt?: number | null | undefined
  readonly role?: string | null | undefined
}

/** The identity that a key proves. The caller has to refuse a suspended tenant, by `status`. */
export type StoredKey = {
  readonly keyId: string
  readonly tenantId: string
  readonly scopes: readonly Scope[]
  readonly role: string | null
  readonly status: 'active' | 'suspended'
  /** Milliseconds since 1970, or null. */
  readonly expiresAt: number | null
}

export type ApiKeys = {
  /** `presented` is the complete key, which cannot be read again. Undefined when there is no such tenant. */
  readonly createKey: (
    newKey: NewApiKey,
    now: number,
  ) => Promise<{ readonly key: ApiKey; readonly presented: string } | undefined>
  /** Undefined when the key is malformed, unknown, wrong, expired or revoked; the result does not reveal which. */
  readonly verify: (presented: string, now: number) => Promise<StoredKey | undefined>
  /** The key of this id, for a login that the key has begun. Undefined when it is unknown, expired or revoked. */
  readonly find: (id: string, now: number) => Promise<StoredKey | undefined>
  /** Updates the last use of a key, at most once an hour. Callers do not wait for it. */
  readonly touch: (keyId: string, now: number) => Promise<void>
  /** Lists keys, oldest first, including revoked ones; only those of `tenantId` when given. */
  readonly listKeys: (tenantId?: string) => Promise<readonly ApiKey[]>
  /** Lists keys that are not revoked, newest first, those behind `after`. */
  readonly listOpenKeys: (range: OpenKeysRange) => Promise<readonly ApiKey[]>
  /** Undefined when there is no such key. `isNew`: it was not revoked before. */
  readonly revokeKey: (
    id: string,
    now: number,
  ) => Promise<{ readonly tenantId: string; readonly isNew: boolean } | undefined>
}

/** `after`: the time and the id of the last row of the page before. */
export type ListRange = {
  readonly after?: readonly [at: number, id: string] | undefined
  readonly limit: number
}

type OpenKeysRange = ListRange & { readonly tenantId?: string | undefined }

const hourMs = 60 * 60 * 1000
const keyPattern = /^tal_([a-z2-7]{16})_([0-9A-Za-z]{43})$/
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
  role: apiKey.role,
}

const selectKey = `SELECT hash, tenant_id, scopes, role, expires_at, revoked_at, status
  FROM api_key JOIN tenant ON tenant.id = api_key.tenant_id WHERE api_key.id = ?1
  AND status <> 'deleting'`
type KeyRow = {
  readonly hash: string
  readonly tenant_id: string
  readonly scopes: string
  readonly role: string | null
  readonly expires_at: number | null
  readonly revoked_at: number | null
  readonly status: 'active' | 'suspended'
}

/** `actor`: who makes the changes, for the audit log. */
export function createApiKeys(db: D1Database, actor: string): ApiKeys {
  const orm = drizzle(db)
  const audit = createAdminAudit(db, actor)
  return {
    createKey: async (newKey, now) => {
      const [owner] = await orm
        .select({ id: tenant.id })
        .from(tenant)
        .where(and(eq(tenant.id, newKey.tenantId), ne(tenant.status, 'deleting')))
      if (!owner) return undefined
      const [id, secret] = [randomId(), randomSecret()]
      const key: ApiKey = {
        id,
        tenantId: newKey.tenantId,
        name: newKey.name,
        scopes: scopes.filter((scope) => newKey.scopes.includes(scope)),
        createdAt: now,
        expiresAt: newKey.expiresAt ?? null,
        lastUsedAt: null,
        revokedAt: null,
        role: newKey.role ?? null,
      }
      const insert = orm.insert(apiKey).values({ ...key, hash: await sha256Hex(secret) })
      const { name, scopes: held, role, expiresAt } = key
      const details = { name, scopes: held, role, expires_at: expiresAt }
      await audit.run(insert.toSQL(), { kind: 'key.created', at: now, tenantId: key.tenantId, subject: id, details })
      return { key, presented: `tal_${id}_${secret}` }
    },
    verify: (presented, now) => verify(db, presented, now),
    find: async (id, now) => toUsableKey(id, await readKey(db, id), now),
    touch: async (keyId, now) => {
      const update = 'UPDATE api_key SET last_used_at = ?2 WHERE id = ?1 AND coalesce(last_used_at, 0) <= ?2 - ?3'
      await db.prepare(update).bind(keyId, now, hourMs).run()
    },
    listKeys: (tenantId) =>
      orm
        .select(columns)
        .from(apiKey)
        .where(tenantId === undefined ? undefined : eq(apiKey.tenantId, tenantId))
        .orderBy(apiKey.createdAt, apiKey.id),
    listOpenKeys: (range) => listOpenKeys(db, range),
    revokeKey: async (id, now) => {
      const isActive = and(eq(apiKey.id, id), isNull(apiKey.revokedAt))
      const query = orm.select({ tenantId: apiKey.tenantId, name: apiKey.name }).from(apiKey).where(eq(apiKey.id, id))
      const [key] = await query
      if (!key) return undefined
      const { tenantId, name } = key
      const update = orm.update(apiKey).set({ revokedAt: now }).where(isActive)
      const event = { kind: 'key.revoked', at: now, tenantId, subject: id, details: { name } } as const
      return { tenantId, isNew: await audit.run(update.toSQL(), event) }
    },
  }
}

async function listOpenKeys(db: D1Database, { tenantId, after, limit }: OpenKeysRange): Promise<readonly ApiKey[]> {
  const isWanted = and(
    isNull(apiKey.revokedAt),
    tenantId === undefined ? undefined : eq(apiKey.tenantId, tenantId),
    after && sql`(${apiKey.createdAt}, ${apiKey.id}) < (${after[0]}, ${after[1]})`,
  )
  const order = [desc(apiKey.createdAt), desc(apiKey.id)]
  return drizzle(db)
    .select(columns)
    .from(apiKey)
    .where(isWanted)
    .orderBy(...order)
    .limit(limit)
}

async function verify(db: D1Database, presented: string, now: number): Promise<StoredKey | undefined> {
  const [, id, secret] = keyPattern.exec(presented) ?? []
  if (id === undefined || secret === undefined) return undefined
  const presentedHash = await sha256(secret)
  const row = await readKey(db, id)
  // An unknown id is compared with zeros, so that it takes as long as a wrong secret.
  const isEqual = crypto.subtle.timingSafeEqual(presentedHash, row ? decodeHex(row.hash) : new Uint8Array(32))
  return isEqual ? toUsableKey(id, row, now) : undefined
}

const readKey = (db: D1Database, id: string): Promise<KeyRow | null> => db.prepare(selectKey).bind(id).first<KeyRow>()

function toUsableKey(keyId: string, row: KeyRow | null, now: number): StoredKey | undefined {
  if (!row || row.revoked_at !== null) return undefined
  if (row.expires_at !== null && row.expires_at <= now) return undefined
  return {
    keyId,
    tenantId: row.tenant_id,
    scopes: JSON.parse(row.scopes) as readonly Scope[],
    role: row.role,
    status: row.status,
    expiresAt: row.expires_at,
  }
}

const decodeHex = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))

/** Creates a public id of 80 random bits. */
const randomId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => base32[byte % 32]).join('')

/** Creates a secret of 32 random bytes, encoded as 43 base-62 digits. */
function randomSecret(): string {
  let number = BigInt(`0x${toHex(crypto.getRandomValues(new Uint8Array(32)))}`)
  let text = ''
  for (let i = 0; i < 43; i++) {
    text = base62[Number(number % 62n)] + text
    number /= 62n
  }
  return text
}

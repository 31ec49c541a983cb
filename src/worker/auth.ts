/**
 * Authenticates requests. Only the key decides the tenant. Valid keys are cached in the isolate, so a revoked key stops
 * working within `keyCacheMs`.
 */

import { BoundedMap } from '../agent/model/bounded-map.ts'
import { createTenants } from '../db/tenants.ts'
import { ownerTenant, type Scope } from '../db/schema.ts'
import { AppError } from './errors.ts'

export type Principal = {
  readonly tenantId: string
  readonly keyId: string
  readonly scopes: ReadonlySet<Scope>
}

const keyCacheMs = 30_000
const minKeyLength = 16
const encoder = new TextEncoder()
/** Only valid keys are cached. The admin key is part of the entry, so that changing it invalidates all of them. */
const keyCache = new BoundedMap<
  string,
  { readonly principal: Principal; readonly until: number; readonly adminKey: string }
>(10_000)
const owner: Principal = {
  tenantId: ownerTenant,
  keyId: 'admin',
  scopes: new Set(['chat', 'read', 'write', 'jobs', 'approve', 'admin']),
}

export async function authenticate(
  request: Request,
  env: Env,
  waitUntil: (work: Promise<unknown>) => void,
): Promise<Principal> {
  if (!env.ADMIN_KEY || env.ADMIN_KEY.length < minKeyLength)
    throw new AppError(
      503,
      'not_configured',
      `Set the secret ADMIN_KEY (at least ${minKeyLength} characters), for example with: npx wrangler secret put ADMIN_KEY`,
    )
  const presented = /^Bearer\s+(\S+)\s*$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (!presented || presented.length > 512) throw unauthorised()
  const now = Date.now()
  const cached = keyCache.get(presented)
  if (cached && cached.until > now && cached.adminKey === env.ADMIN_KEY) return cached.principal
  const { principal, expiresAt } = await resolvePrincipal(presented, env, now, waitUntil)
  const until = Math.min(now + keyCacheMs, expiresAt ?? Infinity)
  keyCache.set(presented, { principal, until, adminKey: env.ADMIN_KEY })
  return principal
}

export function requireScope(principal: Principal, scope: Scope): void {
  if (!principal.scopes.has(scope))
    throw new AppError(403, 'insufficient_scope', `This key lacks the scope "${scope}".`, { param: scope })
  if (scope === 'admin' && principal.tenantId !== ownerTenant)
    throw new AppError(403, 'insufficient_scope', 'Only the owner of the deployment may do this.', { param: scope })
}

/** Called in the isolate that revokes a key or suspends a tenant, and by tests. */
export const clearKeyCache = (): void => keyCache.clear()

type VerifiedKey = { readonly principal: Principal; readonly expiresAt: number | null }

async function resolvePrincipal(
  presented: string,
  env: Env,
  now: number,
  later: (work: Promise<unknown>) => void,
): Promise<VerifiedKey> {
  if (await isAdminKey(presented, env.ADMIN_KEY ?? '')) return { principal: owner, expiresAt: null }
  const repository = createTenants(env.DB)
  const found = await repository.verify(presented, now)
  if (!found) throw unauthorised()
  if (found.status === 'suspended')
    throw new AppError(403, 'tenant_suspended', 'This tenant is suspended. Ask the operator of this deployment.')
  later(repository.touch(found.keyId, now))
  const principal = { tenantId: found.tenantId, keyId: found.keyId, scopes: new Set(found.scopes) }
  return { principal, expiresAt: found.expiresAt }
}

const unauthorised = () =>
  new AppError(401, 'invalid_api_key', 'Send a valid key in the header: Authorization: Bearer KEY.')

const digest = async (text: string) => new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)))

/** Compares digests, because a comparison in constant time needs equal lengths. */
async function isAdminKey(presented: string, adminKey: string): Promise<boolean> {
  const [actual, expected] = await Promise.all([digest(presented), digest(adminKey)])
  return crypto.subtle.timingSafeEqual(actual, expected)
}

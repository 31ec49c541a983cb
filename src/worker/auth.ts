/**
 * Who is asking. A key names its tenant; nothing else does. Keys are looked up once and remembered for
 * a short while, so that a revoked one stops working within `rememberedMs`.
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

const rememberedMs = 30_000
const minimumLength = 16
const encoder = new TextEncoder()
/** By the key as it was presented: only keys that were found valid get in. */
const remembered = new BoundedMap<
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
  later: (work: Promise<unknown>) => void,
): Promise<Principal> {
  if (!env.ADMIN_KEY || env.ADMIN_KEY.length < minimumLength)
    throw new AppError(
      503,
      'not_configured',
      `Set the secret ADMIN_KEY (at least ${minimumLength} characters), for example with: npx wrangler secret put ADMIN_KEY`,
    )
  const presented = /^Bearer\s+(\S+)\s*$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (!presented || presented.length > 512) throw unauthorised()
  const now = Date.now()
  const known = remembered.get(presented)
  if (known && known.until > now && known.adminKey === env.ADMIN_KEY) return known.principal
  const { principal, expiresAt } = await principalOf(presented, env, now, later)
  const until = Math.min(now + rememberedMs, expiresAt ?? Infinity)
  remembered.set(presented, { principal, until, adminKey: env.ADMIN_KEY })
  return principal
}

export function requireScope(principal: Principal, scope: Scope): void {
  if (!principal.scopes.has(scope))
    throw new AppError(403, 'insufficient_scope', `This key lacks the scope "${scope}".`, { param: scope })
  if (scope === 'admin' && principal.tenantId !== ownerTenant)
    throw new AppError(403, 'insufficient_scope', 'Only the owner of the deployment may do this.', { param: scope })
}

/** For tests and for the isolate in which a key was revoked. */
export const forgetKeys = (): void => remembered.clear()

type Found = { readonly principal: Principal; readonly expiresAt: number | null }

async function principalOf(
  presented: string,
  env: Env,
  now: number,
  later: (work: Promise<unknown>) => void,
): Promise<Found> {
  if (await isOwner(presented, env.ADMIN_KEY ?? '')) return { principal: owner, expiresAt: null }
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

const digestOf = async (text: string) => new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)))

/** Digests are compared, because the comparison in constant time wants equal lengths. */
async function isOwner(presented: string, adminKey: string): Promise<boolean> {
  const [given, expected] = await Promise.all([digestOf(presented), digestOf(adminKey)])
  return crypto.subtle.timingSafeEqual(given, expected)
}

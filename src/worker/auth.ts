/**
 * Who is asking. A key names its tenant; nothing else does. Keys are looked up once and remembered for
 * a short while by their digest, so that a revoked one stops working within `rememberedMs`.
 */

import { tenants } from '../db/tenants.ts'
import type { Scope } from '../db/schema.ts'
import { AppError } from './errors.ts'

export type Principal = {
  readonly tenantId: string
  readonly keyId: string
  readonly scopes: ReadonlySet<Scope>
}

export const ownerTenant = 'default'

const rememberedMs = 30_000
const minimumLength = 16
const encoder = new TextEncoder()
const remembered = new Map<string, { readonly principal: Principal; readonly until: number }>()
const allScopes: ReadonlySet<Scope> = new Set(['chat', 'read', 'write', 'jobs', 'approve', 'admin'])

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
  const digest = await digestOf(presented)
  if (await isOwner(digest, env.ADMIN_KEY)) return { tenantId: ownerTenant, keyId: 'admin', scopes: allScopes }
  return tenantKey(presented, digest, env, later)
}

export function requireScope(principal: Principal, scope: Scope): void {
  if (!principal.scopes.has(scope))
    throw new AppError(403, 'insufficient_scope', `This key lacks the scope "${scope}".`, { param: scope })
  if (scope === 'admin' && principal.tenantId !== ownerTenant)
    throw new AppError(403, 'insufficient_scope', 'Only the owner of the deployment may do this.', { param: scope })
}

/** For tests and for the isolate in which a key was revoked. */
export const forgetKeys = (): void => remembered.clear()

async function tenantKey(
  presented: string,
  digest: Uint8Array,
  env: Env,
  later: (work: Promise<unknown>) => void,
): Promise<Principal> {
  const now = Date.now()
  const name = hex(digest)
  const known = remembered.get(name)
  if (known && known.until > now) return known.principal
  const repository = tenants(env.DB)
  const found = await repository.verify(presented, now)
  if (!found) throw unauthorised()
  if (found.status === 'suspended')
    throw new AppError(403, 'tenant_suspended', 'This tenant is suspended. Ask the operator of this deployment.')
  const principal = { tenantId: found.tenantId, keyId: found.keyId, scopes: new Set(found.scopes) }
  if (remembered.size > 10_000) remembered.clear()
  remembered.set(name, { principal, until: now + rememberedMs })
  later(repository.touch(found.keyId, now))
  return principal
}

const unauthorised = () =>
  new AppError(401, 'invalid_api_key', 'Send a valid key in the header: Authorization: Bearer KEY.')

const digestOf = async (text: string) => new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)))

const ownerDigests = new Map<string, Promise<Uint8Array>>()

async function isOwner(digest: Uint8Array, adminKey: string): Promise<boolean> {
  let expected = ownerDigests.get(adminKey)
  if (!expected) ownerDigests.set(adminKey, (expected = digestOf(adminKey)))
  return crypto.subtle.timingSafeEqual(digest, await expected)
}

const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

/**
 * Authenticates requests. Only the key decides the tenant, also when a cookie of the page stands for it. Valid keys are
 * cached in the isolate for `keyCacheMs`; `requireAccess` (access.ts) refuses those that were revoked meanwhile, and
 * resolves their roles.
 */

import { type Authority, hasScope, type Scope } from '#agent/core/permission/authority.ts'
import type { Identity } from '#agent/core/permission/roles.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { createTenants } from '#db/tenants.ts'
import { ownerTenant } from '#db/schema.ts'
import { AppError } from './errors.ts'
import { owner, toVerifiedKey, type VerifiedKey } from './login/key-identity.ts'
import { readCookie, verifyCookie } from './login/login-cookie.ts'
import { requireShield } from './limit-unknown-keys.ts'
import { createLogins } from '#db/logins.ts'
import { createGuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { isForeign } from './login/same-origin.ts'
import type { LoginOutcome, VerifiedLogin } from './login/verify-login.ts'
import { log } from '#agent/core/log.ts'
import { actorOf, createAuditEvent } from '#agent/core/permission/audit.ts'
import { writeAuditEventOnce } from '#db/audit-log.ts'
import { clock } from '#durable/platform/clock.ts'
import { sha256 } from '#durable/platform/hash.ts'

const keyCacheMs = 30_000
const minKeyLength = 16
const maxKeyChars = 512
/** Only valid keys are cached. The admin key is part of the entry, so that changing it invalidates all of them. */
const keyCache = new BoundedMap<
  string,
  { readonly identity: Identity; readonly until: number; readonly adminKey: string }
>(10_000)

/** Requests that this worker makes to itself for a client that it has authenticated. */
const vouched = new WeakMap<Request, Identity>()

/** The request counts as one of this identity. Nothing outside can have the same object. */
export const vouchFor = (request: Request, identity: Identity): void => void vouched.set(request, identity)

export async function authenticate(
  request: Request,
  env: Env,
  waitUntil: (work: Promise<unknown>) => void,
): Promise<Identity> {
  const known = vouched.get(request)
  if (known) return known
  const adminKey = requireAdminKey(env)
  const presented = presentedKey(request)
  if (!presented) throw unauthorised()
  const now = Date.now()
  const cached = keyCache.get(presented)
  if (cached && cached.until > now && cached.adminKey === adminKey) return cached.identity
  await requireShield(env, request)
  const { identity, expiresAt } = await resolveKey(presented, env, now, waitUntil)
  const until = Math.min(now + keyCacheMs, expiresAt ?? Infinity)
  keyCache.set(presented, { identity, until, adminKey })
  return identity
}

export function requireAdminKey({ ADMIN_KEY }: Env): string {
  if (ADMIN_KEY && ADMIN_KEY.length >= minKeyLength) return ADMIN_KEY
  throw new AppError(
    503,
    'not_configured',
    `Set the secret ADMIN_KEY (at least ${minKeyLength} characters), for example with: npx wrangler secret put ADMIN_KEY`,
  )
}

export function requireScope(authority: Authority, scope: Scope): void {
  if (!hasScope(authority, scope))
    throw new AppError(403, 'insufficient_scope', `This key lacks the scope "${scope}".`, { param: scope })
  if (scope === 'admin' && authority.tenantId !== ownerTenant)
    throw new AppError(403, 'insufficient_scope', 'Only the owner of the deployment may do this.', { param: scope })
}

/** Called in the isolate that revokes a key or suspends a tenant, and by tests. */
export const clearKeyCache = (): void => keyCache.clear()

/** Verifies a key, a token of an identity provider, or the cookie of a login. Throws a 401 when it gives no access. */
export async function resolveKey(
  presented: string,
  env: Env,
  now: number,
  later: (work: Promise<unknown>) => void,
): Promise<VerifiedKey> {
  if (presented.startsWith(cookieMark))
    return (await verifyCookie(env, presented.slice(cookieMark.length))) ?? throwUnauthorised()
  if (isToken(presented)) return (await resolveLogin(presented, env, later)) ?? throwUnauthorised()
  if (await isAdminKey(presented, env.ADMIN_KEY ?? '')) return { identity: owner, expiresAt: null }
  const repository = createTenants(env.DB)
  const found = await repository.verify(presented, now)
  if (!found) throw unauthorised()
  const verified = toVerifiedKey(found)
  later(repository.touch(found.keyId, now))
  return verified
}

/** Keys have no spaces, so a header cannot contain a cookie. */
const cookieMark = 'cookie '

/** The key in the header. Without one, the cookie of our page, or the token that Cloudflare Access adds. */
function presentedKey(request: Request): string | undefined {
  const header = request.headers.get('authorization')
  if (header === null) return markedCookie(request) ?? accessToken(request)
  const presented = /^Bearer\s+(\S+)\s*$/i.exec(header)?.[1]
  const isLong = presented !== undefined && presented.length > maxKeyChars && !isToken(presented)
  return isLong ? undefined : presented
}

function markedCookie(request: Request): string | undefined {
  const value = readCookie(request)
  return value === undefined ? undefined : cookieMark + value
}

const throwUnauthorised = (): never => {
  throw unauthorised()
}

const unauthorised = () =>
  new AppError(401, 'invalid_api_key', 'Send a valid key in the header: Authorization: Bearer KEY.')

/** Compares digests, because a comparison in constant time needs equal lengths. */
export async function isAdminKey(presented: string, adminKey: string): Promise<boolean> {
  const [actual, expected] = await Promise.all([sha256(presented), sha256(adminKey)])
  return crypto.subtle.timingSafeEqual(actual, expected)
}

/** Cloudflare Access puts its token there. */
const accessHeader = 'cf-access-jwt-assertion'
const tokenPattern = /^eyJ[\w-]+\.[\w-]+\.[\w-]*$/
const maxTokenChars = 8_192

/** Recognises tokens of identity providers, and verifies them with the ports of this deployment. */
const isToken = (presented: string): boolean => presented.length <= maxTokenChars && tokenPattern.test(presented)

/** The token of a request without a key. Access adds it to every request of a browser: pages of others get no access. */
const accessToken = (request: Request): string | undefined =>
  isForeign(request) ? undefined : (request.headers.get(accessHeader) ?? undefined)

/** Undefined when the token gives no access; the result does not reveal why. `later` keeps the request alive for the audit log. */
async function resolveLogin(
  token: string,
  env: Env,
  later: (work: Promise<unknown>) => void,
): Promise<VerifiedLogin | undefined> {
  const { verifyLogin } = await import('./login/verify-login.ts')
  const outcome = await verifyLogin(token, createLogins(env.DB), createGuardedFetch(env))
  if (outcome) later(recordLogin(env.DB, outcome))
  return outcome?.kind === 'accepted' ? outcome : undefined
}

// Writes to the audit log that a token of an identity provider was accepted or refused. The token is no part of it.

/** The same person, rules and reason have one entry in this time, however many requests there are. */
const intervalMs = 3_600_000

/** A refusal is in the log of the operator, because its token belongs to no tenant. Never rejects. */
async function recordLogin(db: D1Database, outcome: LoginOutcome): Promise<void> {
  const at = clock.now()
  const { tenantId, ...entry } = describe(outcome)
  try {
    await writeAuditEventOnce(db, tenantId, { event: createAuditEvent({ at, ...entry }), since: at - intervalMs })
  } catch (error) {
    log.warn('audit.unwritten', 'A login cannot be written to the audit log.', { error, tenant_id: tenantId })
  }
}

function describe(outcome: LoginOutcome) {
  if (outcome.kind === 'accepted') {
    const { tenantId, principal } = outcome.identity
    const subject = (principal.kind === 'key' && principal.rules) || ''
    return { tenantId, kind: 'login.accepted', actor: actorOf(outcome.identity), subject } as const
  }
  const { reason, issuer, rules, person } = outcome
  const details = { reason, rules, ...(person !== undefined && { person }) }
  return { tenantId: ownerTenant, kind: 'login.refused', actor: '', subject: issuer, details } as const
}

/**
 * Issues and reads the cookie of the page. Its value is sealed and names the key that has signed in, so nothing is
 * stored for it: it ends with the key, and every ADMIN_KEY ends with the next one.
 */

import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import * as z from 'zod'
import { createApiKeys } from '#db/api-keys.ts'
import { ownerTenant } from '#db/schema.ts'
import { clock } from '#durable/platform/clock.ts'
import { explainMissingKey } from '#durable/platform/master-key.ts'
import { seal, unseal } from '#durable/platform/seal.ts'
import { AppError } from '../errors.ts'
import { adminKeyId, owner, toVerifiedKey, type VerifiedKey } from './key-identity.ts'
import { isOwnOrigin, isSameOrigin } from './same-origin.ts'
import { sha256Base64 } from '#durable/platform/hash.ts'

/** The key that has signed in. `adminKey`: the digest of the ADMIN_KEY, if that is the key. */
const holderShape = z.object({ tenantId: z.string(), keyId: z.string(), adminKey: z.string().optional() })
export type LoginHolder = z.infer<typeof holderShape>
/** Times are milliseconds since 1970. */
const loginShape = holderShape.extend({ id: z.string(), issuedAt: z.number(), expiresAt: z.number() })
export type CookieLogin = z.infer<typeof loginShape>

const hourMs = 3_600_000
/** A cookie that is used is renewed, until it is `maxAgeMs` old. */
const idleMs = 12 * hourMs
const maxAgeMs = 30 * 24 * hourMs
const maxValueChars = 1_500
const secretOwner = { tenant: ownerTenant, kind: 'login', id: 'cookie' }

/** Browsers refuse Secure cookies on plain http, some of them on localhost too. Cookies know no ports. */
function createCookie(url: string): { readonly name: string; readonly secure: string } {
  const { protocol, port } = new URL(url)
  return protocol === 'https:'
    ? { name: '__Host-talaria', secure: ' Secure;' }
    : { name: `talaria-${port}`, secure: '' }
}

const renderCookie = (url: string, value: string, maxAgeSeconds: number): string => {
  const { name, secure } = createCookie(url)
  return `${name}=${value}; Path=/; HttpOnly;${secure} SameSite=Lax; Max-Age=${maxAgeSeconds}`
}

export const clearedCookie = (url: string): string => renderCookie(url, '', 0)

/** Returns the header `Set-Cookie`. Without `issuedAt` the login begins now. Its `id` stays when the cookie is renewed. */
export async function issueCookie(
  env: Env,
  url: string,
  login: LoginHolder & { readonly id?: string; readonly issuedAt?: number },
): Promise<string> {
  requireSealing(env)
  const now = clock.now()
  const { id = `in_${crypto.randomUUID()}`, issuedAt = now } = login
  const expiresAt = Math.min(now + idleMs, issuedAt + maxAgeMs)
  const value = await seal(
    env,
    JSON.stringify({ ...login, id, issuedAt, expiresAt } satisfies CookieLogin),
    secretOwner,
  )
  return renderCookie(url, value, Math.max(0, Math.floor((expiresAt - now) / 1_000)))
}

export function requireSealing(env: Env): void {
  const missing = explainMissingKey(env)
  if (missing) throw new AppError(503, 'not_configured', missing)
}

/** The value of the cookie, if it counts for this request. Throws for a WebSocket that another page has opened. */
export function readCookie(request: Request): string | undefined {
  const value = findCookie(request)
  if (value === undefined) return undefined
  if (request.headers.get('upgrade')?.toLowerCase() === 'websocket') {
    if (isOwnOrigin(request)) return value
    throw new AppError(403, 'insufficient_scope', 'A page of another origin may not open this socket.', {
      param: 'Origin',
    })
  }
  return isSameOrigin(request) ? value : undefined
}

function findCookie({ headers, url }: Request): string | undefined {
  const start = `${createCookie(url).name}=`
  const found = headers
    .get('cookie')
    ?.split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(start))
  const value = found?.slice(start.length)
  return value && value.length <= maxValueChars ? value : undefined
}

/** Undefined when the cookie is damaged, expired, or of another ADMIN_KEY. */
export async function openCookie(env: Env, value: string): Promise<CookieLogin | undefined> {
  const opened = await unseal(env, value, secretOwner)
  if (opened.kind !== 'opened') return undefined
  const { data: login } = loginShape.safeParse(JSON.parse(opened.secret))
  return login && login.expiresAt > clock.now() ? login : undefined
}

/** Undefined when the cookie, or the key that it names, gives no access any more. */
export async function verifyCookie(env: Env, value: string): Promise<VerifiedKey | undefined> {
  const login = await openCookie(env, value)
  const verified = login && (await verifyHolder(env, login))
  if (!login || !verified) return undefined
  const identity = { ...verified.identity, login: login.id }
  return { identity, expiresAt: Math.min(login.expiresAt, verified.expiresAt ?? Infinity) }
}

/** Ends the login of a cookie, with the links that it has made. A damaged or expired cookie has ended. */
export async function endLogin(env: Env, value: string): Promise<void> {
  const login = await openCookie(env, value)
  if (!login) return
  const authority = systemAuthority(login.tenantId, { kind: 'job', id: 'sign-out' }, ['write'])
  await tenantStub(env, login.tenantId).access.revokeKey(authority, login.id)
  forgetSnapshot(login.tenantId)
}

/** The identity of a key by its id. */
export async function verifyHolder(env: Env, holder: LoginHolder): Promise<VerifiedKey | undefined> {
  if (holder.keyId === adminKeyId)
    return holder.adminKey === (await digestAdminKey(env)) ? { identity: owner, expiresAt: null } : undefined
  const found = await createApiKeys(env.DB, '').find(holder.keyId, Date.now())
  return found?.tenantId === holder.tenantId ? toVerifiedKey(found) : undefined
}

/** The part of an identity that a cookie keeps. Undefined when it does not come from a key. */
export async function getHolder(env: Env, { identity }: VerifiedKey): Promise<LoginHolder | undefined> {
  const { principal, tenantId } = identity
  if (principal.kind !== 'key' || principal.id.includes(':')) return undefined
  return {
    tenantId,
    keyId: principal.id,
    ...(principal.id === adminKeyId && { adminKey: await digestAdminKey(env) }),
  }
}

const digestAdminKey = ({ ADMIN_KEY = '' }: Env): Promise<string> => sha256Base64(`talaria login ${ADMIN_KEY}`)

/**
 * Verifies a token of an identity provider and finds the rules that it matches. Only issuers with a rule are asked for
 * keys. Tenant and scopes come from the rules alone.
 */

import type { JSONWebKeySet, JWTPayload } from 'jose'
import type { Identity } from '#agent/core/permission/roles.ts'
import type { Login, Logins } from '#db/logins.ts'
import { loadJose } from '#backends/modules.ts'
import { clock } from '#durable/platform/clock.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { log } from '#agent/core/log.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { AppError } from '../errors.ts'
import { encodeBase64Url } from '#agent/core/base64.ts'
import { sha256 } from '#durable/platform/hash.ts'

export type VerifiedLogin = {
  readonly identity: Identity
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** The result for a token whose issuer and audience have rules. `person` is only named by a token with a valid signature. */
export type LoginOutcome =
  | ({ readonly kind: 'accepted' } & VerifiedLogin)
  | {
      readonly kind: 'refused'
      /** `no_rule`: the token is valid, and no rule matches its claims. */
      readonly reason: 'invalid' | 'expired' | 'no_rule'
      readonly issuer: string
      readonly rules: readonly string[]
      readonly person?: string
    }

/** Signatures by private keys only: a public key can never be taken for a shared secret. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']
const clockToleranceSeconds = 30
const maxNameChars = 100

/** Undefined when the token is malformed, or no rule is for its issuer and audience. */
export async function verifyLogin(
  token: string,
  logins: Logins,
  guardedFetch: GuardedFetch,
): Promise<LoginOutcome | undefined> {
  const { iss: issuer, aud } = await decodeClaims(token)
  const audiences = typeof aud === 'string' ? [aud] : (aud ?? [])
  const rules = issuer === undefined ? [] : await logins.match(issuer, audiences)
  if (issuer === undefined || !rules.length) return undefined
  const refused = { kind: 'refused', reason: 'invalid', issuer, rules: rules.map(({ id }) => id) } as const
  const { errors } = await loadJose()
  try {
    const payload = await verifySignature(token, { issuer, audience: rules.map((rule) => rule.audience) }, guardedFetch)
    const id = await principalId(payload)
    if (id === undefined) return refused
    const login = createLogin(payload, rules, id)
    return login ? { kind: 'accepted', ...login } : { ...refused, reason: 'no_rule', person: nameOf(payload) }
  } catch (error) {
    if (error instanceof errors.JWTExpired) return { ...refused, reason: 'expired', person: nameOf(error.payload) }
    if (error instanceof errors.JOSEError || error instanceof TypeError) return refused
    throw error
  }
}

/** Nothing is verified yet. A malformed token has no claims. */
async function decodeClaims(token: string): Promise<JWTPayload> {
  const { decodeJwt, errors } = await loadJose()
  try {
    return decodeJwt(token)
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return {}
    throw error
  }
}

type Expected = { readonly issuer: string; readonly audience: string[] }

async function verifySignature(token: string, expected: Expected, guardedFetch: GuardedFetch): Promise<JWTPayload> {
  const { errors } = await loadJose()
  try {
    return await verifyWith(token, expected, await getKeySet(expected.issuer, guardedFetch))
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
    // The provider may have a new key.
    return verifyWith(token, expected, await getKeySet(expected.issuer, guardedFetch, true))
  }
}

async function verifyWith(token: string, expected: Expected, keys: JSONWebKeySet): Promise<JWTPayload> {
  const { createLocalJWKSet, jwtVerify } = await loadJose()
  const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
    ...expected,
    algorithms,
    requiredClaims: ['exp'],
    clockTolerance: clockToleranceSeconds,
    currentDate: new Date(clock.now()),
  })
  return payload
}

/** The oldest matching rule decides the tenant; the rights of all matching rules of that tenant add up. */
function createLogin(payload: JWTPayload, rules: readonly Login[], id: string): VerifiedLogin | undefined {
  const audiences = typeof payload.aud === 'string' ? [payload.aud] : (payload.aud ?? [])
  const matching = rules.filter((rule) => audiences.includes(rule.audience) && matches(payload, rule))
  const tenantId = matching[0]?.tenantId
  if (tenantId === undefined) return undefined
  const own = matching.filter((rule) => rule.tenantId === tenantId)
  return {
    identity: {
      tenantId,
      principal: { kind: 'key', id, rules: own.map((rule) => rule.id).join('+'), name: nameOf(payload) },
      entitlements: own.map(({ scopes, role }) => ({ scopes, ...(role !== null && { role }) })),
      taint: 'none',
    },
    expiresAt: (payload.exp ?? 0) * 1_000,
  }
}

function matches(payload: JWTPayload, { claim, value }: Login): boolean {
  if (claim === '') return true
  // An address that the provider has not verified may be anybody's.
  if (claim === 'email' && !isVerified(payload)) return false
  const actual = Object.hasOwn(payload, claim) ? payload[claim] : undefined
  const normalize = (text: unknown) => (claim === 'email' ? String(text).toLowerCase() : text)
  return Array.isArray(actual)
    ? actual.includes(value)
    : typeof actual === 'string' && normalize(actual) === normalize(value)
}

/** Cloudflare Access verifies every address, and its tokens do not say so. */
const accessIssuer = /^https:\/\/[a-z\d-]+\.cloudflareaccess\.com\/?$/

function isVerified({ iss = '', email_verified: verified }: JWTPayload): boolean {
  if (verified === undefined) return accessIssuer.test(iss)
  return verified === true || verified === 'true'
}

const textOf = (claim: unknown): string | undefined => (typeof claim === 'string' && claim !== '' ? claim : undefined)

/**
 * Only issuer and subject identify a person: some providers let people choose their address. Service tokens of Access have
 * a common name and no subject. Undefined for a token with neither.
 */
async function principalId({ iss, sub, common_name: name }: JWTPayload): Promise<string | undefined> {
  const subject = textOf(sub) === undefined ? { common_name: textOf(name) } : { sub }
  if (!Object.values(subject).some(Boolean)) return undefined
  const hash = await sha256(JSON.stringify([iss, subject]))
  return `login:${encodeBase64Url(hash).slice(0, 22)}`
}

/** The name of the person in the audit log and on the page. */
const nameOf = ({ sub, email, common_name: name }: JWTPayload): string =>
  (textOf(email) ?? textOf(sub) ?? textOf(name) ?? '').slice(0, maxNameChars)

type CachedSet = { readonly keys: JSONWebKeySet; readonly at: number }

const maxAgeMs = 3_600_000
/** While the provider cannot be reached, an older set stays in use. */
const staleMs = 86_400_000
/** After an attempt has ended, the next one waits this long: tokens with unknown key ids cause no more requests. */
const minRefreshMs = 60_000
/** Attempts of one issuer at once. Requests share no attempt, because that of a cancelled request never settles. */
const maxParallelLoads = 10
/** Two requests with their timeouts. An older attempt that has not ended belongs to a cancelled request. */
const maxLoadMs = 10_000
const limits = { timeoutMs: maxLoadMs / 2, maxBytes: 256 * 1024 }

/** `begun`: when the attempts began that have not ended. */
type Attempts = { endedAt: number; begun: readonly number[] }

const cache = new BoundedMap<string, CachedSet>(1_000)
const attemptsByIssuer = new BoundedMap<string, Attempts>(1_000)

/** For tests: a new isolate has no keys. */
export function clearKeySets(): void {
  cache.clear()
  attemptsByIssuer.clear()
}

/** `isKeyUnknown`: the set that is cached does not have the key of a token. It is returned again when no newer one may be loaded. */
async function getKeySet(issuer: string, guardedFetch: GuardedFetch, isKeyUnknown = false): Promise<JSONWebKeySet> {
  const cached = cache.get(issuer)
  const now = clock.now()
  if (cached && !isKeyUnknown && now - cached.at < maxAgeMs) return cached.keys
  const attempts = attemptsByIssuer.get(issuer) ?? { endedAt: -Infinity, begun: [] }
  attemptsByIssuer.set(issuer, attempts)
  attempts.begun = attempts.begun.filter((at) => now - at < maxLoadMs)
  if (now - attempts.endedAt < minRefreshMs || attempts.begun.length >= maxParallelLoads) return stale(cached, now)
  attempts.begun = [...attempts.begun, now]
  try {
    return await fetchKeySet(issuer, guardedFetch)
  } catch (error) {
    log.warn('login.keys_unreachable', 'The keys of an identity provider could not be fetched.', { error })
    return stale(cache.get(issuer), now)
  } finally {
    attempts.endedAt = clock.now()
    attempts.begun = attempts.begun.toSpliced(attempts.begun.indexOf(now), 1)
  }
}

function stale(cached: CachedSet | undefined, now: number): JSONWebKeySet {
  if (cached && now - cached.at < staleMs) return cached.keys
  throw new AppError(503, 'unavailable', 'The identity provider cannot be reached. Try again in a moment.')
}

async function fetchKeySet(issuer: string, guardedFetch: GuardedFetch): Promise<JSONWebKeySet> {
  const at = clock.now()
  const found = (await fetchJson(await keysUrl(issuer, guardedFetch), guardedFetch)) as Partial<JSONWebKeySet>
  if (!Array.isArray(found.keys)) throw new Error(`${issuer} has no list of keys.`)
  // A provider with symmetric keys would publish its secret.
  const keys: JSONWebKeySet = { keys: found.keys.filter(({ kty }) => kty !== 'oct') }
  cache.set(issuer, { keys, at })
  return keys
}

/** Cloudflare Access has its keys at a fixed place; others name theirs in their configuration. */
async function keysUrl(issuer: string, guardedFetch: GuardedFetch): Promise<string> {
  const base = issuer.replace(/\/$/, '')
  if (new URL(issuer).hostname.endsWith('.cloudflareaccess.com')) return `${base}/cdn-cgi/access/certs`
  const found = await fetchJson(`${base}/.well-known/openid-configuration`, guardedFetch)
  const { issuer: named, jwks_uri: url } = found as { readonly issuer?: unknown; readonly jwks_uri?: unknown }
  if (named !== issuer) throw new Error(`The configuration of ${issuer} names another issuer.`)
  if (typeof url !== 'string' || !url.startsWith('https://')) throw new Error(`${issuer} has no address of keys.`)
  return url
}

async function fetchJson(url: string, guardedFetch: GuardedFetch): Promise<object> {
  const { response } = await guardedFetch({ url, ...limits })
  if (!response.ok) {
    await response.body?.cancel()
    throw new Error(`${new URL(url).host} answered ${response.status}.`)
  }
  const found: unknown = await response.json()
  if (typeof found !== 'object' || found === null) throw new Error(`${new URL(url).host} answered no object.`)
  return found
}

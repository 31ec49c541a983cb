/** Fetches and caches the public keys of identity providers. */

import { log } from '#agent/core/log.ts'
import type { JSONWebKeySet } from 'jose'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { clock } from '#durable/platform/clock.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { AppError } from '../errors.ts'

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
export async function getKeySet(
  issuer: string,
  guardedFetch: GuardedFetch,
  isKeyUnknown = false,
): Promise<JSONWebKeySet> {
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

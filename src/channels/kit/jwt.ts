/**
 * Checks tokens that a platform signs with published keys: RS256, issuer, audience and times. Keys are kept by isolate; an
 * unknown key is asked for again, at most once a minute.
 */

import type { JSONWebKeySet, JWTPayload } from 'jose'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { isJsonObject } from '#agent/core/parse-json.ts'
import { loadJose } from '#backends/modules.ts'
import { callApi } from '../call-api.ts'
import type { ChannelConnection, InboundRequest } from '../channel.ts'
import type { Proof } from './proof.ts'

type JwtRule = {
  readonly issuers: string[]
  readonly audience: string
  readonly keysUrl: string
  /** Further claims that must hold. */
  readonly accepts?: (claims: JWTPayload) => boolean
}

type JwtProof = {
  readonly token: (request: InboundRequest) => string | undefined
  readonly rule: (connection: ChannelConnection) => JwtRule
}

const toleranceSeconds = 300
const keysLifetimeMs = 6 * 3_600_000
const refetchMs = 60_000

type CachedKeys = { readonly at: number; readonly keys: JSONWebKeySet }
const cache = new BoundedMap<string, CachedKeys>(20)

export const jwt =
  ({ token: find, rule }: JwtProof): Proof =>
  async (request, connection) => {
    const token = find(request)
    // Without secrets the connection belongs to nobody.
    if (!token || !Object.keys(connection.secrets).length) return false
    return verify(token, rule(connection), request.receivedAt)
  }

async function verify(token: string, rule: JwtRule, now: number): Promise<boolean> {
  const { createLocalJWKSet, decodeProtectedHeader, jwtVerify } = await loadJose()
  try {
    const { kid } = decodeProtectedHeader(token)
    const keys = await getKeys(rule.keysUrl, kid)
    if (!keys) return false
    const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
      algorithms: ['RS256'],
      issuer: rule.issuers,
      audience: rule.audience,
      clockTolerance: toleranceSeconds,
      currentDate: new Date(now),
      requiredClaims: ['exp'],
    })
    return rule.accepts?.(payload) ?? true
  } catch {
    return false
  }
}

async function getKeys(url: string, kid: string | undefined): Promise<JSONWebKeySet | undefined> {
  const cached = cache.get(url)
  const age = cached ? Date.now() - cached.at : Infinity
  const isKnown = cached?.keys.keys.some((key) => key.kid === kid)
  if (cached && age < (isKnown ? keysLifetimeMs : refetchMs)) return cached.keys
  const keys = await fetchKeys(url)
  if (keys) cache.set(url, { at: Date.now(), keys })
  return keys ?? cached?.keys
}

async function fetchKeys(url: string): Promise<JSONWebKeySet | undefined> {
  const answer = await callApi(url, { method: 'GET' })
  const body = answer.kind === 'answered' && answer.status === 200 ? answer.body : undefined
  return isJsonObject(body) && Array.isArray(body['keys']) ? { keys: body['keys'] as JSONWebKeySet['keys'] } : undefined
}

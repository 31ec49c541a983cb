/**
 * Checks tokens that a platform signs with published keys: RS256 alone, issuer, audience and times. Keys are kept by
 * isolate; an unknown key is asked for again, at most once a minute.
 */

import { decodeBase64Url } from '#agent/core/base64.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { isJsonObject, type JsonObject, parseJson } from '#agent/core/parse-json.ts'
import { callApi } from '../call-api.ts'
import type { ChannelConnection, InboundRequest } from '../channel.ts'
import { pick, pickList, pickNumber, pickText } from './pick.ts'
import type { Proof } from './proof.ts'

type JwtRule = {
  readonly issuers: readonly string[]
  readonly audience: string
  readonly keysUrl: string
  /** The key must be published for this use, where its platform signs for several. */
  readonly endorsement?: string
  /** Further claims that must hold. */
  readonly accepts?: (claims: JsonObject) => boolean
}

type JwtProof = {
  readonly token: (request: InboundRequest) => string | undefined
  readonly rule: (connection: ChannelConnection, request: InboundRequest) => JwtRule
}

const toleranceSeconds = 300
const keysLifetimeMs = 6 * 3_600_000
const refetchMs = 60_000
const maxTokenChars = 8_192
const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }

type CachedKeys = { readonly at: number; readonly keys: readonly JsonObject[] }
const cache = new BoundedMap<string, CachedKeys>(20)

export const jwt =
  ({ token: find, rule: ruleOf }: JwtProof): Proof =>
  async (request, connection) => {
    const token = find(request) ?? ''
    // Without secrets the connection belongs to nobody.
    if (!Object.keys(connection.secrets).length || token.length > maxTokenChars) return false
    const rule = ruleOf(connection, request)
    const claims = await verifySignature(token, rule)
    return claims !== undefined && holds(claims, rule, request.receivedAt / 1_000) && (rule.accepts?.(claims) ?? true)
  }

/** The claims of a token whose signature is right. */
async function verifySignature(token: string, rule: JwtRule): Promise<JsonObject | undefined> {
  const [, header = '', payload = '', signature = ''] = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(token) ?? []
  const [head, claims] = [parsePart(header), parsePart(payload)]
  const kid = pickText(head, 'kid')
  if (pick(head, 'alg') !== 'RS256' || kid === undefined || !isJsonObject(claims)) return undefined
  const jwk = await findKey(rule, kid)
  if (!jwk) return undefined
  try {
    const key = await crypto.subtle.importKey('jwk', jwk, algorithm, false, ['verify'])
    const signed = new TextEncoder().encode(`${header}.${payload}`)
    const isRight = await crypto.subtle.verify(algorithm.name, key, decodeBase64Url(signature), signed)
    return isRight ? claims : undefined
  } catch {
    return undefined // the key or the signature is malformed
  }
}

function parsePart(part: string): unknown {
  try {
    return parseJson(decodeBase64Url(part))
  } catch {
    return undefined
  }
}

function holds(claims: JsonObject, { issuers, audience }: JwtRule, now: number): boolean {
  const audiences = [pickText(claims, 'aud'), ...pickList(claims, 'aud')]
  const ends = pickNumber(claims, 'exp')
  const begins = claims['nbf'] === undefined ? now : pickNumber(claims, 'nbf')
  if (ends === undefined || begins === undefined) return false
  const isTimely = ends + toleranceSeconds > now && begins - toleranceSeconds <= now
  return isTimely && audiences.includes(audience) && issuers.includes(pickText(claims, 'iss') ?? '')
}

/** A key for RS256 signatures, without its uses: importing it names them. */
async function findKey({ keysUrl, endorsement }: JwtRule, kid: string): Promise<JsonWebKey | undefined> {
  const found = (await getKeys(keysUrl, kid)).find((key) => key['kid'] === kid)
  if (endorsement !== undefined && !pickList(found, 'endorsements').includes(endorsement)) return undefined
  const [kty, n, e] = [pickText(found, 'kty'), pickText(found, 'n'), pickText(found, 'e')]
  return kty === 'RSA' && n !== undefined && e !== undefined ? { kty, n, e } : undefined
}

async function getKeys(url: string, kid: string): Promise<readonly JsonObject[]> {
  const cached = cache.get(url)
  const age = cached ? Date.now() - cached.at : Infinity
  const isKnown = cached?.keys.some((key) => key['kid'] === kid)
  if (cached && age < (isKnown ? keysLifetimeMs : refetchMs)) return cached.keys
  const answer = await callApi(url, { method: 'GET' })
  const body = answer.kind === 'answered' && answer.status === 200 ? answer.body : undefined
  const keys = pickList(body, 'keys').filter(isJsonObject)
  if (keys.length) cache.set(url, { at: Date.now(), keys })
  return keys.length ? keys : (cached?.keys ?? [])
}

/**
 * Verifies a token of an identity provider and finds the rules that it matches. Only issuers with a rule are asked for
 * keys. Tenant and scopes come from the rules alone.
 */

import type { JSONWebKeySet, JWTPayload } from 'jose'
import type { Authority, Scope } from '../../agent/model/authority.ts'
import { scopes } from '../../agent/model/authority.ts'
import type { Login, Logins } from '../../db/logins.ts'
import { inlineJose } from '../../backends/modules.ts'
import { clock } from '../../durable/platform/clock.ts'
import type { GuardedFetch } from '../../durable/platform/guarded-fetch.ts'
import { getKeySet } from './key-sets.ts'

export type VerifiedLogin = {
  readonly authority: Authority
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** Signatures by private keys only: a public key can never be taken for a shared secret. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']
const clockToleranceSeconds = 30
const maxSubjectChars = 100

/** Undefined when the token is malformed, unknown, expired or matches no rule; the result does not reveal which. */
export async function verifyLogin(
  token: string,
  logins: Logins,
  guardedFetch: GuardedFetch,
): Promise<VerifiedLogin | undefined> {
  const { decodeJwt, errors } = await inlineJose()
  try {
    const { iss: issuer, aud } = decodeJwt(token)
    const audiences = typeof aud === 'string' ? [aud] : (aud ?? [])
    const rules = issuer === undefined ? [] : await logins.match(issuer, audiences)
    if (issuer === undefined || !rules.length) return undefined
    const payload = await verifySignature(token, { issuer, audience: rules.map((rule) => rule.audience) }, guardedFetch)
    return payload && createLogin(payload, rules)
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
    throw error
  }
}

type Expected = { readonly issuer: string; readonly audience: string[] }

async function verifySignature(
  token: string,
  expected: Expected,
  guardedFetch: GuardedFetch,
): Promise<JWTPayload | undefined> {
  const { errors } = await inlineJose()
  const keys = await getKeySet(expected.issuer, guardedFetch)
  if (!keys) return undefined
  try {
    return await verifyWith(token, expected, keys)
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
    // The provider may have a new key.
    const newer = await getKeySet(expected.issuer, guardedFetch, true)
    return newer && verifyWith(token, expected, newer)
  }
}

async function verifyWith(token: string, expected: Expected, keys: JSONWebKeySet): Promise<JWTPayload> {
  const { createLocalJWKSet, jwtVerify } = await inlineJose()
  const { payload } = await jwtVerify(token, createLocalJWKSet(keys), {
    ...expected,
    algorithms,
    requiredClaims: ['exp'],
    clockTolerance: clockToleranceSeconds,
    currentDate: new Date(clock.now()),
  })
  return payload
}

/** The oldest matching rule decides the tenant; the scopes of all matching rules of that tenant add up. */
function createLogin(payload: JWTPayload, rules: readonly Login[]): VerifiedLogin | undefined {
  const audiences = typeof payload.aud === 'string' ? [payload.aud] : (payload.aud ?? [])
  const matching = rules.filter((rule) => audiences.includes(rule.audience) && matches(payload, rule))
  const tenantId = matching[0]?.tenantId
  if (tenantId === undefined) return undefined
  const own = matching.filter((rule) => rule.tenantId === tenantId)
  const held = new Set<Scope>(own.flatMap((rule) => rule.scopes))
  return {
    authority: {
      tenantId,
      principal: { kind: 'key', id: `${own.map(({ id }) => id).join('+')}:${subjectOf(payload)}` },
      scopes: scopes.filter((scope) => held.has(scope)),
      taint: 'none',
    },
    expiresAt: (payload.exp ?? 0) * 1_000,
  }
}

function matches(payload: JWTPayload, { claim, value }: Login): boolean {
  if (claim === '') return true
  // An address that the provider has not verified may be anybody's.
  if (claim === 'email' && payload['email_verified'] === false) return false
  const actual = Object.hasOwn(payload, claim) ? payload[claim] : undefined
  const normalize = (text: unknown) => (claim === 'email' ? String(text).toLowerCase() : text)
  return Array.isArray(actual)
    ? actual.includes(value)
    : typeof actual === 'string' && normalize(actual) === normalize(value)
}

/** The name of the person for the audit log. Service tokens of Access have a common name only. */
const subjectOf = ({ sub, email, common_name: name }: JWTPayload): string => {
  const [first = ''] = [email, sub, name].filter((text) => typeof text === 'string' && text !== '')
  return String(first).slice(0, maxSubjectChars)
}

/** Identifies the deployment to push services: RFC 8292. The key pair is made once a tenant. */

import { encodeBase64Url } from '#agent/core/base64.ts'

export type VapidPair = {
  /** An uncompressed point of P-256, base64url. Browsers get it when they subscribe. */
  readonly publicKey: string
  /** A JWK as text. It is stored sealed. */
  readonly privateKey: string
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256' } as const
/** Services refuse more than a day. */
const expirySeconds = 12 * 3_600

export async function createVapidPair(): Promise<VapidPair> {
  const pair = (await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as CryptoKeyPair
  const raw = (await crypto.subtle.exportKey('raw', pair.publicKey)) as ArrayBuffer
  return {
    publicKey: encodeBase64Url(new Uint8Array(raw)),
    privateKey: JSON.stringify(await crypto.subtle.exportKey('jwk', pair.privateKey)),
  }
}

type PushClaim = { readonly endpoint: string; readonly contact: string; readonly now: number }

/** Returns the header `Authorization` for a push service. `contact`: an address of the operator. */
export async function signVapid(
  { publicKey, privateKey }: VapidPair,
  { endpoint, contact, now }: PushClaim,
): Promise<string> {
  const jwk = JSON.parse(privateKey) as JsonWebKey
  const key = await crypto.subtle.importKey('jwk', jwk, algorithm, false, ['sign'])
  const exp = Math.floor(now / 1_000) + expirySeconds
  const parts = [
    { typ: 'JWT', alg: 'ES256' },
    { aud: new URL(endpoint).origin, exp, sub: contact },
  ]
  const text = parts.map((part) => encodeBase64Url(new TextEncoder().encode(JSON.stringify(part)))).join('.')
  const hash = { name: 'ECDSA', hash: 'SHA-256' }
  const signature = await crypto.subtle.sign(hash, key, new TextEncoder().encode(text))
  return `vapid t=${text}.${encodeBase64Url(new Uint8Array(signature))}, k=${publicKey}`
}

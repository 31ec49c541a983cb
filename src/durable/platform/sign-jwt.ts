/** Signs the assertions with which an app proves itself to its platform: RS256 with a key in PEM. */

import { decodeBase64Bytes, encodeBase64Url } from '#agent/core/base64.ts'
import { isJsonObject } from '#agent/core/parse-json.ts'
import { clock } from './clock.ts'

const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }

/** Undefined where the key cannot be used. */
export async function signJwt(pem: string, claims: object): Promise<string | undefined> {
  try {
    const der = decodeBase64Bytes(pem.replace(/-----[A-Z ]{1,40}-----|\s/g, ''))
    const bytes = pem.includes('BEGIN RSA PRIVATE KEY') ? wrapKey(der) : der
    const key = await crypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign'])
    const content = `${encodePart({ alg: 'RS256', typ: 'JWT' })}.${encodePart(claims)}`
    const signature = await crypto.subtle.sign(algorithm.name, key, new TextEncoder().encode(content))
    return `${content}.${encodeBase64Url(new Uint8Array(signature))}`
  } catch {
    return undefined
  }
}

/** The audience of assertions to Google, and where they are exchanged for tokens. */
export const googleTokenUrl = 'https://oauth2.googleapis.com/token'

/** The form with which a service account of Google asks for a token. Undefined where its key cannot be used. */
export async function renderGoogleGrant(account: unknown, scope: string): Promise<URLSearchParams | undefined> {
  const { private_key: pem, client_email: iss } = isJsonObject(account) ? account : {}
  const iat = Math.floor(clock.now() / 1_000)
  const claims = { iss, scope, aud: googleTokenUrl, iat, exp: iat + 3_600 }
  const assertion = typeof pem === 'string' && typeof iss === 'string' ? await signJwt(pem, claims) : undefined
  return assertion === undefined
    ? undefined
    : new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
}

const encodePart = (part: object): string => encodeBase64Url(new TextEncoder().encode(JSON.stringify(part)))

/** Version 0, and the identifier of RSA with no parameters (RFC 5208, RFC 8017). */
const rsaHead = [2, 1, 0, 0x30, 13, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 13, 1, 1, 1, 5, 0]

/** Makes PKCS #8 of PKCS #1, which WebCrypto does not read. */
const wrapKey = (key: Uint8Array): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(encodeField(0x30, [...rsaHead, ...encodeField(4, [...key])]))

function encodeField(tag: number, content: readonly number[]): readonly number[] {
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return [tag, ...size, ...content]
}

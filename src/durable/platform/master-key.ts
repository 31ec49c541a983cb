/**
 * Reads the keys of the deployment that protect secrets of tenants: `ENCRYPTION_KEY`, and during a rotation the earlier
 * ones in `ENCRYPTION_KEY_PREVIOUS`, separated by commas. Only the current one seals; all of them open.
 */

import { decodeBase64Url } from '#agent/core/base64.ts'
import { sha256Hex } from './hash.ts'

export type KeySettings = Pick<Env, 'ENCRYPTION_KEY' | 'ENCRYPTION_KEY_PREVIOUS'>

export type MasterKey = { readonly id: string; readonly bytes: Uint8Array }

const setupCommand = 'openssl rand -base64 32 | npx wrangler secret put ENCRYPTION_KEY'
const encoder = new TextEncoder()

/** Explains why `ENCRYPTION_KEY` cannot be used; undefined when it can. */
export function explainMissingKey({ ENCRYPTION_KEY: text }: KeySettings): string | undefined {
  if (!text?.trim()) return `Secrets of tenants need ENCRYPTION_KEY. Set it with: ${setupCommand}`
  if (!masterKey(text)) return `ENCRYPTION_KEY must be 32 bytes in base64. Create one with: ${setupCommand}`
  return undefined
}

const keyrings = new Map<string, Promise<readonly MasterKey[]>>()

/** Returns the current key first. Empty when `ENCRYPTION_KEY` cannot be used. */
export function getMasterKeys(settings: KeySettings): Promise<readonly MasterKey[]> {
  const text = `${settings.ENCRYPTION_KEY ?? ''}\n${settings.ENCRYPTION_KEY_PREVIOUS ?? ''}`
  let keys = keyrings.get(text)
  if (!keys) keyrings.set(text, (keys = readKeys(settings)))
  return keys
}

async function readKeys({ ENCRYPTION_KEY = '', ENCRYPTION_KEY_PREVIOUS = '' }: KeySettings) {
  const current = masterKey(ENCRYPTION_KEY)
  if (!current) return []
  const previous = ENCRYPTION_KEY_PREVIOUS.split(',').flatMap((text) => masterKey(text) ?? [])
  return Promise.all([current, ...previous].map(async (bytes) => ({ id: await idOf(bytes), bytes })))
}

/** Distinguishes keys. Eight digits of a hash reveal nothing about 32 random bytes. */
const idOf = (bytes: Uint8Array): Promise<string> =>
  sha256Hex(new Uint8Array([...encoder.encode('talaria key id '), ...bytes]), 4)

/** Derives a key for one purpose from a key of the deployment. */
export async function deriveKey(
  master: Uint8Array,
  purpose: string,
  algorithm: 'AES-GCM' | 'HMAC',
): Promise<CryptoKey> {
  const source = await crypto.subtle.importKey('raw', master, 'HKDF', false, ['deriveKey'])
  return crypto.subtle.deriveKey(
    {
      name: 'HKDF',
      hash: 'SHA-256',
      salt: encoder.encode('talaria secrets'),
      info: encoder.encode(purpose),
    },
    source,
    algorithm === 'AES-GCM' ? { name: algorithm, length: 256 } : { name: algorithm, hash: 'SHA-256' },
    false,
    algorithm === 'AES-GCM' ? ['encrypt', 'decrypt'] : ['sign'],
  )
}

/** Returns the 32 bytes of a key, or undefined when the text is no key. */
export function masterKey(text: string | undefined): Uint8Array<ArrayBuffer> | undefined {
  const bytes = fromBase64(text?.trim() ?? '')
  return bytes?.length === 32 ? bytes : undefined
}

/** The URL-safe alphabet is accepted too. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return decodeBase64Url(text)
  } catch {
    return undefined
  }
}

/**
 * Creates and wraps the data keys of tenants. Each tenant has its own random key, wrapped by the key of the deployment.
 * The wrapped key opens only for its tenant and version.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { deriveKey, fromBase64, getMasterKeys, type KeySettings } from './master-key.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'

/** A data key as it is stored. `wrapped` is `<id of the wrapping key>:<base64>`. */
export type DataKey = { readonly version: number; readonly wrapped: string }

const nonceBytes = 12
const encoder = new TextEncoder()

export async function createDataKey(settings: KeySettings, tenant: string, version: number): Promise<DataKey> {
  return { version, wrapped: await wrap(settings, crypto.getRandomValues(new Uint8Array(32)), tenant, version) }
}

/** Wraps the same key with the current key of the deployment. Undefined when it already is, or cannot be unwrapped. */
export async function rewrapDataKey(settings: KeySettings, tenant: string, key: DataKey): Promise<DataKey | undefined> {
  const [current] = await getMasterKeys(settings)
  if (!current || key.wrapped.startsWith(`${current.id}:`)) return undefined
  const bytes = await unwrap(settings, tenant, key)
  return bytes && { ...key, wrapped: await wrap(settings, bytes, tenant, key.version) }
}

const openKeys = new BoundedMap<string, CryptoKey>(5_000)

/** Opens a data key. Undefined when the deployment has no longer the key that wraps it. */
export async function openDataKey(settings: KeySettings, tenant: string, key: DataKey): Promise<CryptoKey | undefined> {
  const ids = (await getMasterKeys(settings)).map(({ id }) => id).join(' ')
  const name = JSON.stringify([ids, tenant, key.version, key.wrapped])
  const cached = openKeys.get(name)
  if (cached) return cached
  const bytes = await unwrap(settings, tenant, key)
  if (!bytes) return undefined
  const opened = await crypto.subtle.importKey('raw', bytes, 'AES-GCM', false, ['encrypt', 'decrypt'])
  openKeys.set(name, opened)
  return opened
}

async function wrap(settings: KeySettings, bytes: Uint8Array, tenant: string, version: number): Promise<string> {
  const [current] = await getMasterKeys(settings)
  if (!current) throw new Error('Data keys need ENCRYPTION_KEY.')
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes))
  const key = await deriveKey(current.bytes, 'wrap v2', 'AES-GCM')
  const wrapped = await crypto.subtle.encrypt(cipher(nonce, tenant, version), key, bytes)
  return `${current.id}:${encodeBase64Bytes(new Uint8Array([...nonce, ...new Uint8Array(wrapped)]))}`
}

async function unwrap(settings: KeySettings, tenant: string, { version, wrapped }: DataKey) {
  const [id, text = ''] = wrapped.split(':')
  const master = (await getMasterKeys(settings)).find((key) => key.id === id)
  const bytes = fromBase64(text)
  if (!master || !bytes) return undefined
  const key = await deriveKey(master.bytes, 'wrap v2', 'AES-GCM')
  try {
    const [nonce, content] = [bytes.subarray(0, nonceBytes), bytes.subarray(nonceBytes)]
    return new Uint8Array(await crypto.subtle.decrypt(cipher(nonce, tenant, version), key, content))
  } catch {
    return undefined // It was wrapped for another tenant, or is damaged.
  }
}

const cipher = (iv: Uint8Array, tenant: string, version: number) => ({
  name: 'AES-GCM',
  iv,
  additionalData: encoder.encode(JSON.stringify(['v2', 'data key', tenant, version])),
})

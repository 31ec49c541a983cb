/**
 * Creates and opens the tokens of shared conversations. A token is encrypted, so that it reveals neither tenant nor
 * session. It opens nothing by itself: the session knows which shares exist.
 */

import * as z from 'zod'
import { decodeBase64Url, encodeBase64Url } from '#agent/core/base64.ts'
import { deriveKey, getMasterKeys, type KeySettings } from './master-key.ts'

export type SharedPlace = { readonly tenantId: string; readonly sessionId: string; readonly shareId: string }

const purpose = 'v1 share'
const nonceBytes = 12
const place = z.tuple([z.string(), z.string(), z.string()])

/** Undefined without a valid `ENCRYPTION_KEY`. */
export async function createShareToken(settings: KeySettings, given: SharedPlace): Promise<string | undefined> {
  const [master] = await getMasterKeys(settings)
  if (!master) return undefined
  const iv = crypto.getRandomValues(new Uint8Array(nonceBytes))
  const text = new TextEncoder().encode(JSON.stringify([given.tenantId, given.sessionId, given.shareId]))
  const key = await deriveKey(master.bytes, purpose, 'AES-GCM')
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, text)
  return encodeBase64Url(new Uint8Array([...iv, ...new Uint8Array(sealed)]))
}

/** Undefined for a token that is forged or damaged, or whose key is gone. */
export async function openShareToken(settings: KeySettings, token: string): Promise<SharedPlace | undefined> {
  if (!/^[\w-]{1,2000}$/.test(token)) return undefined
  for (const { bytes: master } of await getMasterKeys(settings)) {
    const opened = await decrypt(await deriveKey(master, purpose, 'AES-GCM'), token)
    if (opened) return opened
  }
  return undefined
}

async function decrypt(key: CryptoKey, token: string): Promise<SharedPlace | undefined> {
  try {
    const bytes = decodeBase64Url(token)
    const [iv, sealed] = [new Uint8Array(bytes.subarray(0, nonceBytes)), new Uint8Array(bytes.subarray(nonceBytes))]
    const text = new TextDecoder().decode(await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, key, sealed))
    const [tenantId, sessionId, shareId] = place.parse(JSON.parse(text))
    return { tenantId, sessionId, shareId }
  } catch {
    // Damaged text, or another key. A cipher gives no other reason than the failed authentication.
    return undefined
  }
}

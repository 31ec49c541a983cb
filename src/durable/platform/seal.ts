/**
 * Encrypts secrets of tenants (provider keys, headers, channel secrets) for storage. A sealed value opens only for the
 * tenant, kind and id it was sealed for: a row that is copied elsewhere cannot be opened. It contains the wrapped data
 * key of its tenant, so that it opens without another request, also after the tenant has a new data key.
 */

import { createDataKey, type DataKey, openDataKey } from './data-key.ts'
import { deriveKey, explainMissingKey, fromBase64, getMasterKeys, type KeySettings } from './master-key.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'

export type SecretOwner = {
  readonly tenant: string
  /** The use of the secret, for example `credential`. */
  readonly kind: string
  readonly id: string
}

export type OpenResult =
  | { readonly kind: 'opened'; readonly secret: string }
  /** `reason` is shown to the user: the problem and the remedy. */
  | { readonly kind: 'unreadable'; readonly reason: string }

const nonceBytes = 12
const encoder = new TextEncoder()

/**
 * Seals a secret with the data key of its tenant; without one, with a data key of its own. Throws when
 * `explainMissingKey` returns a text: check it first.
 */
export async function seal(
  settings: KeySettings,
  secret: string,
  owner: SecretOwner,
  given?: DataKey,
): Promise<string> {
  const missing = explainMissingKey(settings)
  if (missing) throw new Error(missing)
  const dataKey = given ?? (await createDataKey(settings, owner.tenant, 0))
  const key = await openDataKey(settings, owner.tenant, dataKey)
  if (!key) throw new Error('The data key of the tenant cannot be opened: its ENCRYPTION_KEY is gone.')
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes))
  const bytes = await crypto.subtle.encrypt(cipher(nonce, owner, dataKey.version), key, encoder.encode(secret))
  const payload = encodeBase64Bytes(new Uint8Array([...nonce, ...new Uint8Array(bytes)]))
  return `v2.${dataKey.version}.${dataKey.wrapped}.${payload}`
}

/** Opens a sealed value. A value that cannot be opened is a result, not an error. */
export async function unseal(settings: KeySettings, sealed: string, owner: SecretOwner): Promise<OpenResult> {
  const missing = explainMissingKey(settings)
  if (missing) return { kind: 'unreadable', reason: missing }
  const [format, ...parts] = sealed.split('.')
  const bytes = fromBase64(parts.at(-1) ?? '')
  const isKnown = (format === 'v1' && parts.length === 1) || (format === 'v2' && parts.length === 3)
  if (!isKnown || !bytes)
    return { kind: 'unreadable', reason: 'It was sealed in a format that this version cannot read.' }
  const secret = format === 'v1' ? await openOld(settings, bytes, owner) : await open(settings, parts, owner)
  if (secret !== undefined) return { kind: 'opened', secret }
  return { kind: 'unreadable', reason: 'It was sealed with another ENCRYPTION_KEY, or is damaged. Enter it again.' }
}

async function open(settings: KeySettings, [number = '', wrapped = '', payload = '']: string[], owner: SecretOwner) {
  const version = Number(number)
  const key = await openDataKey(settings, owner.tenant, { version, wrapped })
  const bytes = fromBase64(payload)
  return key && bytes && decrypt(key, bytes, cipher(bytes.subarray(0, nonceBytes), owner, version))
}

/** Opens a value of the format `v1`, which has no data key: a key of the tenant was derived from `ENCRYPTION_KEY`. */
async function openOld(settings: KeySettings, bytes: Uint8Array, owner: SecretOwner): Promise<string | undefined> {
  for (const master of await getMasterKeys(settings)) {
    const key = await deriveKey(master.bytes, `v1 seal ${owner.tenant}`, 'AES-GCM')
    const { tenant, kind, id } = owner
    const additionalData = encoder.encode(JSON.stringify(['v1', tenant, kind, id]))
    const secret = await decrypt(key, bytes, { name: 'AES-GCM', iv: bytes.subarray(0, nonceBytes), additionalData })
    if (secret !== undefined) return secret
  }
  return undefined
}

async function decrypt(key: CryptoKey, bytes: Uint8Array, algorithm: AesGcmParams): Promise<string | undefined> {
  try {
    return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key, bytes.subarray(nonceBytes)))
  } catch {
    return undefined // A cipher gives no other reason than the failed authentication.
  }
}

/** Creates a keyed hash of a secret: equal secrets of a tenant have equal marks, so that duplicates are found. */
export async function fingerprintSecret(settings: KeySettings, secret: string, owner: SecretOwner): Promise<string> {
  const [master] = await getMasterKeys(settings)
  if (!master) throw new Error(explainMissingKey(settings))
  const key = await deriveKey(master.bytes, `v1 mark ${owner.tenant}`, 'HMAC')
  const mark = await crypto.subtle.sign('HMAC', key, encoder.encode(JSON.stringify([owner.kind, owner.id, secret])))
  return encodeBase64Bytes(new Uint8Array(mark))
}

type AesGcmParams = { readonly name: 'AES-GCM'; readonly iv: Uint8Array; readonly additionalData: Uint8Array }

const cipher = (iv: Uint8Array, { tenant, kind, id }: SecretOwner, version: number): AesGcmParams => ({
  name: 'AES-GCM',
  iv,
  additionalData: encoder.encode(JSON.stringify(['v2', tenant, kind, id, version])),
})

/** Opens the values of a list. One that cannot be opened is left out, and `onFailure` gets it with the reason. */
export async function unsealAll<T extends { readonly sealed: string }>(
  env: KeySettings,
  list: readonly T[],
  ownerOf: (one: T) => SecretOwner,
  onFailure: (one: T, reason: string) => void,
): Promise<readonly (readonly [T, string])[]> {
  const results = await Promise.all(list.map((one) => unseal(env, one.sealed, ownerOf(one))))
  return list.flatMap((one, at) => {
    const result = results[at]
    if (result?.kind === 'opened') return [[one, result.secret] as const]
    onFailure(one, result?.reason ?? '')
    return []
  })
}

/**
 * Creates and opens links to files of a workspace, `/files/{id}?exp=…&sig=…`, which work without a key for a short time.
 * The id is encrypted, so that it reveals neither tenant nor path; the signature has a key of its own per tenant.
 */

import { decodeBase64Url, encodeBase64Url } from '#agent/core/base64.ts'
import { masterKey } from './master-key.ts'

export type LinkedFile = {
  readonly tenantId: string
  readonly sessionId: string
  readonly path: string
  /** HTML is shown as a page without an origin. */
  readonly preview?: Preview
}
export type Preview = {
  readonly scripts: boolean
  /** The file as it was before this run. */
  readonly run?: string
}
export type LinkParts = { readonly id: string; readonly exp: string; readonly sig: string }

const lifetimeSeconds = 3_600
/** A preview is opened at once. */
const previewSeconds = 300
const nonceBytes = 12
const encoder = new TextEncoder()
type LinkSettings = Pick<Env, 'ENCRYPTION_KEY'>

/** Undefined without a valid `ENCRYPTION_KEY`. `now` is in milliseconds. */
export async function createLink(env: LinkSettings, file: LinkedFile, now: number): Promise<string | undefined> {
  const master = masterKey(env.ENCRYPTION_KEY)
  if (!master) return undefined
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes))
  const text = encoder.encode(
    JSON.stringify([file.tenantId, file.sessionId, file.path, ...(file.preview ? [file.preview] : [])]),
  )
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv: nonce }, await idKey(master), text)
  const id = encodeBase64Url(new Uint8Array([...nonce, ...new Uint8Array(sealed)]))
  const exp = String(Math.floor(now / 1_000) + (file.preview ? previewSeconds : lifetimeSeconds))
  const sig = await crypto.subtle.sign('HMAC', await signKey(master, file.tenantId), encoder.encode(`${id}.${exp}`))
  return `/files/${id}?exp=${exp}&sig=${encodeBase64Url(new Uint8Array(sig))}`
}

/** Undefined for a link that is forged, changed, expired, or valid for too long. */
export async function openLink(
  env: LinkSettings,
  { id, exp, sig }: LinkParts,
  now: number,
): Promise<LinkedFile | undefined> {
  const master = masterKey(env.ENCRYPTION_KEY)
  const seconds = /^\d{1,12}$/.test(exp) ? Number(exp) - now / 1_000 : 0
  if (!master || seconds <= 0 || seconds > lifetimeSeconds) return undefined
  const [bytes, signature] = [fromBase64Url(id), fromBase64Url(sig)]
  if (!bytes || !signature) return undefined
  const file = await decryptId(master, bytes)
  if (!file) return undefined
  const key = await signKey(master, file.tenantId)
  const isGenuine = await crypto.subtle.verify('HMAC', key, signature, encoder.encode(`${id}.${exp}`))
  return isGenuine ? file : undefined
}

type StoredLink = [tenantId: string, sessionId: string, path: string, preview?: Preview]

async function decryptId(master: Uint8Array<ArrayBuffer>, bytes: Uint8Array): Promise<LinkedFile | undefined> {
  const [iv, sealed] = [new Uint8Array(bytes.subarray(0, nonceBytes)), new Uint8Array(bytes.subarray(nonceBytes))]
  try {
    const text = await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, await idKey(master), sealed)
    const [tenantId, sessionId, path, preview] = JSON.parse(new TextDecoder().decode(text)) as StoredLink
    return { tenantId, sessionId, path, ...(preview && { preview }) }
  } catch {
    // A cipher gives no other reason than the failed authentication.
    return undefined
  }
}

const idKey = (master: Uint8Array<ArrayBuffer>): Promise<CryptoKey> =>
  deriveKey(master, 'v1 link id', { name: 'AES-GCM', length: 256 }, ['encrypt', 'decrypt'])

const signKey = (master: Uint8Array<ArrayBuffer>, tenantId: string): Promise<CryptoKey> =>
  deriveKey(master, `v1 link ${tenantId}`, { name: 'HMAC', hash: 'SHA-256' }, ['sign', 'verify'])

async function deriveKey(
  master: Uint8Array<ArrayBuffer>,
  info: string,
  algorithm: { readonly name: 'AES-GCM'; readonly length: number } | { readonly name: 'HMAC'; readonly hash: string },
  uses: readonly string[],
): Promise<CryptoKey> {
  const source = await crypto.subtle.importKey('raw', master, 'HKDF', false, ['deriveKey'])
  const parameters = {
    name: 'HKDF',
    hash: 'SHA-256',
    salt: encoder.encode('talaria links'),
    info: encoder.encode(info),
  }
  return crypto.subtle.deriveKey(parameters, source, algorithm, false, [...uses])
}

function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]{1,4000}$/.test(text)) return undefined
  try {
    return decodeBase64Url(text)
  } catch {
    return undefined
  }
}

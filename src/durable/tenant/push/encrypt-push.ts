/** Encrypts the body of a push message for one browser: RFC 8291 with the content coding aes128gcm of RFC 8188. */

import { decodeBase64Url } from '#agent/core/base64.ts'

export type PushKeys = {
  /** The public key of the browser: an uncompressed point of P-256, base64url. */
  readonly p256dh: string
  /** 16 secret bytes of the browser, base64url. */
  readonly auth: string
}

/** Tests replace what is random. */
export type PushRandom = { readonly pair: CryptoKeyPair; readonly salt: Uint8Array<ArrayBuffer> }

const curve = { name: 'ECDH', namedCurve: 'P-256' } as const
const recordBytes = 4_096
const encode = (text: string) => new Uint8Array(new TextEncoder().encode(text))

export async function encryptPush(text: string, keys: PushKeys, random?: PushRandom): Promise<Uint8Array<ArrayBuffer>> {
  const { pair, salt } = random ?? (await createRandom())
  const theirs = decodeBase64Url(keys.p256dh)
  const ours = new Uint8Array((await crypto.subtle.exportKey('raw', pair.publicKey)) as ArrayBuffer)
  const publicKey = await crypto.subtle.importKey('raw', theirs, curve, false, [])
  // The types of the runtime have another name for `public`.
  const agreement = { name: 'ECDH', public: publicKey } as unknown as SubtleCryptoDeriveKeyAlgorithm
  const shared = await crypto.subtle.deriveBits(agreement, pair.privateKey, 256)
  const info = concatBytes(encode('WebPush: info\0'), theirs, ours)
  const secret = await derive({ from: new Uint8Array(shared), salt: decodeBase64Url(keys.auth), info, bytes: 32 })
  const key = await derive({ from: secret, salt, info: encode('Content-Encoding: aes128gcm\0'), bytes: 16 })
  const nonce = await derive({ from: secret, salt, info: encode('Content-Encoding: nonce\0'), bytes: 12 })
  const cipher = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt'])
  // The byte 2 ends the last record.
  const plain = concatBytes(encode(text), Uint8Array.of(2))
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv: nonce }, cipher, plain)
  const head = new Uint8Array(5)
  new DataView(head.buffer).setUint32(0, recordBytes)
  head[4] = ours.length
  return concatBytes(salt, head, ours, new Uint8Array(sealed))
}

async function createRandom(): Promise<PushRandom> {
  const pair = (await crypto.subtle.generateKey(curve, false, ['deriveBits'])) as CryptoKeyPair
  return { pair, salt: crypto.getRandomValues(new Uint8Array(16)) }
}

type Derivation = {
  readonly from: Uint8Array<ArrayBuffer>
  readonly salt: Uint8Array<ArrayBuffer>
  readonly info: Uint8Array<ArrayBuffer>
  readonly bytes: number
}

async function derive({ from, salt, info, bytes }: Derivation): Promise<Uint8Array<ArrayBuffer>> {
  const key = await crypto.subtle.importKey('raw', from, 'HKDF', false, ['deriveBits'])
  return new Uint8Array(await crypto.subtle.deriveBits({ name: 'HKDF', hash: 'SHA-256', salt, info }, key, bytes * 8))
}

/** Whether the keys have the lengths that browsers give them. */
export function arePushKeys({ p256dh, auth }: PushKeys): boolean {
  try {
    const point = decodeBase64Url(p256dh)
    return point.length === 65 && point[0] === 4 && decodeBase64Url(auth).length === 16
  } catch {
    return false // Not base64.
  }
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/**
 * Seals parts of a backup with a passphrase, in the format that `talaria restore` reads (cli/backup/seal.mjs): pieces of
 * AES-256-GCM, each bound to the name, the position and the end of its part.
 */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { fromBase64 } from '#durable/platform/master-key.ts'

const pieceBytes = 2 ** 20
const prefixBytes = 7

/** 16 MiB of memory for each guess, five times: an isolate has 128 MB. */
export const scryptCost = { N: 2 ** 14, r: 8, p: 5 }

export const newSalt = (): string => encodeBase64Bytes(crypto.getRandomValues(new Uint8Array(16)))

export type TenantKey = { readonly seal: CryptoKey; readonly mac: CryptoKey }

/** Each tenant has a key of its own, so that its backup cannot be taken for that of another one. */
export async function deriveTenantKeys(
  passphrase: string,
  salt: string,
): Promise<(tenantId: string) => Promise<TenantKey>> {
  // An isolate that has it holds 0.8 MB more, and only a backup needs it.
  const { scryptSync } = await import('node:crypto')
  const master = await importMac(scryptSync(passphrase, fromBase64(salt) ?? new Uint8Array(), 32, scryptCost))
  return async (tenantId) => {
    const own = await crypto.subtle.sign('HMAC', master, encode(`tenant ${tenantId}`))
    const seal = await crypto.subtle.importKey('raw', own, 'AES-GCM', false, ['encrypt'])
    return { seal, mac: await importMac(own) }
  }
}

const importMac = (raw: Uint8Array | ArrayBuffer): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', raw as BufferSource, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

export const authenticate = async ({ mac }: TenantKey, text: string): Promise<string> =>
  encodeBase64Bytes(new Uint8Array(await crypto.subtle.sign('HMAC', mac, encode(text))))

type Sealing = {
  readonly key: TenantKey
  readonly name: string
  readonly onPlain: (bytes: Uint8Array) => Promise<void>
}

/** Yields the sealed part. `onPlain` gets the bytes before they are sealed. */
export async function* sealStream(
  plain: ReadableStream<Uint8Array>,
  { key, name, onPlain }: Sealing,
): AsyncGenerator<Uint8Array> {
  const prefix = crypto.getRandomValues(new Uint8Array(prefixBytes))
  yield prefix
  const piece = new Uint8Array(pieceBytes)
  let [filled, number] = [0, 0]
  const sealPiece = async (isLast: boolean) => {
    const sealed = await encrypt(key, { iv: nonceOf(prefix, number++, isLast), name }, piece.subarray(0, filled))
    filled = 0
    return sealed
  }
  for await (const part of plain) {
    await onPlain(part)
    for (let at = 0; at < part.length;) {
      if (filled === pieceBytes) yield await sealPiece(false)
      const taken = part.subarray(at, at + pieceBytes - filled)
      piece.set(taken, filled)
      filled += taken.length
      at += taken.length
    }
  }
  yield await sealPiece(true)
}

/** The length of the sealed bytes, and these. */
async function encrypt(
  { seal }: TenantKey,
  at: { iv: Uint8Array; name: string },
  plain: Uint8Array,
): Promise<Uint8Array> {
  const cipher = { name: 'AES-GCM', iv: at.iv as BufferSource, additionalData: encode(at.name) as BufferSource }
  const sealed = new Uint8Array(await crypto.subtle.encrypt(cipher, seal, plain as BufferSource))
  const framed = new Uint8Array(4 + sealed.length)
  new DataView(framed.buffer).setUint32(0, sealed.length)
  framed.set(sealed, 4)
  return framed
}

function nonceOf(prefix: Uint8Array, number: number, isLast: boolean): Uint8Array {
  const nonce = new Uint8Array(12)
  nonce.set(prefix)
  new DataView(nonce.buffer).setUint32(prefixBytes, number)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

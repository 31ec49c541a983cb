import { BoundedMap } from '#agent/core/bounded-map.ts'

type Hash = 'SHA-1' | 'SHA-256'

/** By hash and secret. Keys and no promises: a promise of a cancelled request would never end for the others. */
const keys = new BoundedMap<string, CryptoKey>(1_000)

/** Computes the HMAC of what a platform signs. */
export async function computeHmac(hash: Hash, secret: string | Uint8Array, data: Uint8Array): Promise<Uint8Array> {
  const key = typeof secret === 'string' ? await getKey(hash, secret) : await importKey(hash, secret)
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, data as BufferSource))
}

async function getKey(hash: Hash, secret: string): Promise<CryptoKey> {
  const name = `${hash} ${secret}`
  const cached = keys.get(name)
  if (cached) return cached
  const key = await importKey(hash, new TextEncoder().encode(secret))
  keys.set(name, key)
  return key
}

const importKey = (hash: Hash, secret: Uint8Array): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', Uint8Array.from(secret), { name: 'HMAC', hash }, false, ['sign'])

/** Joins a text and raw bytes, as signatures over a prefix and a body need it. */
export function concatBytes(prefix: string, body: Uint8Array): Uint8Array {
  const head = new TextEncoder().encode(prefix)
  const joined = new Uint8Array(head.length + body.length)
  joined.set(head)
  joined.set(body, head.length)
  return joined
}

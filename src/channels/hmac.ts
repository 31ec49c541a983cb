/** Computes the HMAC of what a platform signs. */
export async function computeHmac(
  hash: 'SHA-1' | 'SHA-256',
  secret: string | Uint8Array,
  data: Uint8Array,
): Promise<Uint8Array> {
  const encoded = typeof secret === 'string' ? new TextEncoder().encode(secret) : Uint8Array.from(secret)
  const key = await crypto.subtle.importKey('raw', encoded, { name: 'HMAC', hash }, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, Uint8Array.from(data)))
}

export const toHex = (bytes: Uint8Array): string =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')

/** Joins a text and raw bytes, as signatures over a prefix and a body need it. */
export function concatBytes(prefix: string, body: Uint8Array): Uint8Array {
  const head = new TextEncoder().encode(prefix)
  const joined = new Uint8Array(head.length + body.length)
  joined.set(head)
  joined.set(body, head.length)
  return joined
}

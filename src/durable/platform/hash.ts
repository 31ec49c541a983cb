/** Computes SHA-256, and writes bytes as hexadecimal digits. */

import { encodeBase64Bytes } from '#agent/core/base64.ts'

type Hashed = string | Uint8Array | ArrayBuffer

export async function sha256(data: Hashed): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as BufferSource))
}

/** Returns two digits for each byte. `bytes` cuts the hash where its full length is not needed. */
export const sha256Hex = async (data: Hashed, bytes = 32): Promise<string> =>
  toHex((await sha256(data)).subarray(0, bytes))

export const sha256Base64 = async (data: Hashed): Promise<string> => encodeBase64Bytes(await sha256(data))

const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += digits[byte]
  return text
}

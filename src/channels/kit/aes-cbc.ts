/** Decrypts what a platform encrypts with AES-256 in CBC mode and PKCS #7, also where it pads to blocks of 32 bytes. */

const blockBytes = 16
const maxPadding = 32

/** Undefined: the key is not the right one, or the content is damaged. */
export async function decryptAesCbc(
  key: Uint8Array<ArrayBuffer>,
  iv: Uint8Array<ArrayBuffer>,
  encrypted: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    const imported = await crypto.subtle.importKey('raw', key, 'AES-CBC', false, ['encrypt', 'decrypt'])
    // WebCrypto removes a padding of at most one block. A block of padding behind the last one leaves the rest as it is.
    const last = encrypted.slice(-blockBytes)
    const end = await crypto.subtle.encrypt({ name: 'AES-CBC', iv: last }, imported, new Uint8Array())
    const whole = new Uint8Array(encrypted.length + end.byteLength)
    whole.set(encrypted)
    whole.set(new Uint8Array(end), encrypted.length)
    return withoutPadding(new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-CBC', iv }, imported, whole)))
  } catch {
    return undefined
  }
}

function withoutPadding(padded: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> | undefined {
  const size = padded.at(-1) ?? 0
  const isPadded = size > 0 && size <= Math.min(maxPadding, padded.length)
  return isPadded && padded.subarray(-size).every((byte) => byte === size) ? padded.slice(0, -size) : undefined
}

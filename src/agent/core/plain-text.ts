/** Decodes plain text of people: UTF-8, UTF-16 with its mark, and the code page of Western Windows. */

/** Text has no zero byte at its beginning. */
const sniffedBytes = 8_192

/** Undefined for bytes that are no text, or text of another encoding. A byte order mark is left out. */
export function decodePlainText(bytes: Uint8Array): string | undefined {
  const utf16 =
    bytes[0] === 0xff && bytes[1] === 0xfe
      ? 'utf-16le'
      : bytes[0] === 0xfe && bytes[1] === 0xff
        ? 'utf-16be'
        : undefined
  if (utf16) return decodeStrictly(bytes, utf16)
  if (bytes.subarray(0, sniffedBytes).includes(0)) return undefined
  return (
    decodeStrictly(bytes, 'utf-8') ?? (isWestern(bytes) ? new TextDecoder('windows-1252').decode(bytes) : undefined)
  )
}

function decodeStrictly(bytes: Uint8Array, encoding: string): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    return undefined
  }
}

/**
 * Letters with accents stand among plain ones. In other encodings, and in UTF-8 with an error, bytes beyond ASCII follow
 * each other.
 */
function isWestern(bytes: Uint8Array): boolean {
  let beyond = 0
  let following = 0
  for (const [at, byte] of bytes.entries()) {
    if (byte < 0x80) continue
    beyond += 1
    if ((bytes[at - 1] ?? 0) >= 0x80) following += 1
  }
  return following * 4 <= beyond && beyond * 4 <= bytes.length
}

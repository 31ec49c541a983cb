/** Lists the entries of a zip archive by its directory, also of one that is cut or has other bytes around it. */

const directorySignature = 'PK\x01\x02'

/** `isStored`: without compression. */
export type ArchiveEntry = { readonly name: string; readonly isEncrypted: boolean; readonly isStored: boolean }

/** `content`: one character for each byte. */
export function listArchiveEntries(content: string): readonly ArchiveEntry[] {
  const entries: ArchiveEntry[] = []
  const byteAt = (at: number) => content.charCodeAt(at) & 0xff
  for (let at = content.indexOf(directorySignature); at >= 0; at = content.indexOf(directorySignature, at + 4)) {
    const length = byteAt(at + 28) + byteAt(at + 29) * 256
    entries.push({
      name: decodeName(content.slice(at + 46, at + 46 + length)),
      isEncrypted: (byteAt(at + 8) & 1) === 1,
      isStored: byteAt(at + 10) === 0,
    })
  }
  return entries
}

const decodeName = (latin: string): string =>
  new TextDecoder().decode(Uint8Array.from(latin, (char) => char.charCodeAt(0)))

const chunkBytes = 8_192

/** One character for each byte. The decoder named latin1 is that of Windows, which changes some bytes. */
export function toLatin(bytes: Uint8Array): string {
  const chunks: string[] = []
  for (let at = 0; at < bytes.length; at += chunkBytes)
    chunks.push(String.fromCharCode(...bytes.subarray(at, at + chunkBytes)))
  return chunks.join('')
}

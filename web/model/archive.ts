/** Lists the files of a zip archive by the directory at its end. */

export type ArchiveEntry = { readonly name: string; readonly size: number }

const endSignature = 0x06054b50
const entrySignature = 0x02014b50
const endBytes = 22
/** A comment of up to 64 KiB may follow the record at the end. */
const maxEndBytes = 65_557

/** Undefined when the bytes are no zip archive. */
export function listZip(bytes: Uint8Array, maxEntries: number): readonly ArchiveEntry[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const end = findEnd(view)
  if (end === undefined) return undefined
  const entries: ArchiveEntry[] = []
  let at = view.getUint32(end + 16, true)
  while (entries.length < maxEntries && at + 46 <= bytes.byteLength && view.getUint32(at, true) === entrySignature) {
    const length = view.getUint16(at + 28, true)
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + length))
    entries.push({ name, size: view.getUint32(at + 24, true) })
    at += 46 + length + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)
  }
  return entries
}

function findEnd(view: DataView): number | undefined {
  const last = view.byteLength - endBytes
  for (let at = last; at >= 0 && at > view.byteLength - maxEndBytes; at--)
    if (view.getUint32(at, true) === endSignature) return at
  return undefined
}

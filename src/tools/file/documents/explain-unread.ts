/** Explains why a file has no text here: it is protected by a password, or of a format without a reader. */

const compoundSignature = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'
const archiveSignature = 'PK\x03\x04'
const directorySignature = 'PK\x01\x02'
/** A zip archive of OpenDocument begins with this entry, which is not compressed. */
const openDocumentType = /^mimetypeapplication\/vnd\.oasis\.opendocument\.(?:text|spreadsheet|presentation)/

const protectedReason = ' is protected by a password, so it cannot be read here. Ask for a copy without one.'
const oldFormats: readonly (readonly [stream: string, reason: string])[] = [
  ['WordDocument', ': Old Word files cannot be read here. Ask for it as .docx or text.'],
  ['Workbook', ': Old Excel files cannot be read here. Ask for it as .xlsx or CSV.'],
  ['PowerPoint Document', ': Old presentations cannot be read here. Ask for it as .pptx or text.'],
]
const openDocumentReason =
  ' is an OpenDocument file, which cannot be read here. Ask for it as .docx, .xlsx, .pptx or PDF, or convert it where the machine has LibreOffice.'

/** Words that follow the name of the file. Undefined: nothing of this is known about the bytes. */
export function explainUnread(bytes: Uint8Array): string | undefined {
  const head = toLatin(bytes.subarray(0, 8))
  if (head === compoundSignature) return explainCompound(toLatin(bytes))
  return head.startsWith(archiveSignature) ? explainArchive(toLatin(bytes)) : undefined
}

const chunkBytes = 8_192

/** One character for each byte. The decoder named latin1 is that of Windows, which changes some bytes. */
function toLatin(bytes: Uint8Array): string {
  const chunks: string[] = []
  for (let at = 0; at < bytes.length; at += chunkBytes)
    chunks.push(String.fromCharCode(...bytes.subarray(at, at + chunkBytes)))
  return chunks.join('')
}

/** Office keeps a protected document as a stream of a compound file. */
function explainCompound(content: string): string | undefined {
  if (['EncryptedPackage', 'EncryptedSummary'].some((name) => content.includes(toWide(name)))) return protectedReason
  return oldFormats.find(([stream]) => content.includes(toWide(stream)))?.[1]
}

/** Names of streams are in UTF-16. */
const toWide = (name: string): string => [...name].map((char) => `${char}\0`).join('')

function explainArchive(content: string): string | undefined {
  const entries = listEntries(content)
  if (entries.some(({ isEncrypted }) => isEncrypted)) return protectedReason
  if (!openDocumentType.test(content.slice(30, 120))) return undefined
  // An encrypted part looks as if it were stored without compression.
  const isProtected = entries.some(
    ({ name, isStored }) => name === 'encrypted-package' || (name === 'content.xml' && isStored),
  )
  return isProtected ? protectedReason : openDocumentReason
}

type ArchiveEntry = { readonly name: string; readonly isEncrypted: boolean; readonly isStored: boolean }

function listEntries(content: string): readonly ArchiveEntry[] {
  const entries: ArchiveEntry[] = []
  const byteAt = (at: number) => content.charCodeAt(at) & 0xff
  for (let at = content.indexOf(directorySignature); at >= 0; at = content.indexOf(directorySignature, at + 4)) {
    const length = byteAt(at + 28) + byteAt(at + 29) * 256
    entries.push({
      name: content.slice(at + 46, at + 46 + length),
      isEncrypted: (byteAt(at + 8) & 1) === 1,
      isStored: byteAt(at + 10) === 0,
    })
  }
  return entries
}

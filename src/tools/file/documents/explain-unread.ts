/** Explains why a file has no text here: it is protected by a password, or of a format without a reader. */

import { type DetectedType, detectMediaType } from '#agent/core/media/detect-media-type.ts'
import { listArchiveEntries, toLatin } from './archive-entries.ts'

const compoundSignature = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'
const archiveSignature = 'PK\x03\x04'
const emptyArchiveSignature = 'PK\x05\x06'
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

/** Office keeps a protected document as a stream of a compound file. */
function explainCompound(content: string): string | undefined {
  if (['EncryptedPackage', 'EncryptedSummary'].some((name) => content.includes(toWide(name)))) return protectedReason
  return oldFormats.find(([stream]) => content.includes(toWide(stream)))?.[1]
}

/** Names of streams are in UTF-16. */
const toWide = (name: string): string => [...name].map((char) => `${char}\0`).join('')

function explainArchive(content: string): string | undefined {
  const entries = listArchiveEntries(content)
  if (entries.some(({ isEncrypted }) => isEncrypted)) return protectedReason
  if (!openDocumentType.test(content.slice(30, 120))) return undefined
  // An encrypted part looks as if it were stored without compression.
  const isProtected = entries.some(
    ({ name, isStored }) => name === 'encrypted-package' || (name === 'content.xml' && isStored),
  )
  return isProtected ? protectedReason : openDocumentReason
}

const archives: readonly (readonly [signature: string, name: string, advice: string])[] = [
  ['\x1f\x8b', 'a gzip archive', 'Unpack it with terminal: tar -xzf where it is a tar archive, else gunzip.'],
  ['7z\xbc\xaf\x27\x1c', 'a 7z archive', 'Ask for it as .zip or .tar.gz, or unpack it where the machine has 7z.'],
  ['Rar!\x1a\x07', 'a RAR archive', 'Ask for it as .zip or .tar.gz, or unpack it where the machine has unrar.'],
  ['\xfd7zXZ\0', 'an xz archive', 'Ask for it as .zip or .tar.gz, or unpack it where the machine has xz.'],
  ['BZh', 'a bzip2 archive', 'Ask for it as .zip or .tar.gz, or unpack it where the machine has bzip2.'],
  ['\x28\xb5\x2f\xfd', 'a zstd archive', 'Ask for it as .zip or .tar.gz, or unpack it where the machine has zstd.'],
]
const tarMark = 'ustar'
const tarMarkAt = 257

/** Words that follow the name of a file that is no text: what it is, and what can be done with it. */
export function explainBinary(bytes: Uint8Array): string {
  if (!bytes.length) return ' is empty.'
  const head = toLatin(bytes.subarray(0, tarMarkAt + tarMark.length))
  if (head.startsWith(archiveSignature) || head.startsWith(emptyArchiveSignature)) return explainZip(bytes)
  if (head.startsWith(tarMark, tarMarkAt)) return ' is a tar archive. Unpack it with terminal: tar -xf.'
  const archive = archives.find(([signature]) => head.startsWith(signature))
  if (archive) return ` is ${archive[1]}. ${archive[2]}`
  const media = detectMediaType(bytes)
  if (media) return explainMedia(media)
  return explainUnread(bytes) ?? ' is binary. Inspect it with terminal: file, xxd, strings. Or ask for it as text.'
}

const explainMedia = ({ mime, extension }: DetectedType): string =>
  mime.startsWith('image/')
    ? ` is a picture of the type ${mime}. Copy it to a name that ends with .${extension} and read that.`
    : ` is a recording of the type ${mime}. Its words are read only when it comes with a message: ask for it in one, or as text.`

const maxNames = 40
const maxNameChars = 100

function explainZip(bytes: Uint8Array): string {
  const known = explainUnread(bytes)
  if (known !== undefined) return known
  const names = listArchiveEntries(toLatin(bytes)).map(({ name }) => name)
  if (!names.length) return ' is a zip archive without entries, or only a part of one. Ask for it again.'
  const shown = names.slice(0, maxNames).map((name) => name.replaceAll(/\p{Cc}/gu, '?').slice(0, maxNameChars))
  const more = names.length > maxNames ? `, and ${names.length - maxNames} more` : ''
  return ` is a zip archive with ${names.length === 1 ? 'one entry' : `${names.length} entries`}: ${shown.join(', ')}${more}. Unpack it with terminal: unzip.`
}

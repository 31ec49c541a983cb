/** Detects the format of a document by its bytes. Its name and the type that a sender declares may be wrong. */

import { listArchiveEntries, toLatin } from './archive-entries.ts'

/** Bytes before the mark of a PDF file, which readers skip. */
const maxPdfOffset = 1_024
const mainFolders = { docx: 'word/', xlsx: 'xl/', pptx: 'ppt/' } as const

/** Undefined for bytes that are no document with a reader. */
export function detectDocument(bytes: Uint8Array): 'pdf' | keyof typeof mainFolders | undefined {
  const head = toLatin(bytes.subarray(0, maxPdfOffset))
  if (head.includes('%PDF-')) return 'pdf'
  if (!head.startsWith('PK\x03\x04')) return undefined
  const entries = listArchiveEntries(toLatin(bytes))
  if (!entries.some(({ name }) => name === '[Content_Types].xml')) return undefined
  const formats = Object.keys(mainFolders) as readonly (keyof typeof mainFolders)[]
  return formats.find((format) => entries.some(({ name }) => name.startsWith(mainFolders[format])))
}

/** Documents that are no text, or text nobody can read, as text; or the reason why not, with what to do. */

import type { ToolResult } from '../../../agent/model/tool.ts'
import { fail } from '../../tool-result.ts'
import type { TextFile } from '../read-text-file.ts'
import { extractDocxText } from './docx-text.ts'
import { extractNotebookText } from './notebook-text.ts'
import { extractPdfText, type DocumentText, type DocumentReader } from './pdf-text.ts'
import { type ZipArchive, openZipArchive } from './zip-archive.ts'
import { extractXlsxText } from './xlsx-text.ts'

const MAX_BYTES = 50 * 1024 * 1024

const OFFICE: Readonly<Record<string, (archive: ZipArchive) => Promise<string | undefined>>> = {
  docx: extractDocxText,
  xlsx: extractXlsxText,
}

/** Formats that are read nowhere here, and what can be done with them. */
const UNREAD: Readonly<Record<string, string>> = {
  doc: 'Old Word files cannot be read here. Ask for it as .docx or text.',
  xls: 'Old Excel files cannot be read here. Ask for it as .xlsx or CSV.',
  pptx: 'Presentations cannot be read here. Ask for the text, or unpack it with other tools.',
}

export type RenderedDocument = TextFile & { readonly format: string }

/** `undefined` for everything that is read as it is. */
export async function readDocument(
  reader: DocumentReader,
  given: string,
): Promise<RenderedDocument | ToolResult | undefined> {
  const { backend } = reader
  const path = backend.resolve(given)
  const format = formatOf(path)
  const stat = isDocument(format) ? await backend.files.stat(path) : undefined
  if (stat?.type !== 'file') return undefined
  const refuse = (why: string): ToolResult =>
    fail(`${given}${why}`, { is_binary: format !== 'ipynb', file_size: stat.size })
  if (UNREAD[format] !== undefined) return refuse(`: ${UNREAD[format]}`)
  if (stat.size > MAX_BYTES) return refuse(' is larger than 50 MB. Split it first.')
  const bytes = (await backend.files.read(path)) ?? new Uint8Array()
  const read = format === 'pdf' ? await extractPdfText(bytes, reader) : await textOf(bytes, format)
  if ('text' in read) return { path, text: read.text, size: bytes.byteLength, format }
  // A damaged notebook is still text; a damaged archive is nothing.
  return format === 'ipynb' ? undefined : refuse(read.wrong)
}

const formatOf = (path: string): string => /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
const isDocument = (format: string): boolean =>
  format === 'ipynb' || format === 'pdf' || format in OFFICE || format in UNREAD

async function textOf(bytes: Uint8Array, format: string): Promise<DocumentText> {
  const isNotebook = format === 'ipynb'
  const text = isNotebook ? extractNotebookText(new TextDecoder().decode(bytes)) : await officeText(bytes, format)
  return text === undefined ? { wrong: ` is not a valid .${format} file.` } : { text }
}

async function officeText(bytes: Uint8Array, format: string): Promise<string | undefined> {
  try {
    const archive = openZipArchive(bytes)
    return archive && (await OFFICE[format]?.(archive))
  } catch (error) {
    // What an archive cannot be unpacked with is a TypeError or RangeError of the platform: it is damaged or too large.
    if (error instanceof TypeError || error instanceof RangeError) return undefined
    throw error
  }
}

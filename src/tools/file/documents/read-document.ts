/** Reads documents (.docx, .xlsx, .pptx, .pdf, notebooks) as text, or returns a failure that names the next step. */

import type { OfficeFormat } from '#agent/core/media/document.ts'
import type { ToolResult } from '#agent/core/tool.ts'
import { fail } from '../../tool-result.ts'
import type { TextFile } from '../read-text-file.ts'
import { extractPdfText, type DocumentText, type DocumentReader } from './pdf-text.ts'

const maxFileBytes = 50 * 1024 * 1024

const officeFormats: ReadonlySet<string> = new Set<OfficeFormat>(['docx', 'xlsx', 'pptx', 'ipynb'])
const isOffice = (format: string): format is OfficeFormat => officeFormats.has(format)

/** Formats without a reader, with the advice for the model. */
const unreadableFormats: Readonly<Record<string, string>> = {
  doc: 'Old Word files cannot be read here. Ask for it as .docx or text.',
  xls: 'Old Excel files cannot be read here. Ask for it as .xlsx or CSV.',
  ppt: 'Old presentations cannot be read here. Ask for it as .pptx or text.',
}

export type RenderedDocument = TextFile & { readonly format: string }

/** Returns undefined for a file that is not a document: the caller reads it as text. */
export async function readDocument(
  reader: DocumentReader,
  requestedPath: string,
): Promise<RenderedDocument | ToolResult | undefined> {
  const { backend } = reader
  const path = backend.resolve(requestedPath)
  const format = extensionOf(path)
  const stat = isDocument(format) ? await backend.files.stat(path) : undefined
  if (stat?.type !== 'file') return undefined
  const failWithReason = (reason: string): ToolResult =>
    fail(`${requestedPath}${reason}`, { is_binary: format !== 'ipynb', file_size: stat.size })
  if (unreadableFormats[format] !== undefined) return failWithReason(`: ${unreadableFormats[format]}`)
  if (stat.size > maxFileBytes) return failWithReason(' is larger than 50 MB. Split it first.')
  const bytes = (await backend.files.read(path)) ?? new Uint8Array()
  const document = isOffice(format) ? await extractText(bytes, format, reader) : await extractPdfText(bytes, reader)
  if ('text' in document) return { path, text: document.text, size: bytes.byteLength, format }
  // A damaged notebook can still be read as text, a damaged archive cannot.
  return format === 'ipynb' ? undefined : failWithReason(document.reason)
}

const extensionOf = (path: string): string => /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
const isDocument = (format: string): boolean => format === 'pdf' || isOffice(format) || format in unreadableFormats

async function extractText(
  bytes: Uint8Array,
  format: OfficeFormat,
  { documents, signal }: DocumentReader,
): Promise<DocumentText> {
  const answer = await documents.office(bytes, format, signal)
  return 'text' in answer ? answer : { reason: refusalReasons[answer.refused](format) }
}

const refusalReasons = {
  damaged: (format: string) => ` is not a valid .${format} file.`,
  stopped: () => ' takes too much time or memory to be read. Split it, or ask for its text.',
  size: () => ' is too large to be read here. Split it, or ask for its text.',
} as const

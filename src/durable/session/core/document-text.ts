/** Extracts the text of PDF files, office documents and notebooks of a workspace. */

import type { OfficeFormat } from '#agent/core/media/document.ts'
import { type DocumentText, extractPdfText } from '#tools/file/documents/pdf-text.ts'
import { withDeadline } from '#durable/platform/timeout.ts'
import type { Session } from '../session.ts'
import { type FileResult, workspaceFiles } from './files.ts'

export type DocumentFormat = OfficeFormat | 'pdf'

const extractTimeoutMs = 60_000

const formats: Readonly<Record<string, DocumentFormat>> = {
  pdf: 'pdf',
  docx: 'docx',
  xlsx: 'xlsx',
  pptx: 'pptx',
  ipynb: 'ipynb',
  'application/pdf': 'pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
}

const unreadReasons = {
  damaged: ' is damaged, or no document of this format. Ask for it again.',
  stopped: ' takes too much time or memory to be read. Split it, or ask for its text.',
  size: ' is too large to be read here. Split it, or ask for its text.',
} as const

/** Undefined for a file that is no document. */
export const documentFormatOf = (path: string, mediaType = ''): DocumentFormat | undefined =>
  formats[mediaType] ?? formats[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '']

/** The text, or words that follow the name of the file and say why there is none. */
export const extractDocument = (session: Session, bytes: Uint8Array, format: DocumentFormat): Promise<DocumentText> =>
  withDeadline(extractTimeoutMs, async (signal) => {
    const { documents, backend } = session.toolRuntime
    if (format === 'pdf') return extractPdfText(bytes, { backend, documents, signal })
    const found = await documents.office(bytes, format, signal)
    if ('text' in found) return found
    const { explainUnread } = await import('#tools/file/documents/explain-unread.ts')
    return { reason: explainUnread(bytes) ?? unreadReasons[found.refused] }
  })

export type DocumentResult =
  | { readonly kind: 'text'; readonly text: string; readonly pages?: number }
  | { readonly kind: 'no-text'; readonly reason: string }

export async function readDocument(session: Session, path: string): Promise<FileResult | DocumentResult> {
  const found = await workspaceFiles(session).read(path)
  if (found.kind !== 'file') return found
  const format = documentFormatOf(path)
  if (!format) return { kind: 'no-text', reason: ' is no document.' }
  const text = await extractDocument(session, found.bytes, format)
  return 'text' in text ? { kind: 'text', ...text } : { kind: 'no-text', reason: text.reason }
}

/** Reads a text file, a document or an image. It limits its own result, so the dispatcher never spills it. */

import * as z from 'zod'
import { assessReads } from '../assess-paths.ts'
import { defineTool } from '../define-tool.ts'
import { readImage } from './read-image.ts'
import { renderNumberedLines, splitLines } from './numbered-lines.ts'
import { failOnBackendError } from '../fail-on-backend-error.ts'
import { isTextFile, readTextFile, type TextFile } from './read-text-file.ts'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import { hash53 } from '#agent/core/hash53.ts'
import type { OfficeFormat } from '#agent/core/media/document.ts'
import type { ToolResult } from '#agent/core/tool.ts'
import { fail } from '../tool-result.ts'
import { type DocumentReader, type DocumentText, extractPdfText } from './documents/pdf-text.ts'

const maxLines = 2000
const maxChars = 100_000
const largeFileBytes = 512 * 1024

const input = z.object({
  path: z.string().min(1),
  offset: z.int().min(1).default(1).describe('First line, 1-based.'),
  limit: z.int().min(1).default(maxLines).describe('Lines, at most 2000.'),
})

export default defineTool({
  name: 'read_file',
  toolset: 'file',
  description:
    'Read a text file of the workspace as lines "N|text"; the numbers are not part of the file. Notebooks, .pdf, .docx, .xlsx and .pptx come as text, images as images where the model sees them. Page with offset and limit. Use this rather than cat, head or sed.',
  input,
  needs: ['backend', 'documents'],
  effect: 'pure',
  maxResultChars: Number.POSITIVE_INFINITY,
  risk: () => 'read',
  assess: ({ path }, { backend }) => assessReads([path], backend),
  touches: ({ path }, { backend }) => [backend.resolve(path)],
  run: ({ path, offset, limit }, { backend, documents, callId, signal, seesImages, maxResultChars = maxChars }) =>
    failOnBackendError(async () => {
      const image = seesImages ? await readImage(backend, path) : undefined
      if (image) return image
      const file = (await readDocument({ backend, documents, signal }, path)) ?? (await readTextFile(backend, path))
      if (!isTextFile(file)) return file
      if (file.bytes) await backend.known?.see(file.path, file.bytes)
      const lines = Math.min(limit, maxLines)
      if (isUnchangedPage(backend, callId, { path: file.path, offset, limit: lines, text: file.text }))
        return unchangedAnswer
      return renderPage(file, { offset, limit: lines, maxChars: Math.min(maxChars, maxResultChars) })
    }),
})

const unchangedAnswer = {
  unchanged: true,
  note: 'This part of the file is as you have read it before, and not repeated. If you no longer have it, read it once more.',
}

type LineRange = { readonly offset: number; readonly limit: number; readonly maxChars: number }

function renderPage(
  { text, size, format, encoding }: TextFile & { readonly format?: string },
  { offset, limit, maxChars: most }: LineRange,
) {
  const lines = splitLines(text)
  const { content, nextLine: next } = renderNumberedLines(lines, offset, limit, most)
  const hint = createHint({ lines: lines.length, offset, next, size })
  return {
    content,
    ...(format !== undefined && { rendered_from: format }),
    ...(encoding !== undefined && { probable_encoding: encoding }),
    total_lines: lines.length,
    file_size: size,
    truncated: next !== undefined,
    ...(next !== undefined && { next_offset: next }),
    ...(hint !== undefined && { hint }),
  }
}

type ReadPosition = {
  readonly lines: number
  readonly offset: number
  readonly next: number | undefined
  readonly size: number
}

function createHint({ lines, offset, next, size }: ReadPosition): string | undefined {
  if (lines === 0) return 'The file is empty.'
  if (offset > lines) return `The file ends at line ${lines}.`
  if (next === undefined) return undefined
  const hint = `Continue with offset ${next}.`
  return size > largeFileBytes
    ? `Large file: find the place with search_files first, then read around it. ${hint}`
    : hint
}

// Remembers which pages of files the model has read, so that read_file can leave out an unchanged page. The memory
// belongs to the backend object of a session. After an eviction every page is shown again.

type EarlierPage = { readonly hash: number; readonly callId: string; readonly wasOmitted: boolean }

const maxPages = 200
const shownPages = new WeakMap<ExecutionBackend, Map<string, EarlierPage>>()

type ShownText = {
  readonly path: string
  readonly offset: number
  readonly limit: number
  readonly text: string
}

/**
 * True when the model has read this page and its last read of it was not left out: a model that reads a page a third
 * time no longer has it in context. A call that runs again after a crash counts as one read.
 */
function isUnchangedPage(backend: ExecutionBackend, callId: string, { path, offset, limit, text }: ShownText): boolean {
  const shown = shownPages.get(backend) ?? new Map<string, EarlierPage>()
  shownPages.set(backend, shown)
  const key = `${offset},${limit},${path}`
  const before = shown.get(key)
  const hash = hash53(text)
  const stubbed = before !== undefined && before.hash === hash && !before.wasOmitted && before.callId !== callId
  shown.delete(key)
  shown.set(key, { hash, callId, wasOmitted: stubbed })
  const [oldest] = shown.keys()
  if (shown.size > maxPages && oldest !== undefined) shown.delete(oldest)
  return stubbed
}

/** A document is held whole, beside what its reader makes of it. */
const maxFileBytes = 20 * 1024 * 1024

const officeFormats: ReadonlySet<string> = new Set<OfficeFormat>(['docx', 'xlsx', 'pptx', 'ipynb'])
const isOffice = (format: string): format is OfficeFormat => officeFormats.has(format)

/** Formats without a reader, with the advice for the model. */
const unreadableFormats: Readonly<Record<string, string>> = {
  doc: 'Old Word files cannot be read here. Ask for it as .docx or text.',
  xls: 'Old Excel files cannot be read here. Ask for it as .xlsx or CSV.',
  ppt: 'Old presentations cannot be read here. Ask for it as .pptx or text.',
}

type RenderedDocument = TextFile & { readonly format: string }

/** Returns undefined for a file that is not a document: the caller reads it as text. */
async function readDocument(
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
  if (stat.size > maxFileBytes) return failWithReason(' is larger than 20 MB. Split it first.')
  const bytes = (await backend.files.read(path)) ?? new Uint8Array()
  if (unreadableFormats[format] !== undefined)
    return failWithReason((await explainUnread(bytes)) ?? `: ${unreadableFormats[format]}`)
  const document = isOffice(format) ? await extractText(bytes, format, reader) : await extractPdfText(bytes, reader)
  if ('text' in document) return { path, text: document.text, size: bytes.byteLength, format }
  // A damaged notebook can still be read as text, a damaged archive cannot.
  return format === 'ipynb' ? undefined : failWithReason(document.reason)
}

const explainUnread = async (bytes: Uint8Array): Promise<string | undefined> =>
  (await import('./documents/explain-unread.ts')).explainUnread(bytes)

const extensionOf = (path: string): string => /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
const isDocument = (format: string): boolean => format === 'pdf' || isOffice(format) || format in unreadableFormats

async function extractText(
  bytes: Uint8Array,
  format: OfficeFormat,
  { documents, signal }: DocumentReader,
): Promise<DocumentText> {
  const answer = await documents.office(bytes, format, signal)
  if ('text' in answer) return answer
  const known = answer.refused === 'damaged' ? await explainUnread(bytes) : undefined
  return { reason: known ?? refusalReasons[answer.refused](format) }
}

const refusalReasons = {
  damaged: (format: string) => ` is not a valid .${format} file.`,
  stopped: () => ' takes too much time or memory to be read. Split it, or ask for its text.',
  size: () => ' is too large to be read here. Split it, or ask for its text.',
} as const

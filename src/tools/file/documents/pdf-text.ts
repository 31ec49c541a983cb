/** Extracts the text of a PDF file page by page. A heading line per page also names unread and missing pages. */

import type { ExecutionBackend } from '../../../agent/model/backend.ts'
import type { Documents, PdfAnswer, PdfRefusal, PdfStop, PdfText } from '../../../agent/model/media/document.ts'

export type DocumentReader = {
  readonly backend: ExecutionBackend
  readonly documents: Documents
  readonly signal: AbortSignal
}

/** The text of a document, or the reason why there is none: words that follow the name of the file. */
export type DocumentText = { readonly text: string } | { readonly reason: string }

/** A PDF file is slow to parse and is read in several pages, so the last texts are cached per session. */
const maxCachedFiles = 2
const cachedTexts = new WeakMap<ExecutionBackend, Map<string, DocumentText>>()

export async function extractPdfText(
  bytes: Uint8Array,
  { backend, documents, signal }: DocumentReader,
): Promise<DocumentText> {
  const cache = cachedTexts.get(backend) ?? new Map<string, DocumentText>()
  cachedTexts.set(backend, cache)
  const key = await hashBytes(bytes)
  const cached = cache.get(key)
  if (cached) return cached
  const answer = await documents.pdf(bytes, signal)
  const text = renderPages(answer)
  // A read that was stopped may succeed later. Other refusals are final for the same bytes.
  if (!('refused' in answer) || answer.refused !== 'stopped') cache.set(key, text)
  const [oldest] = cache.keys()
  if (cache.size > maxCachedFiles && oldest !== undefined) cache.delete(oldest)
  return text
}

async function hashBytes(bytes: Uint8Array): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)
  return String.fromCharCode(...new Uint8Array(hash))
}

const refusalReasons: Readonly<Record<PdfRefusal, string>> = {
  encrypted: ' is encrypted and opens with a password only. Ask for a copy without one.',
  damaged: ' is not a valid .pdf file.',
  stopped: ' takes too much time or memory to be read. Split it, or ask for its text.',
  size: ' is too large to be read here. Split it, or ask for its text.',
}

const scanHint =
  'there are only pictures in it, it is a scan. Where the machine has pdftoppm, make pictures of the pages and look at those; otherwise ask for the text.'

function renderPages(answer: PdfAnswer): DocumentText {
  if ('refused' in answer) return { reason: refusalReasons[answer.refused] }
  const { pages, total, unread } = answer
  if (unread.length === pages.length)
    return { reason: refusalReasons[answer.stopped === 'work' ? 'stopped' : 'damaged'] }
  if (!pages.some(Boolean) && !answer.stopped && unread.length === 0)
    return { reason: ` has ${total} ${total === 1 ? 'page' : 'pages'} without text: ${scanHint}` }
  const parts = pages.map((text, at) => `[Page ${at + 1} of ${total}${pageRemark(answer, at)}]\n${text}`.trimEnd())
  return { text: [...parts, ...renderMissingPages(answer)].join('\n\n') }
}

function pageRemark({ pages, unread }: PdfText, at: number): string {
  if (unread.includes(at + 1)) return ': it could not be read'
  return pages[at] === '' ? ': no text' : ''
}

const stopReasons: Readonly<Record<PdfStop, string>> = {
  pages: 'no more pages of a file are read',
  length: 'no more text of a file is read',
  work: 'they take too much time or memory',
}

function renderMissingPages({ pages, total, stopped }: PdfText): readonly string[] {
  if (stopped === undefined) return []
  return [`[Pages ${pages.length + 1} to ${total} are missing: ${stopReasons[stopped]}. Split the file to read them.]`]
}

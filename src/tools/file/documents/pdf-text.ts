/** Extracts the text of a PDF file page by page. */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { Documents, PdfAnswer, PdfRefusal } from '#agent/core/media/document.ts'
import { renderPdf } from '#agent/core/media/render-pdf.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

export type DocumentReader = {
  readonly backend: ExecutionBackend
  readonly documents: Documents
  readonly signal: AbortSignal
}

/**
 * The text of a document, or the reason why there is none: words that follow the name of the file. `pages`: of a file that
 * a model may read as such.
 */
export type DocumentText = { readonly pages?: number } & ({ readonly text: string } | { readonly reason: string })

/** A PDF file is slow to parse and is read in several pages, so the last texts are cached per session. */
const maxCachedFiles = 2
const cachedTexts = new WeakMap<ExecutionBackend, Map<string, DocumentText>>()

export async function extractPdfText(
  bytes: Uint8Array,
  { backend, documents, signal }: DocumentReader,
): Promise<DocumentText> {
  const cache = cachedTexts.get(backend) ?? new Map<string, DocumentText>()
  cachedTexts.set(backend, cache)
  const key = await sha256Hex(bytes)
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

const refusalReasons: Readonly<Record<PdfRefusal, string>> = {
  encrypted: ' is protected by a password, so it cannot be read here. Ask for a copy without one.',
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
    return { pages: total, reason: ` has ${total} ${total === 1 ? 'page' : 'pages'} without text: ${scanHint}` }
  return { pages: total, text: renderPdf(answer, 'Split the file to read them.') }
}

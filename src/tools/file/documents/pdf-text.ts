/** A PDF file as its pages, with a line in front of each; what was not read is said at its place. */

import type { ExecutionBackend } from '../../../agent/model/backend.ts'
import type { Documents, PdfAnswer, PdfRefusal, PdfStop, PdfText } from '../../../agent/model/document.ts'

export type DocumentReader = {
  readonly backend: ExecutionBackend
  readonly documents: Documents
  readonly signal: AbortSignal
}

/** The text, or what is wrong with the file: words that follow its name. */
export type DocumentText = { readonly text: string } | { readonly wrong: string }

/** Reading takes a while and is asked for page by page: the last texts are kept beside the backend of a session. */
const KEPT = 2
const keptBy = new WeakMap<ExecutionBackend, Map<string, DocumentText>>()

export async function extractPdfText(
  bytes: Uint8Array,
  { backend, documents, signal }: DocumentReader,
): Promise<DocumentText> {
  const kept = keptBy.get(backend) ?? new Map<string, DocumentText>()
  keptBy.set(backend, kept)
  const key = await digest(bytes)
  const known = kept.get(key)
  if (known) return known
  const answer = await documents.pdf(bytes, signal)
  const read = rendered(answer)
  // The same file may be read at another time; it does not get better by itself.
  if (!('refused' in answer) || answer.refused !== 'stopped') kept.set(key, read)
  const [oldest] = kept.keys()
  if (kept.size > KEPT && oldest !== undefined) kept.delete(oldest)
  return read
}

async function digest(bytes: Uint8Array): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)
  return String.fromCharCode(...new Uint8Array(hash))
}

const REFUSALS: Readonly<Record<PdfRefusal, string>> = {
  encrypted: ' is encrypted and opens with a password only. Ask for a copy without one.',
  damaged: ' is not a valid .pdf file.',
  stopped: ' takes too much time or memory to be read. Split it, or ask for its text.',
  size: ' is too large to be read here. Split it, or ask for its text.',
}

const SCAN =
  'there are only pictures in it, it is a scan. Where the machine has pdftoppm, make pictures of the pages and look at those; otherwise ask for the text.'

function rendered(answer: PdfAnswer): DocumentText {
  if ('refused' in answer) return { wrong: REFUSALS[answer.refused] }
  const { pages, total, unread } = answer
  if (unread.length === pages.length) return { wrong: REFUSALS[answer.stopped === 'work' ? 'stopped' : 'damaged'] }
  if (!pages.some(Boolean) && !answer.stopped && unread.length === 0)
    return { wrong: ` has ${total} ${total === 1 ? 'page' : 'pages'} without text: ${SCAN}` }
  const parts = pages.map((text, at) => `[Page ${at + 1} of ${total}${remark(answer, at)}]\n${text}`.trimEnd())
  return { text: [...parts, ...rest(answer)].join('\n\n') }
}

function remark({ pages, unread }: PdfText, at: number): string {
  if (unread.includes(at + 1)) return ': it could not be read'
  return pages[at] === '' ? ': no text' : ''
}

const WHY: Readonly<Record<PdfStop, string>> = {
  pages: 'no more pages of a file are read',
  length: 'no more text of a file is read',
  work: 'they take too much time or memory',
}

function rest({ pages, total, stopped }: PdfText): readonly string[] {
  if (stopped === undefined) return []
  return [`[Pages ${pages.length + 1} to ${total} are missing: ${WHY[stopped]}. Split the file to read them.]`]
}

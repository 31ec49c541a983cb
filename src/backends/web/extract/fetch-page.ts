/** Reads the page of an address by a request of our own. */

import type { ScheduleTimer } from '#agent/core/clock.ts'
import type { Documents } from '#agent/core/media/document.ts'
import { renderPdf } from '#agent/core/media/render-pdf.ts'
import { charsetOf, decodeText } from '../decode-text.ts'
import type { PageReader } from '../page/page.ts'
import type { WebSend } from '../web-send.ts'
import { type ContentKind, detectContent } from './detect-content.ts'

export type FetchedPage = {
  /** After redirects. */
  readonly url: string
  readonly title: string
  readonly content: string
  readonly error?: string
  /** A browser or a vendor may read more of it. */
  readonly needsHelp?: true
}

type Ports = {
  readonly userAgent: string
  readonly send: WebSend
  readonly readPage: PageReader
  readonly documents: Documents
  readonly schedule: ScheduleTimer
}
type PageFetch = { readonly url: string; readonly signal: AbortSignal }

const headersTimeoutMs = 15_000
const timeoutMs = 30_000

const headers = {
  accept: 'text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, */*;q=0.5',
  'accept-language': 'en, *;q=0.5',
}

/** Refusals of servers that expect a browser. */
const refusals: ReadonlySet<number> = new Set([401, 403, 406, 429, 451, 503])

const statusTexts: Readonly<Record<number, string>> = {
  204: 'the server sent no content',
  401: 'the page needs a login',
  403: 'the server refuses the request',
  404: 'there is no such page',
  407: 'a proxy refuses the request',
  410: 'the page was removed',
  429: 'the server limits requests',
  451: 'the page is not available for legal reasons',
}

export async function fetchPage({ url, signal }: PageFetch, ports: Ports): Promise<FetchedPage> {
  const late = new AbortController()
  const abortAfter = (ms: number) =>
    ports.schedule(ms, () => late.abort(new DOMException(`nothing for ${ms} ms`, 'TimeoutError')))
  const cancelHeadersTimer = abortAfter(headersTimeoutMs)
  const cancelTimer = abortAfter(timeoutMs)
  try {
    const send = ports.send({
      url,
      headers: { ...headers, 'user-agent': ports.userAgent },
      follow: true,
      timeoutMs,
      signal: AbortSignal.any([signal, late.signal]),
    })
    const { response, url: last } = await send.finally(cancelHeadersTimer)
    if (response.status === 204 || !response.ok) {
      await response.body?.cancel()
      return describeRefusal(response, last)
    }
    const body = await readBody(response, last)
    cancelTimer()
    return await render(body, response, { url: last, signal }, ports)
  } finally {
    cancelTimer()
  }
}

const describeStatus = (status: number): string =>
  `Status ${status}: ${statusTexts[status] ?? (status < 400 ? 'the server names no other address' : 'the server failed')}`

/** An answer of a server that a browser or a vendor has read: its text is no content of the page. */
export const refusedStatus = (status: unknown): { readonly error: string } | undefined =>
  typeof status === 'number' && status >= 400 && status < 600 ? { error: `${describeStatus(status)}.` } : undefined

function describeRefusal({ status, headers: answered }: Response, url: string): FetchedPage {
  const after = answered.get('retry-after')?.slice(0, 40)
  const error = `${describeStatus(status)}${after ? `, and asks to wait until ${after}` : ''}.`
  return { url, title: '', content: '', error, ...(refusals.has(status) && { needsHelp: true }) }
}

const unreadable: Partial<Record<ContentKind, string>> = {
  image: 'The address is an image. Use vision_analyze.',
  media: 'The address is sound or video, which is not read.',
  archive: 'The address is an archive, which is not read.',
  binary: 'The address is a binary file, which is not read.',
}

async function render(found: WebContent, response: Response, request: PageFetch, ports: Ports): Promise<FetchedPage> {
  const { kind, bytes, isCut } = found
  const charset = charsetOf(response.headers.get('content-type') ?? '')
  const reason = unreadable[kind]
  if (reason !== undefined) return failed(request.url, reason)
  if (kind === 'html') return renderHtml(found, charset, request, ports)
  if (kind !== 'pdf' && kind !== 'docx' && kind !== 'xlsx' && kind !== 'pptx')
    return renderText(request.url, decodeText(bytes, charset), isCut)
  if (isCut) return failed(request.url, 'The document is larger than 10 MB, and was not read.')
  return renderDocument(kind, bytes, request, ports)
}

const failed = (url: string, error: string): FetchedPage => ({ url, title: '', content: '', error })

function renderText(url: string, text: string, isCut: boolean): FetchedPage {
  if (text.trim() === '') return failed(url, 'The address has no content.')
  return { url, title: '', content: isCut ? `${text}\n\n[Only the first 10 MB were read.]` : text }
}

async function renderHtml(
  { bytes, isCut }: WebContent,
  charset: string | undefined,
  { url, signal }: PageFetch,
  { readPage }: Ports,
): Promise<FetchedPage> {
  const page = await readPage(bytes, { url, ...(charset !== undefined && { charset }) }, signal)
  if ('refused' in page) return { ...failed(url, 'The page takes too much time or memory to read.'), needsHelp: true }
  const notes = [
    ...(page.date ? [`[Published ${page.date}]`] : []),
    ...(page.refresh ? [`[The page sends browsers on to ${page.refresh}]`] : []),
  ]
  const content = [...notes, page.markdown, ...(isCut ? ['[Only the first 2 MB of the page were read.]'] : [])]
    .filter(Boolean)
    .join('\n\n')
  const result = { url, title: page.title, content }
  if (page.needsScript)
    return {
      ...result,
      needsHelp: true,
      error: 'The page shows its content only with scripts, which need a browser, such as browser_navigate.',
    }
  return content ? result : { ...result, error: 'The page has no text.' }
}

const refusalTexts = {
  encrypted: 'is encrypted',
  damaged: 'is damaged',
  stopped: 'takes too much time or memory',
  size: 'is too large',
} as const

async function renderDocument(
  kind: 'pdf' | 'docx' | 'xlsx' | 'pptx',
  bytes: Uint8Array,
  { url, signal }: PageFetch,
  { documents }: Ports,
): Promise<FetchedPage> {
  const answer = kind === 'pdf' ? await documents.pdf(bytes, signal) : await documents.office(bytes, kind, signal)
  if ('refused' in answer)
    return { url, title: '', content: '', error: `The document ${refusalTexts[answer.refused]}.` }
  if ('text' in answer) return { url, title: '', content: answer.text }
  const isEmpty = answer.pages.every((text) => text.trim() === '')
  return {
    url,
    title: '',
    content: renderPdf(answer),
    ...(isEmpty && { error: 'The document has no text; its pages may be images.' }),
  }
}

type WebContent = {
  readonly kind: ContentKind
  readonly bytes: Uint8Array<ArrayBuffer>
  /** More followed, and was not read. */
  readonly isCut: boolean
}

const maxBytes = 10 * 1024 * 1024
const maxHtmlBytes = 2 * 1024 * 1024
const sniffedBytes = 1_024

/** Reads the body of a response up to a limit that depends on what its first bytes are. */
async function readBody(response: Response, url: string): Promise<WebContent> {
  const contentType = response.headers.get('content-type') ?? ''
  const name = URL.parse(url)?.pathname ?? ''
  const parts: Uint8Array[] = []
  let [size, limit] = [0, maxBytes]
  const body = (response.body ?? new Response('').body) as ReadableStream<Uint8Array>
  const reader = body.getReader()
  while (size <= limit) {
    const { done, value } = await reader.read()
    if (done) break
    parts.push(value)
    const wasKnown = size >= sniffedBytes
    size += value.byteLength
    if (!wasKnown && size >= sniffedBytes) limit = limitOf(detectContent(join(parts, sniffedBytes), contentType, name))
  }
  // Without this, the rest would be sent until the time is over.
  if (size > limit) await reader.cancel().catch(() => undefined)
  const bytes = join(parts, Math.min(size, limit))
  return { kind: detectContent(bytes, contentType, name), bytes, isCut: size > limit }
}

const limitOf = (kind: ContentKind): number => (kind === 'html' ? maxHtmlBytes : maxBytes)

function join(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    if (at >= size) break
    joined.set(part.subarray(0, size - at), at)
    at += part.byteLength
  }
  return joined
}

/**
 * Reads the page of an address: by a request of our own, and where that needs a browser or is refused, by the browser or
 * a vendor. Never rejects.
 */

import type { ScheduleTimer } from '#agent/core/clock.ts'
import type { Documents } from '#agent/core/media/document.ts'
import type { PageResult } from '#agent/core/vendor/web.ts'
import type { ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import { chooseExtract } from '#agent/routing/search-choice.ts'
import { callVendor } from '../call-vendor.ts'
import type { PageReader } from '../page/page.ts'
import { removeInvisible } from '../remove-invisible.ts'
import { describeError, isBlocked, type WebSend } from '../web-send.ts'
import { type ExtractedPage, findExtractVendor } from './extract-vendors.ts'
import { type FetchedPage, fetchPage, refusedStatus } from './fetch-page.ts'
export { openPageReader } from '../page/page.ts'
export { answerFromPage } from './answer-from-page.ts'

export type ExtractContext = {
  readonly deployment: ToolDeployment
  /** Names the agent and how to reach its operator. */
  readonly userAgent: string
  readonly send: WebSend
  /** Judges an address as `send` does, for those that a vendor or browser calls: the reason why it may not be called. */
  readonly checkAddress: (url: string) => Promise<string | undefined>
  readonly readPage: PageReader
  readonly documents: Documents
  readonly schedule: ScheduleTimer
  /** Shows a page in a browser, as Markdown, or names the error of its server. Undefined: there is no browser, or it failed. */
  readonly renderPage: (url: string, signal: AbortSignal) => Promise<RenderedPage | undefined>
  /** Answers the question of the model from a long text. Undefined: no model could. */
  readonly answer?: (text: string) => Promise<string | undefined>
  /** Stores a long text as a file and returns its path. */
  readonly store: (text: string) => Promise<string>
}

type RenderedPage = ExtractedPage | { readonly status: number }

export type ExtractRequest = { readonly url: string; readonly maxChars: number; readonly signal: AbortSignal }

const vendorTimeoutMs = 120_000
const maxTitleChars = 500

export async function extractPage(request: ExtractRequest, context: ExtractContext): Promise<PageResult> {
  const { url } = request
  try {
    const found = await readAddress(request, context)
    const { title, content, error } = found
    return {
      url: found.url ?? url,
      title: removeInvisible(title).slice(0, maxTitleChars),
      content: await shortenPage(removeInvisible(content), request.maxChars, context),
      ...(error !== undefined && { error }),
    }
  } catch (error) {
    const text = describeError(error)
    return isBlocked(error) ? { ...failure(url, text), isBlocked: true } : failure(url, text)
  }
}

const failure = (url: string, error: string): PageResult => ({ url, title: '', content: '', error })

type ExtractionResult = ExtractedPage & { readonly error?: string }

async function readAddress(request: ExtractRequest, context: ExtractContext): Promise<ExtractionResult> {
  const choice = chooseExtract(context.deployment)
  if (choice.kind === 'unusable') return { title: '', content: '', error: choice.reason }
  if (choice.first !== undefined) {
    await requireAllowed(request.url, context)
    return askVendor(choice.first, request, context)
  }
  const page = await fetchPage(request, context)
  if (!page.needsHelp) return page
  return (await readOtherwise(page, choice.afterwards, request, context)) ?? page
}

/** Undefined when neither the browser nor a vendor reads the page. */
async function readOtherwise(
  page: FetchedPage,
  vendors: readonly string[],
  request: ExtractRequest,
  context: ExtractContext,
): Promise<ExtractionResult | undefined> {
  const rendered = await context.renderPage(page.url, request.signal)
  if (rendered && 'content' in rendered && rendered.content.trim() !== '') return requireFinal(rendered, context)
  for (const id of vendors) {
    const found = await askVendor(id, { ...request, url: page.url }, context)
    if (found.error === undefined) return found
  }
  // A page that comes with a refusal is no content.
  const refused = rendered && 'status' in rendered && refusedStatus(rendered.status)
  return refused ? { url: page.url, title: '', content: '', ...refused } : undefined
}

async function askVendor(
  id: string,
  { url, signal }: ExtractRequest,
  context: ExtractContext,
): Promise<ExtractionResult> {
  const { deployment, send } = context
  const vendor = findExtractVendor(id)
  const { baseUrl, keys } = deployment.vendor(id)
  const failed = (detail: string): ExtractionResult => ({
    title: '',
    content: '',
    error: `${id} could not read the page: ${detail}.`,
  })
  if (!vendor) return failed('it is not known')
  let detail = 'it has no key'
  for (const key of keys) {
    const answer = await callVendor(vendor.request({ baseUrl, key }, url), { send, signal, timeoutMs: vendorTimeoutMs })
    if (answer.kind === 'answered') {
      const page = vendor.parse(answer.body)
      if (!page) return failed('it answered in an unknown form')
      return 'error' in page ? failed(page.error.replace(/\.$/, '').slice(0, 300)) : requireFinal(page, context)
    }
    detail = answer.detail
    if (answer.kind === 'failed') break
  }
  return failed(detail)
}

/** The final address of a vendor or browser may be an address that we would not have called. */
async function requireFinal(page: ExtractedPage, context: ExtractContext): Promise<ExtractedPage> {
  if (page.url !== undefined) await requireAllowed(page.url, context)
  return page
}

class BlockedPage extends Error {
  override readonly name = 'BlockedAddress'
}

async function requireAllowed(url: string, { checkAddress }: ExtractContext): Promise<void> {
  const reason = await checkAddress(url)
  if (reason !== undefined) throw new BlockedPage(`${url.slice(0, 500)} may not be called: ${reason}`)
}

// Shortens the text of a page: its head and its tail, cut at ends of lines, and where the full text is.

const headShare = 0.75
const maxStoredChars = 2_000_000

async function shortenPage(
  text: string,
  maxChars: number,
  { store, answer }: Pick<ExtractContext, 'store' | 'answer'>,
): Promise<string> {
  if (text.length <= maxChars) return text
  const [path, found] = await Promise.all([store(text.slice(0, maxStoredChars)), answer?.(text)])
  if (found !== undefined)
    return `${found.slice(0, maxChars)}\n\n[Another model has answered from ${text.length} characters. The full text is in ${path}.]`
  const head = beforeLineEnd(text.slice(0, Math.floor(maxChars * headShare)))
  const tail = afterLineEnd(text.slice(-Math.ceil(maxChars * (1 - headShare))))
  const left = text.length - head.length - tail.length
  return `${head}\n\n[… ${left} of ${text.length} characters are left out here …]\n\n${tail}\n\n[The full text is in ${path}. Read the part left out with read_file.]`
}

/** The last or first line is only cut when it is most of the text. */
function beforeLineEnd(text: string): string {
  const at = text.lastIndexOf('\n')
  return at > text.length / 2 ? text.slice(0, at) : text
}

function afterLineEnd(text: string): string {
  const at = text.indexOf('\n')
  return at >= 0 && at < text.length / 2 ? text.slice(at + 1) : text
}

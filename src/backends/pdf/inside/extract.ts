/**
 * Extracts the text of a PDF file page by page. Files are untrusted: pages, characters, time and steps are limited, and
 * the reader yields between and within pages. PDF.js is patched for that (scripts/lib/pdfjs.mjs): `work` counts its
 * steps and can end it. `work` is shared by the whole module, so only one file is read at a time.
 */

import { getDocument, type PdfDocument, type PdfItem, type PdfPage, type PdfTask, work } from 'pdfjs'
import type { PdfAnswer, PdfRefusal, PdfStop } from '#agent/core/media/document.ts'

export type PdfLimits = {
  readonly pages: number
  readonly characters: number
  /** Time in total; the clock may only advance at pauses. */
  readonly ms: number
  /** Steps of loops and functions between two pauses: about half a second. */
  readonly steps: number
}

/** The clock and timer of the platform. */
export type ExtractPlatform = { readonly now: () => number; readonly wait: (ms: number) => Promise<void> }

type ExtractedPdf = { total: number; readonly pages: string[]; readonly unread: number[] }

/** After this time beyond its limit, another read is assumed to have ended with its Durable Object. */
const lockGraceMs = 5_000
const pollMs = 50
let lockedUntil = 0

export async function extract(bytes: Uint8Array, limits: PdfLimits, platform: ExtractPlatform): Promise<PdfAnswer> {
  while (platform.now() < lockedUntil) await platform.wait(pollMs)
  const lockEnd = platform.now() + limits.ms + lockGraceMs
  lockedUntil = lockEnd
  try {
    return await read(bytes, limits, platform)
  } finally {
    if (lockedUntil === lockEnd) lockedUntil = 0
  }
}

async function read(bytes: Uint8Array, limits: PdfLimits, platform: ExtractPlatform): Promise<PdfAnswer> {
  const hold = createYield(limits, platform)
  const over = work.begin(limits.steps, hold)
  const reading: ExtractedPdf = { total: 0, pages: [], unread: [] }
  const task = open(bytes)
  try {
    const stopped = await Promise.race([readPages(task, reading, limits, hold), over.then(() => 'work' as const)])
    if (stopped === 'work' && reading.pages.length === 0) return { refused: 'stopped' }
    return { ...reading, ...(stopped && { stopped }) }
  } catch (error) {
    return { refused: getRefusal(error) }
  } finally {
    work.end()
    await Promise.race([task.destroy().catch(() => undefined), platform.wait(pollMs)])
  }
}

/** Does not render fonts, run scripts or fetch external resources. */
function open(data: Uint8Array): PdfTask {
  // Without a password listener, an encrypted file fails with a `PasswordException`.
  return getDocument({
    data,
    verbosity: 0,
    disableFontFace: true,
    useSystemFonts: true,
    useWorkerFetch: false,
    isOffscreenCanvasSupported: false,
    isImageDecoderSupported: false,
    disableAutoFetch: true,
    disableStream: true,
  })
}

/** Returns a function that yields to other tasks, and ends the work after the time limit. */
function createYield({ ms }: PdfLimits, { now, wait }: ExtractPlatform): () => Promise<void> {
  const deadline = now() + ms
  return async () => {
    await wait(0)
    if (now() > deadline) work.end()
    work.rest()
  }
}

const getRefusal = (error: unknown): PdfRefusal => {
  if (work.over) return 'stopped'
  return (error as Error).name === 'PasswordException' ? 'encrypted' : 'damaged'
}

async function readPages(
  task: PdfTask,
  reading: ExtractedPdf,
  limits: PdfLimits,
  hold: () => Promise<void>,
): Promise<PdfStop | undefined> {
  const document = await task.promise
  reading.total = document.numPages
  let left = limits.characters
  for (let number = 1; number <= document.numPages; number++) {
    if (number > limits.pages) return 'pages'
    if (left <= 0) return 'length'
    await hold()
    const text = await renderText(document, number, left)
    if (work.over) return 'work'
    if (text === undefined) reading.unread.push(number)
    reading.pages.push(text ?? '')
    left -= text?.length ?? 0
  }
  return undefined
}

/** Returns undefined when the page is damaged or takes too many steps. */
async function renderText(document: PdfDocument, number: number, maxChars: number): Promise<string | undefined> {
  try {
    const page = await document.getPage(number)
    const text = await readText(page, maxChars)
    page.cleanup()
    return normalizeText(text).slice(0, maxChars)
  } catch {
    return undefined
  }
}

async function readText(page: PdfPage, maxChars: number): Promise<string> {
  const reader = page.streamTextContent().getReader()
  let text = ''
  while (text.length <= maxChars) {
    const { done, value } = await reader.read()
    if (done) return text
    text += value.items.map(renderItem).join('')
  }
  await reader.cancel(new Error('enough'))
  return text
}

const renderItem = ({ str = '', hasEOL = false }: PdfItem): string => (hasEOL ? `${str}\n` : str)

/** Removes control characters, trailing spaces and repeated empty lines. */
const normalizeText = (text: string): string =>
  text
    // oxlint-disable-next-line no-control-regex -- fonts without a map of characters give their codes
    .replace(/[\u0000-\u0008\u000B-\u001F\u007F\uFFFE\uFFFF]/g, '')
    .replace(/[^\S\n]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()

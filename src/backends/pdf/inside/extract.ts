/**
 * The text of a PDF file, page by page. Files come from strangers: pages, characters, time and steps are bounded, and
 * between pages, and within long ones, others get their turn. PDF.js is changed for that when it is bundled
 * (scripts/lib/pdfjs.mjs): `work` counts its steps, and once it is over, everything in it ends. It is one for all that
 * share this module: they take turns.
 */

import { getDocument, type PdfDocument, type PdfItem, type PdfPage, type PdfTask, work } from 'pdfjs'
import type { PdfAnswer, PdfRefusal, PdfStop } from '../../../agent/model/document.ts'

export type PdfLimits = {
  readonly pages: number
  readonly characters: number
  /** Milliseconds in all; the clock moves with the pauses at the latest. */
  readonly ms: number
  /** Steps of loops and functions between two pauses: about half a second. */
  readonly steps: number
}

/** What it runs in: nothing of the platform is known here. */
export type Surroundings = { readonly now: () => number; readonly wait: (ms: number) => Promise<void> }

type Reading = { total: number; readonly pages: string[]; readonly unread: number[] }

/** Beyond its time, somebody else's reading has died with its object. */
const PATIENCE_MS = 5_000
const LOOK_MS = 50
let taken = 0

export async function extract(bytes: Uint8Array, limits: PdfLimits, around: Surroundings): Promise<PdfAnswer> {
  while (around.now() < taken) await around.wait(LOOK_MS)
  const mine = around.now() + limits.ms + PATIENCE_MS
  taken = mine
  try {
    return await read(bytes, limits, around)
  } finally {
    if (taken === mine) taken = 0
  }
}

async function read(bytes: Uint8Array, limits: PdfLimits, around: Surroundings): Promise<PdfAnswer> {
  const hold = holdFor(limits, around)
  const over = work.begin(limits.steps, hold)
  const reading: Reading = { total: 0, pages: [], unread: [] }
  const task = open(bytes)
  try {
    const stopped = await Promise.race([readPages(task, reading, limits, hold), over.then(() => 'work' as const)])
    if (stopped === 'work' && reading.pages.length === 0) return { refused: 'stopped' }
    return { ...reading, ...(stopped && { stopped }) }
  } catch (error) {
    return { refused: refusalOf(error) }
  } finally {
    work.end()
    await Promise.race([task.destroy().catch(() => undefined), around.wait(LOOK_MS)])
  }
}

/** Fonts are not drawn, scripts are not run, and what a file refers to elsewhere is not asked for. */
function open(data: Uint8Array): PdfTask {
  // Nobody is there to be asked for a password: without a listener, opening ends with a `PasswordException`.
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

/** Lets others have their turn, and ends everything when the time is up. */
function holdFor({ ms }: PdfLimits, { now, wait }: Surroundings): () => Promise<void> {
  const deadline = now() + ms
  return async () => {
    await wait(0)
    if (now() > deadline) work.end()
    work.rest()
  }
}

const refusalOf = (error: unknown): PdfRefusal => {
  if (work.over) return 'stopped'
  return (error as Error).name === 'PasswordException' ? 'encrypted' : 'damaged'
}

async function readPages(
  task: PdfTask,
  reading: Reading,
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
    const text = await textOf(document, number, left)
    if (work.over) return 'work'
    if (text === undefined) reading.unread.push(number)
    reading.pages.push(text ?? '')
    left -= text?.length ?? 0
  }
  return undefined
}

/** `undefined`: it is damaged, or too much work. */
async function textOf(document: PdfDocument, number: number, most: number): Promise<string | undefined> {
  try {
    const page = await document.getPage(number)
    const text = await printed(page, most)
    page.cleanup()
    return tidy(text).slice(0, most)
  } catch {
    return undefined
  }
}

async function printed(page: PdfPage, most: number): Promise<string> {
  const reader = page.streamTextContent().getReader()
  let text = ''
  while (text.length <= most) {
    const { done, value } = await reader.read()
    if (done) return text
    text += value.items.map(shown).join('')
  }
  await reader.cancel(new Error('enough'))
  return text
}

const shown = ({ str = '', hasEOL = false }: PdfItem): string => (hasEOL ? `${str}\n` : str)

/** No codes that are no text, no spaces at the ends of lines, no more than one empty line. */
const tidy = (text: string): string =>
  text
    // oxlint-disable-next-line no-control-regex -- fonts without a map of characters give their codes
    .replace(/[\u0000-\u0008\u000B-\u001F\u007F\uFFFE\uFFFF]/g, '')
    .replace(/[^\S\n]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()

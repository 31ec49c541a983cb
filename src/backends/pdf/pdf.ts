/**
 * Extracts the text of PDF files, each in a new isolate, or inside the Durable Object when there is no Worker Loader.
 * Always resolves with an answer, even when the isolate crashes.
 */

import { log } from '#agent/core/log.ts'
import type { Documents, PdfAnswer } from '#agent/core/media/document.ts'
import { inlinePdf, pdfCode } from '../modules.ts'
import { limitConcurrency } from '../limit-concurrency.ts'
import { openOffice } from '../office/office.ts'
import type { ReadPdf } from './protocol.ts'

const isolateLimits = { cpuMs: 30_000, subRequests: 10 }
const defaultTimeoutMs = 20_000
/** Additional time for the isolate to report its own timeout. */
const graceMs = 10_000
/** Limit without an isolate, where the file and its text share 128 MB with everything else. */
const maxInlineBytes = 8 * 1024 * 1024
/** Concurrent isolates of one Durable Object: the platform allows ten, and others need some. */
const maxConcurrent = 1

export type DocumentsOptions = { readonly loader?: WorkerLoader | undefined; readonly timeoutMs?: number }

export function openDocuments({ loader, timeoutMs = defaultTimeoutMs }: DocumentsOptions): Documents {
  const limited = limitConcurrency(maxConcurrent)
  return {
    office: openOffice(loader),
    async pdf(bytes, signal) {
      if (!loader && bytes.byteLength > maxInlineBytes) return { refused: 'size', maxBytes: maxInlineBytes }
      return limited(async () => {
        const deadline = startDeadline(timeoutMs + graceMs, signal)
        const reading = read(bytes, timeoutMs, loader).catch(reportCrash)
        return Promise.race([reading, deadline.reached]).finally(deadline.clear)
      })
    },
  }
}

const createStoppedAnswer = (): PdfAnswer => ({ refused: 'stopped' })

/** Logs that the platform ended the isolate, which used too much time or memory. */
function reportCrash(error: unknown): PdfAnswer {
  log.error('isolate.crashed', 'The isolate that reads a PDF file crashed.', { error })
  return createStoppedAnswer()
}

async function read(bytes: Uint8Array, timeoutMs: number, loader: WorkerLoader | undefined): Promise<PdfAnswer> {
  const reader = loader ? await loadIsolate(loader) : await loadInline()
  return reader(streamOf(bytes), timeoutMs)
}

function startDeadline(ms: number, signal: AbortSignal) {
  let onEnd = (): void => {}
  const reached = new Promise<PdfAnswer>((resolve) => (onEnd = () => resolve(createStoppedAnswer())))
  const timer = setTimeout(onEnd, ms)
  signal.addEventListener('abort', onEnd, { once: true })
  if (signal.aborted) onEnd()
  const clear = (): void => {
    clearTimeout(timer)
    signal.removeEventListener('abort', onEnd)
  }
  return { reached, clear }
}

/** As a stream, because a file may be larger than one RPC message. */
const streamOf = (bytes: Uint8Array) =>
  new Response(bytes as Uint8Array<ArrayBuffer>).body as ReadableStream<Uint8Array>

async function loadInline(): Promise<ReadPdf> {
  return (await inlinePdf()).read
}

type ReaderEntrypoint = { readonly read: ReadPdf }

async function loadIsolate(loader: WorkerLoader): Promise<ReadPdf> {
  const code = await pdfCode()
  const worker = loader.load({
    compatibilityDate: '2026-10-20',
    compatibilityFlags: ['nodejs_compat'],
    mainModule: 'pdf.js',
    modules: { 'pdf.js': code },
    globalOutbound: null,
    limits: isolateLimits,
  })
  const entry = worker.getEntrypoint('Reader') as unknown as ReaderEntrypoint
  // Copied, because RPC results are disposed with the call.
  return async (stream, timeoutMs) => structuredClone(await entry.read(stream, timeoutMs))
}

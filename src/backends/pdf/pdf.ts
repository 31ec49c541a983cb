/**
 * PDF files as text: each is read in an isolate of its own that is thrown away, or in the object itself where there
 * is no loader. The caller always gets an answer, even of a reader that died.
 */

import type { Documents, PdfAnswer } from '../../agent/model/document.ts'
import { inlinePdf, pdfCode } from '../modules.ts'
import { limitConcurrency } from '../limit-concurrency.ts'
import type { ReadPdf } from './protocol.ts'

const ISOLATE_LIMITS = { cpuMs: 30_000, subRequests: 10 }
const TIMEOUT_MS = 20_000
/** What a reader gets beyond its time before it is given up: it has its own clock and should answer first. */
const PATIENCE_MS = 10_000
/** In the object itself the file and what is read of it share 128 MB with everything else. */
const MAX_INLINE = 8 * 1024 * 1024
/** Isolates of one object that may be busy at a time: the platform allows ten, and others need some. */
const MOST_AT_ONCE = 1

export type DocumentsOptions = { readonly loader?: WorkerLoader | undefined; readonly timeoutMs?: number }

export function openDocuments({ loader, timeoutMs = TIMEOUT_MS }: DocumentsOptions): Documents {
  const turns = limitConcurrency(MOST_AT_ONCE)
  return {
    async pdf(bytes, signal) {
      if (!loader && bytes.byteLength > MAX_INLINE) return { refused: 'size', most: MAX_INLINE }
      return turns(async () => {
        const giveUp = deadline(timeoutMs + PATIENCE_MS, signal)
        const reading = read(bytes, timeoutMs, loader).catch(died)
        return Promise.race([reading, giveUp.reached]).finally(giveUp.clear)
      })
    },
  }
}

const stopped = (): PdfAnswer => ({ refused: 'stopped' })

/** The platform ended it: too much time or memory. */
function died(error: unknown): PdfAnswer {
  console.error('The reader of PDF files died.', error)
  return stopped()
}

async function read(bytes: Uint8Array, timeoutMs: number, loader: WorkerLoader | undefined): Promise<PdfAnswer> {
  const reader = loader ? await isolated(loader) : await inline()
  return reader(streamOf(bytes), timeoutMs)
}

function deadline(ms: number, signal: AbortSignal) {
  let onEnd = (): void => {}
  const reached = new Promise<PdfAnswer>((resolve) => (onEnd = () => resolve(stopped())))
  const timer = setTimeout(onEnd, ms)
  signal.addEventListener('abort', onEnd, { once: true })
  if (signal.aborted) onEnd()
  const clear = (): void => {
    clearTimeout(timer)
    signal.removeEventListener('abort', onEnd)
  }
  return { reached, clear }
}

/** A file may be larger than one message between isolates. */
const streamOf = (bytes: Uint8Array) =>
  new Response(bytes as Uint8Array<ArrayBuffer>).body as ReadableStream<Uint8Array>

async function inline(): Promise<ReadPdf> {
  return (await inlinePdf()).read
}

type ReaderEntrypoint = { readonly read: ReadPdf }

async function isolated(loader: WorkerLoader): Promise<ReadPdf> {
  const code = await pdfCode()
  const worker = loader.load({
    compatibilityDate: '2026-10-20',
    compatibilityFlags: ['nodejs_compat'],
    mainModule: 'pdf.js',
    modules: { 'pdf.js': code },
    globalOutbound: null,
    limits: ISOLATE_LIMITS,
  })
  const entry = worker.getEntrypoint('Reader') as unknown as ReaderEntrypoint
  // A copy: what comes over RPC is disposed of with the call.
  return async (stream, timeoutMs) => structuredClone(await entry.read(stream, timeoutMs))
}

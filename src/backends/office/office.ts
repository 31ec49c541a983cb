/**
 * Extracts the text of office documents and notebooks, each in a new isolate, or inside the Durable Object when there is
 * no Worker Loader. Always resolves with an answer, even when the isolate crashes.
 */

import { log } from '#agent/core/log.ts'
import type { Documents, OfficeAnswer } from '#agent/core/media/document.ts'
import { limitConcurrency } from '../limit-concurrency.ts'
import { inlineOffice, officeCode } from '../modules.ts'
import type { ReadOffice } from './protocol.ts'

const isolateLimits = { cpuMs: 20_000, subRequests: 10 }
const timeoutMs = 30_000
/** Limit without an isolate, where the file and its text share 128 MB with everything else. */
const maxInlineBytes = 8 * 1024 * 1024
/** Concurrent isolates of one Durable Object: the platform allows ten, and others need some. */
const maxConcurrent = 1

export function openOffice(loader: WorkerLoader | undefined): Documents['office'] {
  const limited = limitConcurrency(maxConcurrent)
  return async (bytes, format, signal) => {
    if (!loader && bytes.byteLength > maxInlineBytes) return { refused: 'size' }
    return limited(async () => {
      const read = loader ? await loadIsolate(loader) : (await inlineOffice()).read
      return withDeadline(read(streamOf(bytes), format).catch(reportCrash), signal)
    })
  }
}

/** Logs that the platform ended the isolate, which used too much time or memory. */
function reportCrash(error: unknown): OfficeAnswer {
  log.error('isolate.crashed', 'The isolate that reads a document crashed.', { error })
  return { refused: 'stopped' }
}

async function withDeadline(reading: Promise<OfficeAnswer>, signal: AbortSignal): Promise<OfficeAnswer> {
  const { promise: reached, resolve } = Promise.withResolvers<OfficeAnswer>()
  const stop = () => resolve({ refused: 'stopped' })
  const timer = setTimeout(stop, timeoutMs)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  return Promise.race([reading, reached]).finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  })
}

/** As a stream, because a file may be larger than one RPC message. */
const streamOf = (bytes: Uint8Array) =>
  new Response(bytes as Uint8Array<ArrayBuffer>).body as ReadableStream<Uint8Array>

type ReaderEntrypoint = { readonly read: ReadOffice }

async function loadIsolate(loader: WorkerLoader): Promise<ReadOffice> {
  const code = await officeCode()
  const worker = loader.load({
    compatibilityDate: '2026-10-20',
    compatibilityFlags: ['nodejs_compat'],
    mainModule: 'office.js',
    modules: { 'office.js': code },
    globalOutbound: null,
    limits: isolateLimits,
  })
  const entry = worker.getEntrypoint('Reader') as unknown as ReaderEntrypoint
  // Copied, because RPC results are disposed with the call.
  return async (stream, format) => ({ ...(await entry.read(stream, format)) })
}

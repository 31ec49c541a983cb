/**
 * Reads HTML pages, each in a new isolate, or inside the Durable Object when there is no Worker Loader. Always resolves
 * with an answer, even when the isolate crashes.
 */

import { log } from '#agent/core/log.ts'
import { limitConcurrency } from '../../limit-concurrency.ts'
import { inlinePage, pageCode } from '../../modules.ts'
import type { PageAnswer, PageRequest, PageText, ReadPage } from './protocol.ts'

const isolateLimits = { cpuMs: 2_000, subRequests: 1 }
const timeoutMs = 20_000
/** Concurrent isolates of one Durable Object: the platform allows ten, and others need some. */
const maxConcurrent = 2

export type PageReader = (bytes: Uint8Array, request: PageRequest, signal: AbortSignal) => Promise<PageAnswer>

export function openPageReader(loader: WorkerLoader | undefined): PageReader {
  const limited = limitConcurrency(maxConcurrent)
  return (bytes, request, signal) =>
    limited(async () => {
      const read = loader ? await loadIsolate(loader) : (await inlinePage()).read
      return withDeadline(read(streamOf(bytes), request), signal)
    })
}

async function withDeadline(reading: Promise<PageText>, signal: AbortSignal): Promise<PageAnswer> {
  const { promise: reached, resolve } = Promise.withResolvers<PageAnswer>()
  const stop = () => resolve({ refused: 'stopped' })
  const timer = setTimeout(stop, timeoutMs)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  return Promise.race([reading.catch(reportCrash), reached]).finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  })
}

/** Logs that the platform ended the isolate, which used too much time or memory. */
function reportCrash(error: unknown): PageAnswer {
  log.error('isolate.crashed', 'The isolate that reads a page crashed.', { error })
  return { refused: 'stopped' }
}

/** As a stream, because a page may be larger than one RPC message. */
const streamOf = (bytes: Uint8Array) =>
  new Response(bytes as Uint8Array<ArrayBuffer>).body as ReadableStream<Uint8Array>

type ReaderEntrypoint = { readonly read: ReadPage }

async function loadIsolate(loader: WorkerLoader): Promise<ReadPage> {
  const code = await pageCode()
  const worker = loader.load({
    compatibilityDate: '2026-10-20',
    compatibilityFlags: ['nodejs_compat'],
    mainModule: 'page.js',
    modules: { 'page.js': code },
    globalOutbound: null,
    limits: isolateLimits,
  })
  const entry = worker.getEntrypoint('Reader') as unknown as ReaderEntrypoint
  // Copied, because RPC results are disposed with the call.
  return async (stream, request) => ({ ...(await entry.read(stream, request)) })
}

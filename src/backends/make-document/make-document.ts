/**
 * Writes documents, each in a new isolate that has neither network nor secrets. Always resolves with an answer, even when
 * the isolate crashes.
 */

import { log } from '#agent/core/log.ts'
import type { DocumentBytes, DocumentKind, DocumentWriter } from '#agent/core/media/document-writer.ts'
import { limitConcurrency } from '../limit-concurrency.ts'
import { removeIllegal } from './legal-text.ts'
import { loadAssets, writerCode } from './writer-code.ts'
import type { WriteDocument } from './protocol.ts'

const isolateLimits = { cpuMs: 20_000, subRequests: 10 }
const timeoutMs = 40_000
/** Concurrent isolates of one Durable Object: the platform allows ten, and others need some. */
const maxConcurrent = 1

export function openDocumentWriter(loader: WorkerLoader): DocumentWriter['write'] {
  const limited = limitConcurrency(maxConcurrent)
  return (kind, given, signal) =>
    limited(async () => {
      const content = removeIllegal(given)
      if (kind !== 'png' || isSvg(content)) return writeAlone(loader, { kind, content, signal })
      const drawn = await writeAlone(loader, { kind: 'svg', content, signal })
      if ('refused' in drawn) return drawn
      return writeAlone(loader, { kind, content: new TextDecoder().decode(drawn.bytes), signal })
    })
}

type Job = { readonly kind: DocumentKind; readonly content: string; readonly signal: AbortSignal }

const isSvg = (content: string): boolean => /^\s{0,100}<(?:\?xml|svg|!)/i.test(content)

async function writeAlone(loader: WorkerLoader, { kind, content, signal }: Job): Promise<DocumentBytes> {
  const write = await loadIsolate(loader, kind, content)
  return withDeadline(write(content).catch(reportCrash), signal)
}

const stopped: DocumentBytes = { refused: 'It takes too much time or memory. Make a smaller document.' }

/** Logs that the platform ended the isolate, which used too much time or memory. */
function reportCrash(error: unknown): DocumentBytes {
  log.error('isolate.crashed', 'The isolate that writes a document crashed.', { error })
  return stopped
}

function withDeadline(writing: Promise<DocumentBytes>, signal: AbortSignal): Promise<DocumentBytes> {
  const { promise: reached, resolve } = Promise.withResolvers<DocumentBytes>()
  const stop = () => resolve(stopped)
  const timer = setTimeout(stop, timeoutMs)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  return Promise.race([writing, reached]).finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  })
}

type WriterEntrypoint = { readonly write: WriteDocument }

async function loadIsolate(loader: WorkerLoader, kind: DocumentKind, content: string): Promise<WriteDocument> {
  const [code, assets] = await Promise.all([writerCode[kind](), loadAssets(kind, content)])
  const worker = loader.load({
    compatibilityDate: '2026-10-20',
    compatibilityFlags: ['nodejs_compat'],
    mainModule: 'writer.js',
    modules: { 'writer.js': code, ...assets },
    globalOutbound: null,
    limits: isolateLimits,
  })
  const entry = worker.getEntrypoint('Writer') as unknown as WriterEntrypoint
  // Copied, because RPC results are disposed with the call.
  return async (text) => ({ ...(await entry.write(text)) })
}

/**
 * Extracts the text of PDF files in an isolate of the session, or inside the Durable Object when there is no Worker Loader.
 * Always resolves with an answer, even when the isolate crashes.
 */

import type { Documents, PdfAnswer } from '#agent/core/media/document.ts'
import { loadInProcessPdf, pdfCode } from '../modules.ts'
import { limitConcurrency } from '../limit-concurrency.ts'
import { openOffice } from '../office/office.ts'
import type { ReadPdf } from './protocol.ts'
import { awaitAnswer, logCrash, openIsolate, replaceIsolate, streamOf } from '../open-isolate.ts'

const isolateLimits = { cpuMs: 30_000, subRequests: 10 }
const defaultTimeoutMs = 20_000
/** Additional time for the isolate to report its own timeout. */
const graceMs = 10_000
/** Limit without an isolate, where the file and its text share 128 MB with everything else. */
const maxInlineBytes = 8 * 1024 * 1024
/** Concurrent isolates of one Durable Object: the platform allows ten, and others need some. */
const maxConcurrent = 1

export type DocumentsOptions = {
  readonly loader?: WorkerLoader | undefined
  /** The session, whose documents share one isolate of each kind. */
  readonly owner: string
  readonly timeoutMs?: number
}

export function openDocuments({ loader, owner, timeoutMs = defaultTimeoutMs }: DocumentsOptions): Documents {
  const limited = limitConcurrency(maxConcurrent)
  return {
    office: openOffice(loader, owner),
    async pdf(bytes, signal) {
      if (!loader && bytes.byteLength > maxInlineBytes) return { refused: 'size', maxBytes: maxInlineBytes }
      return limited(() =>
        awaitAnswer(read(bytes, { loader, owner, timeoutMs }), {
          timeoutMs: timeoutMs + graceMs,
          signal,
          answer: (ending): PdfAnswer => {
            logCrash(ending, 'reads a PDF file')
            replaceIsolate({ name: 'pdf', sharedBy: owner })
            return { refused: 'stopped' }
          },
        }),
      )
    },
  }
}

async function read(
  bytes: Uint8Array,
  { loader, owner, timeoutMs = defaultTimeoutMs }: DocumentsOptions,
): Promise<PdfAnswer> {
  const reader = loader ? await loadIsolate(loader, owner) : (await loadInProcessPdf()).read
  return reader(streamOf(bytes), timeoutMs)
}

type PdfEntrypoint = { readonly read: ReadPdf }

async function loadIsolate(loader: WorkerLoader, sharedBy: string): Promise<ReadPdf> {
  const isolate = { name: 'pdf', code: await pdfCode(), entrypoint: 'Reader', limits: isolateLimits }
  const entry = await openIsolate<PdfEntrypoint>({ loader, ...isolate, sharedBy })
  return async (stream, timeoutMs) => structuredClone(await entry.read(stream, timeoutMs))
}

/**
 * Extracts the text of PDF files, each in a new isolate, or inside the Durable Object when there is no Worker Loader.
 * Always resolves with an answer, even when the isolate crashes.
 */

import type { Documents, PdfAnswer } from '#agent/core/media/document.ts'
import { loadInProcessPdf, pdfCode } from '../modules.ts'
import { limitConcurrency } from '../limit-concurrency.ts'
import { openOffice } from '../office/office.ts'
import type { ReadPdf } from './protocol.ts'
import { awaitAnswer, logCrash, openIsolate, streamOf } from '../open-isolate.ts'

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
      return limited(() =>
        awaitAnswer(read(bytes, timeoutMs, loader), {
          timeoutMs: timeoutMs + graceMs,
          signal,
          answer: (ending): PdfAnswer => {
            logCrash(ending, 'reads a PDF file')
            return { refused: 'stopped' }
          },
        }),
      )
    },
  }
}

async function read(bytes: Uint8Array, timeoutMs: number, loader: WorkerLoader | undefined): Promise<PdfAnswer> {
  const reader = loader ? await loadIsolate(loader) : (await loadInProcessPdf()).read
  return reader(streamOf(bytes), timeoutMs)
}

type PdfEntrypoint = { readonly read: ReadPdf }

async function loadIsolate(loader: WorkerLoader): Promise<ReadPdf> {
  const isolate = { name: 'pdf', code: await pdfCode(), entrypoint: 'Reader', limits: isolateLimits }
  const entry = openIsolate<PdfEntrypoint>({ loader, ...isolate })
  return async (stream, timeoutMs) => structuredClone(await entry.read(stream, timeoutMs))
}

/** Exports the PDF reader as a worker that reads one file, without network, secrets or session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import type { PdfAnswer } from '#agent/core/media/document.ts'
import { readWithLimits } from './read-with-limits.ts'

export class Reader extends WorkerEntrypoint {
  read(stream: ReadableStream<Uint8Array>, timeoutMs: number): Promise<PdfAnswer> {
    // A damaged file leaves rejected promises in PDF.js; the answer already reports the damage.
    addEventListener('unhandledrejection', (event) => event.preventDefault())
    return readWithLimits(stream, timeoutMs)
  }
}

/** The reader as a worker of its own, for one file: no network, no secrets, no session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import type { PdfAnswer } from '../../../agent/model/document.ts'
import { readWithLimits } from './read-with-limits.ts'

export class Reader extends WorkerEntrypoint {
  read(stream: ReadableStream<Uint8Array>, timeoutMs: number): Promise<PdfAnswer> {
    // What a damaged file leaves behind in PDF.js is told by the answer.
    addEventListener('unhandledrejection', (event) => event.preventDefault())
    return readWithLimits(stream, timeoutMs)
  }
}

/** What passes between a session and the reader of its PDF files, which may run in another isolate. */

import type { PdfAnswer } from '../../agent/model/document.ts'

export type ReadPdf = (bytes: ReadableStream<Uint8Array>, timeoutMs: number) => Promise<PdfAnswer>

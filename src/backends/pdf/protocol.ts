/** Defines the RPC interface between a session and its PDF reader, which may run in another isolate. */

import type { PdfAnswer } from '#agent/core/media/document.ts'

export type ReadPdf = (bytes: ReadableStream<Uint8Array>, timeoutMs: number) => Promise<PdfAnswer>

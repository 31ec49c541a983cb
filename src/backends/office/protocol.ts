/** Defines the RPC interface between a session and its reader of office documents, which may run in another isolate. */

import type { OfficeAnswer, OfficeFormat } from '#agent/core/media/document.ts'

export type ReadOffice = (bytes: ReadableStream<Uint8Array>, format: OfficeFormat) => Promise<OfficeAnswer>

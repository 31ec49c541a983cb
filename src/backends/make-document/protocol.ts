/** Defines the RPC interface between a session and the writer of a document, which runs in another isolate. */

import type { DocumentBytes } from '#agent/core/media/document-writer.ts'

export type WriteDocument = (content: string) => Promise<DocumentBytes>

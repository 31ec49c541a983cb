/** Provides the writer of documents to the tools of a session, and links to what it has written. */

import type { DocumentWriter } from '#agent/core/media/document-writer.ts'
import { clock } from '#durable/platform/clock.ts'
import { createLink } from '#durable/platform/signed-links.ts'
import type { ToolPorts } from './tool-ports.ts'

export function createSessionDocuments({ env, loader, tenantId, sessionId }: ToolPorts): DocumentWriter {
  let opened: Promise<DocumentWriter['write']> | undefined
  const open = (own: WorkerLoader) =>
    (opened ??= import('#backends/make-document/make-document.ts').then((module) =>
      module.openDocumentWriter(own, `${tenantId}/${sessionId}`),
    ))
  return {
    write: async (kind, content, signal) =>
      loader ? (await open(loader))(kind, content, signal) : { refused: 'The deployment has no binding LOADER.' },
    link: async (path) => (await createLink(env, { tenantId, sessionId, path }, clock.now())) ?? '',
  }
}

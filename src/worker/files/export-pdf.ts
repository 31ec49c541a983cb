/** Writes the conversation of a session as a PDF: what people and the agent said. */

import { openDocumentWriter } from '#backends/make-document/make-document.ts'
import { AppError } from '../errors.ts'

/** As of the tool that writes documents. */
const maxChars = 2_000_000

export async function exportPdf(
  loader: WorkerLoader | undefined,
  owner: string,
  markdown: ReadableStream<Uint8Array>,
): Promise<Uint8Array> {
  if (!loader) {
    await markdown.cancel()
    throw new AppError(501, 'not_configured', 'The deployment has no binding LOADER.', { param: 'format' })
  }
  const text = await new Response(markdown).text()
  if (text.length > maxChars) throw tooLong('The conversation is too long for a PDF. Use format=html.')
  const made = await openDocumentWriter(loader, owner)('pdf', text, new AbortController().signal)
  if ('refused' in made) throw tooLong(made.refused)
  return made.bytes
}

const tooLong = (message: string) => new AppError(400, 'unsupported', message, { param: 'format' })

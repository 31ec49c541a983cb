/** Exports the reader of HTML pages as a worker that reads one page, without network, secrets or session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import type { PageRequest, PageText } from '../protocol.ts'
import { readPage } from './read-page.ts'

export class Reader extends WorkerEntrypoint {
  read(html: ReadableStream<Uint8Array>, request: PageRequest): Promise<PageText> {
    return readPage(html, request)
  }
}

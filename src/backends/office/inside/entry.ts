/** Exports the reader of office documents as a worker that reads one file, without network, secrets or session. */

import { WorkerEntrypoint } from 'cloudflare:workers'
import type { OfficeAnswer, OfficeFormat } from '#agent/core/media/document.ts'
import { readOffice } from './read-stream.ts'

export class Reader extends WorkerEntrypoint {
  read(stream: ReadableStream<Uint8Array>, format: OfficeFormat): Promise<OfficeAnswer> {
    return readOffice(stream, format)
  }
}

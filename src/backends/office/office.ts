/**
 * Extracts the text of office documents and notebooks in an isolate of the session, or inside the Durable Object when
 * there is no Worker Loader. Always resolves with an answer, even when the isolate crashes.
 */

import type { Documents, OfficeAnswer } from '#agent/core/media/document.ts'
import { limitConcurrency } from '../limit-concurrency.ts'
import { loadInProcessOffice, officeCode } from '../modules.ts'
import type { ReadOffice } from './protocol.ts'
import { awaitAnswer, logCrash, openIsolate, replaceIsolate, streamOf } from '../open-isolate.ts'

const isolateLimits = { cpuMs: 20_000, subRequests: 10 }
const timeoutMs = 30_000
/** Limit without an isolate, where the file and its text share 128 MB with everything else. */
const maxInlineBytes = 8 * 1024 * 1024
/** Concurrent isolates of one Durable Object: the platform allows ten, and others need some. */
const maxConcurrent = 1

/** `owner`: the session, whose documents share one isolate. */
export function openOffice(loader: WorkerLoader | undefined, owner: string): Documents['office'] {
  const limited = limitConcurrency(maxConcurrent)
  return async (bytes, format, signal) => {
    if (!loader && bytes.byteLength > maxInlineBytes) return { refused: 'size' }
    return limited(async () => {
      const read = loader ? await loadIsolate(loader, owner) : (await loadInProcessOffice()).read
      return awaitAnswer<OfficeAnswer>(read(streamOf(bytes), format), {
        timeoutMs,
        signal,
        answer: (ending) => {
          logCrash(ending, 'reads a document')
          replaceIsolate({ name: 'office', sharedBy: owner })
          return { refused: 'stopped' }
        },
      })
    })
  }
}

type OfficeEntrypoint = { readonly read: ReadOffice }

async function loadIsolate(loader: WorkerLoader, sharedBy: string): Promise<ReadOffice> {
  const isolate = { name: 'office', code: await officeCode(), entrypoint: 'Reader', limits: isolateLimits }
  const entry = await openIsolate<OfficeEntrypoint>({ loader, ...isolate, sharedBy })
  return async (stream, format) => ({ ...(await entry.read(stream, format)) })
}

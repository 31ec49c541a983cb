/**
 * Reads HTML pages in an isolate of the session, or inside the Durable Object when there is no Worker Loader. Always resolves
 * with an answer, even when the isolate crashes.
 */

import { limitConcurrency } from '../../limit-concurrency.ts'
import { loadInProcessPage, pageCode } from '../../modules.ts'
import type { PageAnswer, PageRequest, ReadPage } from './protocol.ts'
import { awaitAnswer, logCrash, openIsolate, replaceIsolate, streamOf } from '../../open-isolate.ts'

const isolateLimits = { cpuMs: 2_000, subRequests: 1 }
const timeoutMs = 20_000
/** Concurrent isolates of one Durable Object: the platform allows ten, and others need some. */
const maxConcurrent = 2

export type PageReader = (bytes: Uint8Array, request: PageRequest, signal: AbortSignal) => Promise<PageAnswer>

/** `owner`: the session, whose reads share one isolate. */
export function openPageReader(loader: WorkerLoader | undefined, owner: string): PageReader {
  const limited = limitConcurrency(maxConcurrent)
  return (bytes, request, signal) =>
    limited(async () => {
      const read = loader ? await loadIsolate(loader, owner) : (await loadInProcessPage()).read
      return awaitAnswer<PageAnswer>(read(streamOf(bytes), request), {
        timeoutMs,
        signal,
        answer: (ending) => {
          logCrash(ending, 'reads a page')
          replaceIsolate({ name: 'page', sharedBy: owner })
          return { refused: 'stopped' }
        },
      })
    })
}

type PageEntrypoint = { readonly read: ReadPage }

async function loadIsolate(loader: WorkerLoader, sharedBy: string): Promise<ReadPage> {
  const isolate = { name: 'page', code: await pageCode(), entrypoint: 'Reader', limits: isolateLimits }
  const entry = await openIsolate<PageEntrypoint>({ loader, ...isolate, sharedBy })
  return async (stream, request) => ({ ...(await entry.read(stream, request)) })
}

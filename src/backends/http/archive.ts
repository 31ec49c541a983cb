/** All files of a workspace at once: two archives, one for each place that can be written. */

import type { PortableBackend, SnapshotEntry } from '../portable-backend.ts'
import { pack, toStream, unpack } from '../tar.ts'
import { type RequestOptions, unreachableError } from './request.ts'

const PLACES = ['/workspace', '/tmp']
const TRANSFER_MS = 600_000

export function archive(
  call: (path: string, request?: RequestOptions) => Promise<Response>,
): Pick<PortableBackend, 'snapshot' | 'restore'> {
  async function* snapshot(wanted: (path: string) => boolean = () => true): AsyncGenerator<SnapshotEntry> {
    for (const place of PLACES) {
      const response = await call('/tar', { query: { path: place }, timeoutMs: TRANSFER_MS })
      if (!response.ok || !response.body) throw unreachableError('has no files of this session')
      const entries = unpack(response.body, (path) => wanted(`${place}/${path}`))
      for await (const entry of entries) yield { ...entry, path: `${place}/${entry.path}` }
    }
  }

  /** One archive for each stretch of entries that belong to one place; elsewhere nothing can be written. */
  async function restore(entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>): Promise<void> {
    const source = iteratorOf(entries)
    for (let next = await source.next(); !next.done;) {
      const place = PLACES.find((each) => next.value?.path.startsWith(`${each}/`))
      if (!place) {
        next = await source.next()
        continue
      }
      const stretch = async function* (): AsyncGenerator<SnapshotEntry> {
        for (; !next.done && next.value.path.startsWith(`${place}/`); next = await source.next())
          yield { ...next.value, path: next.value.path.slice(place.length + 1) }
      }
      const body = toStream(pack(stretch()))
      const response = await call('/tar', { method: 'PUT', query: { path: place }, body, timeoutMs: TRANSFER_MS })
      await response.body?.cancel()
    }
  }

  return { snapshot, restore }
}

async function* iteratorOf(
  entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>,
): AsyncGenerator<SnapshotEntry, undefined> {
  yield* entries
  return undefined
}

/** Transfers all files of a workspace as two tar archives, one for each writable folder. */

import type { PortableBackend, SnapshotEntry } from '../portable-backend.ts'
import { pack, toStream, unpack } from '../tar.ts'
import { type RequestOptions, unreachableError } from './request.ts'

const folders = ['/workspace', '/tmp']
const transferTimeoutMs = 600_000

export function archive(
  call: (path: string, request?: RequestOptions) => Promise<Response>,
): Pick<PortableBackend, 'snapshot' | 'restore'> {
  async function* snapshot(isWanted: (path: string) => boolean = () => true): AsyncGenerator<SnapshotEntry> {
    for (const folder of folders) {
      const response = await call('/tar', { query: { path: folder }, timeoutMs: transferTimeoutMs })
      if (!response.ok || !response.body) throw unreachableError('has no files of this session')
      const entries = unpack(response.body, (path) => isWanted(`${folder}/${path}`))
      for await (const entry of entries) yield { ...entry, path: `${folder}/${entry.path}` }
    }
  }

  /** Sends one archive for each run of entries in the same folder. Entries elsewhere are skipped: they are not writable. */
  async function restore(entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>): Promise<void> {
    const source = createIterator(entries)
    for (let next = await source.next(); !next.done;) {
      const folder = folders.find((each) => next.value?.path.startsWith(`${each}/`))
      if (!folder) {
        next = await source.next()
        continue
      }
      const entriesOfFolder = async function* (): AsyncGenerator<SnapshotEntry> {
        for (; !next.done && next.value.path.startsWith(`${folder}/`); next = await source.next())
          yield { ...next.value, path: next.value.path.slice(folder.length + 1) }
      }
      const body = toStream(pack(entriesOfFolder()))
      const response = await call('/tar', {
        method: 'PUT',
        query: { path: folder },
        body,
        timeoutMs: transferTimeoutMs,
      })
      await response.body?.cancel()
    }
  }

  return { snapshot, restore }
}

async function* createIterator(
  entries: AsyncIterable<SnapshotEntry> | Iterable<SnapshotEntry>,
): AsyncGenerator<SnapshotEntry, undefined> {
  yield* entries
  return undefined
}

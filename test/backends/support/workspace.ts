/** Opens a virtual backend on the storage of a new Durable Object. */

import { env, runInDurableObject } from 'cloudflare:test'
import { type VirtualBackend, virtualBackend, type VirtualOptions } from '#backends/virtual/virtual.ts'
import type { FilesObject } from './files-object.ts'

// Loads the shell in advance, so that its time does not count for the first test.
await import('#backends/virtual/isolate/in-process.ts')

type Bindings = {
  readonly FILES: DurableObjectNamespace<FilesObject>
  readonly BLOBS: R2Bucket
  readonly LOADER: WorkerLoader
}
export const bindings = env as unknown as Bindings

export type Workspace = {
  readonly backend: VirtualBackend
  readonly sql: SqlStorage
  readonly open: (options?: Partial<VirtualOptions>) => VirtualBackend
}

export async function inWorkspace(
  options: Partial<VirtualOptions>,
  work: (workspace: Workspace) => Promise<void>,
): Promise<void> {
  const { FILES, BLOBS } = bindings
  const id = FILES.newUniqueId()
  await runInDurableObject(FILES.get(id), async (_, { storage }) => {
    const base = { sql: storage.sql, blobs: BLOBS, prefix: `t/test/s/${id}/files/`, now: Date.now }
    const open = (more: Partial<VirtualOptions> = {}) => virtualBackend({ ...base, ...options, ...more })
    await work({ backend: open(), sql: storage.sql, open })
  })
}

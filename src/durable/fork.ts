/** Copying a session, files included. The copy is a session of its own from then on. */

import type { Entry } from '../agent/model/history.ts'
import type { Turn } from '../agent/model/turn.ts'
import type { SnapshotEntry } from '../backends/portable.ts'
import { pack, unpack } from '../backends/tar.ts'
import type { SessionCore } from './session-core.ts'
import type { NewSession, SessionMeta } from './session-meta.ts'
import { storedBytes } from './stored.ts'

export type SessionCopy = {
  readonly meta: SessionMeta
  readonly rows: readonly {
    readonly n: number
    readonly runId: string
    readonly entries: readonly Entry[]
    readonly turn?: Turn
  }[]
  /** An archive: all of it would not fit into one message between objects, nor into memory. */
  readonly files: ReadableStream<Uint8Array>
  /** About what the copy will take of the tenant's storage. */
  readonly bytes: number
}

export async function copySession(core: SessionCore): Promise<SessionCopy> {
  const rows = [...core.journal.unsent(0)].map(({ row, turn }) => ({
    n: row.n,
    runId: row.runId,
    entries: row.entries,
    ...(turn?.stage.at === 'done' && { turn }),
  }))
  // A turn that is still open stays with the original: its last words are not in yet.
  const open = core.store.hasOpenTurn ? core.store.turn().id : undefined
  return {
    meta: core.meta,
    rows: rows.filter(({ runId }) => runId !== open),
    files: bytesOf(pack(withoutRoot(core.workbench.backend.snapshot()))),
    bytes: storedBytes(core.sql),
  }
}

export async function takeCopy(core: SessionCore, { meta, rows, files }: SessionCopy, spec: NewSession): Promise<void> {
  if (core.exists) return files.cancel()
  // The chat stays with the original.
  const { origin: _origin, ...copied } = meta
  core.adopt(
    {
      ...copied,
      id: core.sessionId,
      tenantId: core.tenantId,
      title: spec.title ?? meta.title,
      source: spec.source ?? meta.source,
      parentId: spec.parentId ?? null,
      // A machine of its own, of the same kind.
      ...(meta.machine && { machine: { kind: meta.machine.kind, been: meta.machine.been } }),
      createdAt: Date.now(),
    },
    rows,
  )
  await core.workbench.backend.restore(withRoot(unpack(files)))
  await core.account.tellStored()
}

async function* withoutRoot(entries: AsyncIterable<SnapshotEntry>): AsyncGenerator<SnapshotEntry> {
  for await (const entry of entries) yield { ...entry, path: entry.path.slice(1) }
}

async function* withRoot(entries: AsyncIterable<SnapshotEntry>): AsyncGenerator<SnapshotEntry> {
  for await (const entry of entries) yield { ...entry, path: `/${entry.path}` }
}

/** Only streams of bytes pass between objects. */
function bytesOf(chunks: AsyncGenerator<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    type: 'bytes',
    async pull(controller) {
      const { value, done } = await chunks.next()
      if (!done) return controller.enqueue(value)
      controller.close()
      controller.byobRequest?.respond(0)
    },
    async cancel() {
      await chunks.return(undefined)
    },
  })
}

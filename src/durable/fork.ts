/** Copying a session, files included. The copy is a session of its own from then on. */

import type { Entry } from '../agent/model/history.ts'
import type { Turn } from '../agent/model/turn.ts'
import type { SnapshotEntry } from '../backends/portable.ts'
import { pack, unpack } from '../backends/tar.ts'
import { ownImages } from './attachments.ts'
import type { SessionCore } from './session-core.ts'
import type { NewSession, SessionMeta } from './session-meta.ts'
import { storedBytes } from './stored.ts'
import { leaseMs } from './wake.ts'

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

export type ArrivalOptions = {
  readonly core: () => SessionCore
  readonly storage: DurableObjectStorage
  readonly blobs: R2Bucket | undefined
  /** The storage is empty: what memory knows of it goes too. */
  readonly forgetMemory: () => void
}

/** A copy on its way into a session: one at a time, and all of it or nothing. */
export class Arrival {
  readonly #options: ArrivalOptions
  #underWay: Promise<void> | undefined
  #discarding: Promise<void> | undefined

  constructor(options: ArrivalOptions) {
    this.#options = options
  }

  /** Whoever repeats it waits for the first. */
  async take(copy: SessionCopy, spec: NewSession): Promise<void> {
    const { exists } = this.#options.core()
    const isRepeat = exists || this.#underWay !== undefined
    if (!exists) this.#underWay ??= this.#take(copy, spec).finally(() => (this.#underWay = undefined))
    if (isRepeat) await copy.files.cancel()
    await this.#underWay
  }

  /** On an alarm of a session that is not there: what a crash has left of a copy goes, and the alarm with it. */
  async lookAfter(): Promise<void> {
    if (this.#underWay) return
    if (!this.#isHalfThere) return this.#options.storage.deleteAlarm()
    if (!(await this.#discarded())) await this.#options.storage.setAlarm(Date.now() + againMs)
  }

  get #isHalfThere(): boolean {
    return this.#options.core().journal.meta()?.arriving === true
  }

  async #take(copy: SessionCopy, spec: NewSession): Promise<void> {
    const { core, storage, blobs } = this.#options
    if (this.#isHalfThere) await this.#discard()
    await storage.setAlarm(Date.now() + leaseMs)
    try {
      await takeCopy(core(), copy, spec, blobs)
    } catch (error) {
      await this.#discarded()
      throw error
    }
  }

  /** False when a part is out of reach: the alarm tries again. */
  async #discarded(): Promise<boolean> {
    try {
      await this.#discard()
      return true
    } catch (error) {
      console.warn('What is left of a copy cannot be removed now.', error)
      return false
    }
  }

  /** Once, however many ask: afterwards another copy may begin to arrive. */
  #discard(): Promise<void> {
    return (this.#discarding ??= this.#removeAll().finally(() => (this.#discarding = undefined)))
  }

  async #removeAll(): Promise<void> {
    const { core, storage, forgetMemory } = this.#options
    await core().workbench.removeFiles()
    await storage.deleteAlarm()
    await storage.deleteAll()
    forgetMemory()
  }
}

/** Until what a machine out of reach has of a copy is asked for again. */
const againMs = 10 * 60_000

async function takeCopy(
  core: SessionCore,
  { meta, rows, files }: SessionCopy,
  spec: NewSession,
  blobs: R2Bucket | undefined,
): Promise<void> {
  // The chat stays with the original, and whether it goes by itself.
  const { origin: _origin, ephemeral: _ephemeral, ...copied } = meta
  const arriving = {
    ...copied,
    id: core.sessionId,
    tenantId: core.tenantId,
    title: spec.title ?? meta.title,
    source: spec.source ?? meta.source,
    parentId: spec.parentId ?? null,
    // A machine of its own, of the same kind.
    ...(meta.machine && { machine: { kind: meta.machine.kind, been: meta.machine.been } }),
    createdAt: Date.now(),
    arriving: true,
    ...(spec.ephemeral && { ephemeral: true }),
  } as const
  core.adopt(arriving, [])
  await core.workbench.backend.restore(withRoot(unpack(files)))
  const own = blobs ? await withOwnImages(rows, ownImages(blobs, core)) : rows
  const { arriving: _arriving, ...arrived } = core.meta
  core.adopt(arrived, own)
  await core.account.tellStored()
}

const withOwnImages = (rows: SessionCopy['rows'], own: ReturnType<typeof ownImages>): Promise<SessionCopy['rows']> =>
  Promise.all(
    rows.map(async (row) => {
      const entries = row.entries.map(async (entry) => ({ ...entry, message: await own(entry.message) }))
      return { ...row, entries: await Promise.all(entries) }
    }),
  )

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

/** Copying a session, files included. The copy is a session of its own from then on. */

import type { Entry } from '../../agent/model/history.ts'
import type { Turn } from '../../agent/model/turn.ts'
import type { SnapshotEntry } from '../../backends/portable-backend.ts'
import { pack, unpack } from '../../backends/tar.ts'
import { imageCopier } from '../workspace/attachments.ts'
import { byteStream, textStream } from '../platform/byte-stream.ts'
import type { Journal, StepRow } from '../storage/journal.ts'
import type { Session } from './session.ts'
import type { NewSession, SessionMetadata } from '../storage/session-metadata.ts'
import { storedBytes } from '../storage/storage-usage.ts'
import { leaseMs } from '../platform/schedule.ts'
import { clock } from '../platform/clock.ts'

/** Neither the conversation nor the files would always fit into one message between objects, nor into memory. */
export type SessionCopy = {
  readonly meta: SessionMetadata
  /** A row a line, as JSON. */
  readonly rows: ReadableStream<Uint8Array>
  /** An archive. */
  readonly files: ReadableStream<Uint8Array>
  /** About what the copy will take of the tenant's storage. */
  readonly bytes: number
}

type Row = {
  readonly n: number
  readonly runId: string
  readonly entries: readonly Entry[]
  readonly turn?: Turn
}

/** Up to the end of that run; undefined when no such run is there. What comes or goes meanwhile changes nothing. */
export function copySession(core: Session, upTo?: string): SessionCopy | undefined {
  const { journal, store, sql } = core
  // A turn that is still open stays with the original: its last words are not in yet.
  const open = store.hasOpenTurn ? store.turn().id : undefined
  const ended = journal.listRows().filter(({ run }) => run !== open)
  const end = upTo === undefined ? ended.length : ended.findLastIndex(({ run }) => run === upTo) + 1
  if (upTo !== undefined && !end) return undefined
  const places = ended.slice(0, end)
  return {
    meta: core.meta,
    rows: textStream(linesOf(journal, places)),
    files: byteStream(pack(withoutRoot(core.toolRuntime.backend.snapshot()))),
    bytes: storedBytes(sql) - journal.bytesAfter(places.at(-1)?.n ?? 0),
  }
}

async function* linesOf(journal: Journal, places: readonly { readonly n: number }[]): AsyncGenerator<string> {
  for (const { n } of places) {
    const { row, turn } = journal.row(n)
    const { runId, entries } = row
    const copied: Row = { n, runId, entries, ...(turn?.stage.at === 'done' && { turn }) }
    yield `${JSON.stringify(copied)}\n`
  }
}

async function* rowsIn(lines: ReadableStream<Uint8Array>): AsyncGenerator<Row> {
  let open = ''
  for await (const text of lines.pipeThrough(new TextDecoderStream())) {
    const [first = '', ...others] = text.split('\n')
    open += first
    for (const line of others) {
      yield JSON.parse(open) as Row
      open = line
    }
  }
}

export type ArrivalOptions = {
  readonly core: () => Session
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
    if (isRepeat) await leave(copy)
    await this.#underWay
  }

  /** On an alarm of a session that is not there: what a crash has left of a copy goes, and the alarm with it. */
  async lookAfter(): Promise<void> {
    if (this.#underWay) return
    if (!this.#isHalfThere) return this.#options.storage.deleteAlarm()
    if (!(await this.#discarded())) await this.#options.storage.setAlarm(clock.now() + againMs)
  }

  get #isHalfThere(): boolean {
    return this.#options.core().journal.metadata()?.arriving === true
  }

  async #take(copy: SessionCopy, spec: NewSession): Promise<void> {
    const { core, storage, blobs } = this.#options
    if (this.#isHalfThere) await this.#discard()
    await storage.setAlarm(clock.now() + leaseMs)
    try {
      await takeCopy(core(), copy, spec, blobs)
    } catch (error) {
      await leave(copy)
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
    await core().toolRuntime.removeFiles()
    await storage.deleteAlarm()
    await storage.deleteAll()
    forgetMemory()
  }
}

/** Until what a machine out of reach has of a copy is asked for again. */
const againMs = 10 * 60_000

async function takeCopy(
  core: Session,
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
    createdAt: clock.now(),
    arriving: true,
    ...(spec.ephemeral && { ephemeral: true }),
  } as const
  core.adopt(arriving, [])
  const own = blobs && imageCopier(blobs, core)
  for await (const row of rowsIn(rows)) core.journal.putStep(await arrivedRow(row, own), row.turn)
  await core.toolRuntime.backend.restore(withRoot(unpack(files)))
  const { arriving: _arriving, ...arrived } = core.meta
  core.adopt(arrived, [])
  await core.billing.reportStorage()
}

/** Nobody reads it: whoever sends it need not go on. */
export async function leave({ rows, files }: Pick<SessionCopy, 'rows' | 'files'>): Promise<void> {
  // One that is read, or broke, cannot be cancelled and need not be.
  await Promise.allSettled([rows.cancel(), files.cancel()])
}

async function arrivedRow(
  { n, runId, entries: given }: Row,
  own: ReturnType<typeof imageCopier> | undefined,
): Promise<StepRow> {
  const entries: Entry[] = []
  for (const entry of given) entries.push(own ? { ...entry, message: await own(entry.message) } : entry)
  return { n, runId, entries, texts: entries.map((entry) => JSON.stringify(entry)), events: [] }
}

async function* withoutRoot(entries: AsyncIterable<SnapshotEntry>): AsyncGenerator<SnapshotEntry> {
  for await (const entry of entries) yield { ...entry, path: entry.path.slice(1) }
}

async function* withRoot(entries: AsyncIterable<SnapshotEntry>): AsyncGenerator<SnapshotEntry> {
  for await (const entry of entries) yield { ...entry, path: `/${entry.path}` }
}

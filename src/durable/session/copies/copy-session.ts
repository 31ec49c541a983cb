/** Reads the conversation and the files of a session as streams, and writes them into another one. */

import type { Entry } from '#agent/core/history.ts'
import type { Turn } from '#agent/core/turn.ts'
import type { SnapshotEntry } from '#backends/portable-backend.ts'
import { pack, unpack } from '#backends/tar.ts'
import { imageCopier } from '#durable/workspace/attachments.ts'
import { byteStream, textStream } from '#durable/platform/byte-stream.ts'
import { clock } from '#durable/platform/clock.ts'
import type { Journal, StepRow } from '#durable/storage/journal.ts'
import type { SessionMetadata } from '#durable/storage/session-metadata.ts'
import { storedBytes } from '#durable/storage/storage-usage.ts'
import { snapshotAfter } from './earlier-files.ts'
import type { ForkSpec, SessionCopy } from './fork.ts'
import type { Session } from '../session.ts'

type CopiedPage = {
  readonly n: number
  readonly runId: string
  readonly entries: readonly Entry[]
  readonly turn?: Turn
}

/**
 * Copies the session up to the end of a run; undefined when there is no such run. Later changes do not affect the copy.
 * `withEarlierFiles`: the files are those of that time, as far as checkpoints reach back.
 */
export function copySession(session: Session, upTo?: string, withEarlierFiles = false): SessionCopy | undefined {
  const { journal, store, sql } = session
  // An open turn is not copied: its last messages are missing.
  const open = store.hasOpenTurn ? store.turn().id : undefined
  const ended = journal.listRows().filter(({ run }) => run !== open)
  const end = upTo === undefined ? ended.length : ended.findLastIndex(({ run }) => run === upTo) + 1
  if (upTo !== undefined && !end) return undefined
  const rows = ended.slice(0, end)
  const files =
    withEarlierFiles && upTo !== undefined ? snapshotAfter(session, upTo) : session.toolRuntime.backend.snapshot()
  return {
    meta: conversationAt(session.meta, rows.at(-1)?.n ?? 0),
    rows: textStream(rowLines(journal, rows)),
    files: byteStream(pack(withoutRoot(files))),
    bytes: storedBytes(sql) - journal.bytesAfter(rows.at(-1)?.n ?? 0),
  }
}

/** A copy that ends within an earlier conversation goes on with that one. */
function conversationAt(meta: SessionMetadata, lastRow: number): SessionMetadata {
  const { earlierThrough = 0, startsAnew: _startsAnew, resumed, conversations, ...rest } = meta
  return lastRow > earlierThrough && earlierThrough > 0 ? { ...rest, earlierThrough, resumed, conversations } : rest
}

async function* rowLines(journal: Journal, rows: readonly { readonly n: number }[]): AsyncGenerator<string> {
  for (const { n } of rows) {
    const { row, turn } = journal.row(n)
    const { runId, entries } = row
    const copied: CopiedPage = { n, runId, entries, ...(turn?.stage.at === 'done' && { turn }) }
    yield `${JSON.stringify(copied)}\n`
  }
}

async function* parseRows(lines: ReadableStream<Uint8Array>): AsyncGenerator<CopiedPage> {
  let open = ''
  for await (const text of lines.pipeThrough(new TextDecoderStream())) {
    const [first = '', ...others] = text.split('\n')
    open += first
    for (const line of others) {
      yield JSON.parse(open) as CopiedPage
      open = line
    }
  }
}

export async function receiveCopy(
  session: Session,
  { meta, rows, files }: SessionCopy,
  spec: ForkSpec | 'as-it-was',
  blobs: R2Bucket | undefined,
): Promise<void> {
  const arriving = {
    ...(spec === 'as-it-was' ? metadataOfRestored(meta) : metadataOfFork(meta, spec)),
    id: session.sessionId,
    tenantId: session.tenantId,
    // The copy gets a host of its own, of the same kind.
    ...(meta.machine && { machine: { kind: meta.machine.kind, been: meta.machine.been } }),
    arriving: true,
  } as const
  session.adopt(arriving, [])
  // The images of a restored session are restored under their own keys.
  const copyImages = spec === 'as-it-was' || !blobs ? undefined : imageCopier(blobs, session)
  for await (const row of parseRows(rows)) session.journal.putStep(await ownedRow(row, copyImages), row.turn)
  await session.toolRuntime.backend.restore(withRoot(unpack(files)))
  const { arriving: _arriving, ...arrived } = session.meta
  session.adopt(arrived, [])
  await session.billing.reportStorage()
}

/** A goal waits for a person: what it was doing is not part of a backup. Loops and heartbeats go on, as jobs do. */
function metadataOfRestored({ goal, versions: _versions, ...meta }: SessionMetadata): SessionMetadata {
  if (!goal) return meta
  const isOpen = goal.state.at === 'active' || goal.state.at === 'waiting'
  const reason = 'The session was restored from a backup.'
  return { ...meta, goal: isOpen ? { ...goal, state: { at: 'paused', reason } } : goal }
}

/** The chat, the expiry, what a person has allowed, and turns that it starts by itself belong to the original. */
function metadataOfFork(meta: SessionMetadata, spec: ForkSpec): SessionMetadata {
  const {
    goal: _goal,
    heartbeat: _heartbeat,
    loop: _loop,
    origin: _origin,
    ephemeral: _ephemeral,
    oneShot: _oneShot,
    grants: _grants,
    subagent: _subagent,
    pinned: _pinned,
    filesChangedAt: _filesChangedAt,
    archived: _archived,
    ratings: _ratings,
    shares: _shares,
    versions: _versions,
    ...rest
  } = meta
  return {
    ...rest,
    owner: spec.owner,
    title: spec.title ?? meta.title,
    source: spec.source ?? meta.source,
    parentId: spec.parentId ?? null,
    createdAt: clock.now(),
    ...(spec.ephemeral && { ephemeral: true }),
  }
}

async function ownedRow(
  { n, runId, entries: given }: CopiedPage,
  copyImages: ReturnType<typeof imageCopier> | undefined,
): Promise<StepRow> {
  const entries: Entry[] = []
  for (const entry of given) entries.push(copyImages ? { ...entry, message: await copyImages(entry.message) } : entry)
  return { n, runId, entries, texts: [], events: [] }
}

async function* withoutRoot(entries: AsyncIterable<SnapshotEntry>): AsyncGenerator<SnapshotEntry> {
  for await (const entry of entries) yield { ...entry, path: entry.path.slice(1) }
}

async function* withRoot(entries: AsyncIterable<SnapshotEntry>): AsyncGenerator<SnapshotEntry> {
  for await (const entry of entries) yield { ...entry, path: `/${entry.path}` }
}

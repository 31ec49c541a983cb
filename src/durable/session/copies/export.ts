/** Exports a session as text, and imports an export as a new session with the same conversation. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { type Entry, isCompacted } from '#agent/core/history.ts'
import { type Message, textIn } from '#agent/core/message.ts'
import { allMarks } from '#agent/core/marks.ts'
import { estimateMessageTokens } from '#agent/prompt/estimate-tokens.ts'
import { type ExportFormat, renderExport } from '#agent/public-api/export.ts'
import type { ExportedFile, ExportSource } from '#agent/public-api/export-source.ts'
import { type ExportedMessage, fromExportedMessage, toExportedMessage } from '#agent/public-api/exported-message.ts'
import { canStore, loadImages } from '#durable/workspace/attachments.ts'
import { textStream } from '#durable/platform/byte-stream.ts'
import { importRunId, type Journal } from '#durable/storage/journal.ts'
import { attachmentPrefix, storeMessageImages } from '#durable/workspace/attachments.ts'
import type { Session } from '../session.ts'
import type { NewSession, Rating } from '#durable/storage/session-metadata.ts'
import { findRating, maxRatings } from '../core/ratings.ts'
import { iso } from '../views/api-views.ts'
import { clock } from '#durable/platform/clock.ts'
import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import type { Files, FileStat } from '#agent/core/backend.ts'
import { workspaceFiles } from '../core/files.ts'
import { blobPrefix } from '#durable/platform/addresses.ts'

export type ExportOptions = {
  readonly format: ExportFormat
  readonly hasFiles: boolean
  /** Leaves out what only the agent saw: calls, results, thinking, and messages of the system. */
  readonly saidOnly?: boolean
  /** For everybody: up to this message, and without ids. */
  readonly through?: number
  /** Only the messages of this run. */
  readonly runId?: string
}

/** Streams the current conversation; messages that arrive during the export are not included. */
export function exportSession(
  session: Session,
  { format, hasFiles, saidOnly = false, through, runId }: ExportOptions,
  blobs: R2Bucket | undefined,
): ReadableStream<Uint8Array> {
  const { id, title, source, model, tags, createdAt, prompt } = session.meta
  const exported: ExportSource = {
    session: { id, title, source, model, ...(tags?.length && { tags }), created_at: iso(createdAt) },
    system: prompt,
    messages: exportedMessages(session, {
      blobs,
      within: blobPrefix(session.tenantId),
      saidOnly,
      through,
      entries: runId === undefined ? readEntries(session.journal) : session.journal.entriesOfRun(runId),
    }),
    ...(through !== undefined && { isPublic: true as const }),
    ...(hasFiles && { files: exportFiles(session) }),
  }
  return textStream(renderExport(format, exported))
}

/** Reads the conversation row by row, so that it is never in memory as a whole. */
function readEntries(journal: Journal): Generator<Entry> {
  const rows = journal.listRows()
  const end = rows.at(-1)
  // The last row may still grow.
  const last = end ? journal.row(end.n).row.entries.at(-1)?.seq : undefined
  return (function* () {
    for (const { n } of rows) for (const entry of journal.row(n).row.entries) if (entry.seq <= (last ?? 0)) yield entry
  })()
}

async function* exportedMessages(
  session: Session,
  images: {
    readonly blobs: R2Bucket | undefined
    readonly within: string
    readonly saidOnly: boolean
    readonly through: number | undefined
    readonly entries: Iterable<Entry>
  },
): AsyncGenerator<ExportedMessage> {
  const { journal } = session
  const summary = journal.summaryFrom(1)
  for (const { id, seq, runId, at, covers, keeps, effects, message } of images.entries) {
    if (seq > (images.through ?? Infinity)) return
    if (images.saidOnly && !isSaid(message)) continue
    const [loaded = message] = await loadImages([message], images.blobs, images.within)
    const position = { id, seq, run_id: runId, created_at: iso(at), compacted: isCompacted(seq, summary) }
    const replaced = covers !== undefined && { covers, ...(keeps && { keeps }), ...(effects && { effects }) }
    const exported = toExportedMessage(images.saidOnly ? withoutWork(loaded) : loaded)
    yield { ...position, ...exported, ...replaced, ...(images.saidOnly ? {} : ratingOf(session, seq)) }
  }
}

function ratingOf(session: Session, seq: number): Pick<ExportedMessage, 'rating'> {
  const rating = findRating(session, seq)
  return rating ? { rating } : {}
}

/** Whether people wrote or read the message. */
const isSaid = (message: Message): boolean =>
  message.role === 'user' ? message.source === undefined : message.role === 'assistant' && textIn(message) !== ''

const withoutWork = (message: Message): Message =>
  message.role === 'assistant'
    ? { ...message, content: message.content.filter(({ type }) => type === 'text') }
    : message

export type ImportedSession = {
  readonly title: string | null
  readonly model: string | null
  readonly tags?: readonly string[] | undefined
  readonly messages: readonly ExportedMessage[]
  readonly files?: readonly ExportedFile[]
}

/** A longer run is split into several rows. */
const maxRowChars = 400_000

/**
 * Imports messages into an empty session. Repeating it changes nothing. Returns the index of the first message that no
 * row can hold; nothing is imported then.
 */
export async function importSession(
  session: Session,
  { title, model, tags, messages, files = [] }: ImportedSession,
  { authority, blobs }: { readonly authority: Authority; readonly blobs: R2Bucket | undefined },
): Promise<number | undefined> {
  const now = clock.now()
  const given = messages.map(fromExportedMessage)
  const tooLarge = given.findIndex((message) => !canStore(message, blobs))
  if (tooLarge >= 0) return tooLarge
  const imagePrefix = attachmentPrefix(session.tenantId, session.sessionId)
  const whole = await Promise.all(given.map((message) => storeMessageImages(message, blobs, imagePrefix)))
  if (session.exists) return undefined
  const maxSeqs = runningMaximum(messages.map(({ seq }, i) => seq ?? i + 1))
  const entries = whole.map((message, i): Entry => {
    const exported = messages[i] as ExportedMessage
    const { run_id: runId, created_at: at } = exported
    return {
      id: `msg_${i + 1}`,
      seq: i + 1,
      runId: runId && /^[\w.:-]{1,160}$/.test(runId) ? runId : importRunId,
      at: at ? Date.parse(at) : now,
      tokens: estimateMessageTokens(message),
      // An export may come from anybody.
      message: { ...message, marks: allMarks },
      ...(isSummary(message) && renumberSummary(exported, i, maxSeqs)),
    }
  })
  const spec: NewSession = { title, model, tags, source: 'import' }
  session.create(spec, authority)
  const ratings = messages.flatMap(({ rating }, i): readonly Rating[] =>
    rating && whole[i]?.role === 'assistant'
      ? [
          {
            seq: i + 1,
            value: rating.value,
            ...(rating.note && { note: rating.note }),
            at: now,
            authority,
            isReviewed: true,
          },
        ]
      : [],
  )
  if (ratings.length) session.updateMeta({ ratings: ratings.slice(-maxRatings) })
  session.adopt(session.meta, groupIntoRows(entries))
  await importFiles(session, files)
  await session.billing.reportStorage()
  return undefined
}

/** Messages are renumbered: a summary covers and keeps the same ones as before. */
function renumberSummary(
  { covers, keeps, effects }: ExportedMessage,
  index: number,
  maxSeqs: readonly number[],
): Pick<Entry, 'covers' | 'keeps' | 'effects'> {
  if (typeof covers !== 'number') return {}
  const last = Math.min(index, countUpTo(maxSeqs, covers))
  const renumber = (seqs: readonly number[]) =>
    seqs.map((seq) => countUpTo(maxSeqs, seq)).filter((seq) => seq > 0 && seq <= last)
  return {
    covers: last,
    ...(keeps && { keeps: { head: renumber(keeps.head), requests: renumber(keeps.requests) } }),
    ...(effects && { effects }),
  }
}

const isSummary = (message: Message): boolean => message.role === 'user' && message.source === 'summary'

/** Returns the highest number up to each index, so that the result is sorted even if the import is not. */
function runningMaximum(seqs: readonly number[]): readonly number[] {
  let high = 0
  return seqs.map((seq) => (high = Math.max(high, seq)))
}

/** Counts the leading numbers up to `maxSeq`. Called for every message, therefore a binary search. */
function countUpTo(rising: readonly number[], maxSeq: number): number {
  let [low, high] = [0, rising.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((rising[middle] ?? 0) <= maxSeq) low = middle + 1
    else high = middle
  }
  return low
}

function groupIntoRows(entries: readonly Entry[]) {
  const rows: { n: number; runId: string; entries: Entry[]; length: number }[] = []
  for (const entry of entries) {
    const open = rows.at(-1)
    const length = JSON.stringify(entry).length
    const isFull = !open || open.runId !== entry.runId || open.length + length > maxRowChars
    const isStepEnd = open?.entries.at(-1)?.message.role === 'assistant' && entry.runId !== importRunId
    if (isFull || isStepEnd) rows.push({ n: entry.seq, runId: entry.runId, entries: [entry], length })
    else {
      open.entries.push(entry)
      open.length += length
    }
  }
  return rows
}

const maxFiles = 2_000
const maxFolders = 500
/** One file is in memory at a time, as bytes and as base64. */
const maxFileBytes = 8 * 2 ** 20
const maxTotalBytes = 64 * 2 ** 20

/** Yields files in the order of their folders. What exceeds a limit is named without content. */
async function* exportFiles({ toolRuntime: { backend } }: Session): AsyncGenerator<ExportedFile> {
  const { userFiles } = backend
  const root = backend.resolve('.')
  let [count, total] = [0, 0]
  for await (const { path, size } of listFiles(userFiles, root)) {
    if (++count > maxFiles) return
    const named = { path: path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path, bytes: size }
    const isFitting = size <= maxFileBytes && total + size <= maxTotalBytes
    const bytes = isFitting ? await userFiles.read(path) : undefined
    total += bytes?.byteLength ?? 0
    yield bytes ? { ...named, content: encodeBase64Bytes(bytes) } : { ...named, omitted: 'too large' }
  }
}

/** Links are not followed. */
async function* listFiles(files: Files, root: string): AsyncGenerator<FileStat> {
  const folders = [root]
  for (const folder of folders) {
    for (const stat of await files.list(folder)) {
      if (stat.type === 'directory' && folders.length < maxFolders) folders.push(stat.path)
      if (stat.type === 'file') yield stat
    }
  }
}

/**
 * Files that the workspace refuses are skipped: a path outside of it, or more than the backend can store. They count as
 * written by somebody else.
 */
async function importFiles(session: Session, files: readonly ExportedFile[]): Promise<void> {
  const workspace = workspaceFiles(session, 'import')
  for (const { path, content } of files)
    if (content !== undefined) await workspace.write(path, decodeBase64Bytes(content))
}

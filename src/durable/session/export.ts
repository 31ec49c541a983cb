/** A session goes out as text, and comes in again as another session with the same conversation. */

import type { Entry } from '../../agent/model/history.ts'
import type { Message } from '../../agent/model/message.ts'
import { estimateMessageTokens } from '../../agent/prompt/estimate-tokens.ts'
import { type ExportFormat, renderExport } from '../../agent/public-api/export.ts'
import type { ExportSource } from '../../agent/public-api/export-source.ts'
import {
  type ExportedMessage,
  fromExportedMessage,
  toExportedMessage,
} from '../../agent/public-api/exported-message.ts'
import { canStore, tenantImagePrefix, loadImages } from '../workspace/attachments.ts'
import { textStream } from '../platform/byte-stream.ts'
import { importRunId, type Journal } from '../storage/journal.ts'
import { storeMessage } from './request-intake.ts'
import type { Session } from './session.ts'
import type { NewSession } from '../storage/session-metadata.ts'
import { iso } from './api-views.ts'
import { clock } from '../platform/clock.ts'

/** What was said so far; what is said while it is read is not in it. */
export function exportSession(
  core: Session,
  format: ExportFormat,
  blobs: R2Bucket | undefined,
): ReadableStream<Uint8Array> {
  const { id, title, source, model, createdAt, prompt } = core.meta
  const exported: ExportSource = {
    session: { id, title, source, model, created_at: iso(createdAt) },
    system: prompt,
    messages: messagesOf(entriesNow(core.journal), core.journal.coveredFrom(1), {
      blobs,
      within: tenantImagePrefix(core.tenantId),
    }),
  }
  return textStream(renderExport(format, exported))
}

/** The conversation as it stands now, read row by row, so that it is not held all at once. */
function entriesNow(journal: Journal): Generator<Entry> {
  const places = journal.listRows()
  const end = places.at(-1)
  // The last row may be one that goes on.
  const last = end ? journal.row(end.n).row.entries.at(-1)?.seq : undefined
  return (function* () {
    for (const { n } of places) for (const entry of journal.row(n).row.entries) if (entry.seq <= (last ?? 0)) yield entry
  })()
}

async function* messagesOf(
  entries: Iterable<Entry>,
  compactedThrough: number,
  pictures: { readonly blobs: R2Bucket | undefined; readonly within: string },
): AsyncGenerator<ExportedMessage> {
  for (const { id, seq, runId, at, covers, message } of entries) {
    const [whole = message] = await loadImages([message], pictures.blobs, pictures.within)
    const place = { id, seq, run_id: runId, created_at: iso(at), compacted: seq <= compactedThrough }
    yield { ...place, ...toExportedMessage(whole), ...(covers !== undefined && { covers }) }
  }
}

export type Imported = {
  readonly title: string | null
  readonly model: string | null
  readonly messages: readonly ExportedMessage[]
}

/** Characters of one row: what belongs together may be too much for one. */
const rowLength = 400_000

/** Doing it twice is doing it once. Gives back which message no row holds: then nothing was imported. */
export async function importSession(
  core: Session,
  { title, model, messages }: Imported,
  blobs: R2Bucket | undefined,
): Promise<number | undefined> {
  const now = clock.now()
  const given = messages.map(fromExportedMessage)
  const tooLarge = given.findIndex((message) => !canStore(message, blobs))
  if (tooLarge >= 0) return tooLarge
  const whole = await Promise.all(given.map((message) => storeMessage(core, message, blobs)))
  if (core.exists) return undefined
  const reached = highest(messages.map(({ seq }, i) => seq ?? i + 1))
  const entries = whole.map((message, i): Entry => {
    const { run_id: runId, created_at: at, covers } = messages[i] as ExportedMessage
    return {
      id: `msg_${i + 1}`,
      seq: i + 1,
      runId: runId && /^[\w-]{1,128}$/.test(runId) ? runId : importRunId,
      at: at ? Date.parse(at) : now,
      tokens: estimateMessageTokens(message),
      message,
      // Numbers are given anew: it covers as many messages as it did.
      ...(typeof covers === 'number' && isSummary(message) && { covers: Math.min(i, through(reached, covers)) }),
    }
  })
  const spec: NewSession = { title, model, source: 'import' }
  core.create(spec)
  core.adopt(core.meta, rowsOf(entries))
  await core.billing.reportStorage()
  return undefined
}

const isSummary = (message: Message): boolean => message.role === 'user' && message.source === 'summary'

/** Of each number the highest up to it: they rise, even where what was given does not. */
function highest(seqs: readonly number[]): readonly number[] {
  let high = 0
  return seqs.map((seq) => (high = Math.max(high, seq)))
}

/** How many of them, from the first on, are at most this. Every message may ask, so that looking at all would take too long. */
function through(rising: readonly number[], most: number): number {
  let [low, high] = [0, rising.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((rising[middle] ?? 0) <= most) low = middle + 1
    else high = middle
  }
  return low
}

function rowsOf(entries: readonly Entry[]) {
  const rows: { n: number; runId: string; entries: Entry[]; length: number }[] = []
  for (const entry of entries) {
    const open = rows.at(-1)
    const length = JSON.stringify(entry).length
    const isFull = !open || open.runId !== entry.runId || open.length + length > rowLength
    const hasSpoken = open?.entries.at(-1)?.message.role === 'assistant' && entry.runId !== importRunId
    if (isFull || hasSpoken) rows.push({ n: entry.seq, runId: entry.runId, entries: [entry], length })
    else {
      open.entries.push(entry)
      open.length += length
    }
  }
  return rows
}

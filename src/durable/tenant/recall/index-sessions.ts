/**
 * Embeds the sessions of a tenant in slices: one request to the model each. What history has more than the index, or less,
 * decides the work, so that a slice can be repeated after any failure.
 */

import type { HistoryStore, Page } from '#agent/core/history.ts'
import { classifySource } from '#agent/memory/session-source.ts'
import { getSearchableText, normalizeText } from '#db/index-text.ts'
import type { IndexedSession } from '#db/search/similar.ts'
import type { IndexProgress, VectorRows } from './vector-rows.ts'

/** A text that gets one vector, with its first message. */
export type Chunk = { readonly page: number; readonly seq: number; readonly offset: number; readonly text: string }

const maxChunkChars = 1_800
const maxChunksPerPage = 32
const chunksPerSlice = 64
const sliceBytes = 2 ** 20

export type IndexOptions = {
  readonly rows: VectorRows
  readonly history: Pick<HistoryStore, 'readSyncState' | 'listPages'>
  readonly embed: (texts: readonly string[]) => Promise<readonly (readonly number[])[]>
}

/** Embeds the next pages of a session that is queued. */
export async function indexSlice(
  { rows, history, embed }: IndexOptions,
  { session, due }: { readonly session: string; readonly due: number },
): Promise<void> {
  const stored = await history.readSyncState(session)
  if (!stored) return rows.remove(session)
  const isHidden = classifySource(stored.record.source) === 'hidden'
  const fresh = await readFresh({ rows, history }, session)
  const taken: { readonly page: Page; readonly chunks: readonly Chunk[] }[] = []
  let count = 0
  for (const page of fresh) {
    const chunks = isHidden ? [] : splitPage(page)
    if (count > 0 && count + chunks.length > chunksPerSlice) break
    taken.push({ page, chunks })
    count += chunks.length
  }
  const chunks = taken.flatMap((one) => one.chunks)
  const vectors = chunks.length ? await embed(chunks.map(({ text }) => text)) : []
  // The session was deleted, or the model was changed, during the call.
  if (!rows.isQueued(session)) return
  const last = taken.at(-1)?.page
  const embedded = chunks.map(({ text: _text, ...chunk }, i) => ({ ...chunk, vector: vectors[i] ?? [] }))
  if (last) rows.add(session, embedded, progressOf(last))
  if (!last || progressOf(last).last >= stored.through) rows.dequeue(session, due)
}

/** The pages that are not embedded. A page that is gone means that the session was shortened: it is read anew. */
async function readFresh(
  { rows, history }: Pick<IndexOptions, 'rows' | 'history'>,
  session: string,
): Promise<readonly Page[]> {
  const progress = rows.progress(session)
  if (!progress) return history.listPages(session, 0, sliceBytes)
  const [first, ...later] = await history.listPages(session, progress.page - 1, sliceBytes)
  if (first?.n !== progress.page) {
    rows.removeFrom(session, 0)
    return history.listPages(session, 0, sliceBytes)
  }
  if (progressOf(first).last === progress.last) return later
  rows.removeFrom(session, first.n)
  return [first, ...later]
}

const progressOf = ({ n, entries }: Page): IndexProgress => ({ page: n, last: entries.at(-1)?.seq ?? n })

/** Queues the sessions of a list that differ from the index. */
export function queueDifferences(rows: VectorRows, sessions: readonly IndexedSession[], now: number): void {
  for (const { id, through } of sessions) if (rows.progress(id)?.last !== through) rows.queue(id, now)
}

/** Joins the messages of a page to texts of some length. Results of tools are left out: the words find them. */
export function splitPage(page: Page): readonly Chunk[] {
  if (page.indexed === false) return []
  const chunks: Chunk[] = []
  for (const entry of page.entries) {
    if (entry.message.role === 'tool') continue
    const text = normalizeText(getSearchableText(entry)).trim()
    for (let offset = 0; offset < text.length;) {
      const last = chunks.at(-1)
      const room = maxChunkChars - (last && offset === 0 ? last.text.length + 1 : 0)
      const isJoined = last !== undefined && offset === 0 && text.length <= room
      const part = isJoined ? text : cutAtSpace(text.slice(offset), maxChunkChars)
      if (isJoined) chunks[chunks.length - 1] = { ...last, text: `${last.text}\n${part}` }
      else chunks.push({ page: page.n, seq: entry.seq, offset, text: part })
      offset += part.length
    }
  }
  return chunks.slice(0, maxChunksPerPage)
}

function cutAtSpace(text: string, max: number): string {
  if (text.length <= max) return text
  const space = text.lastIndexOf(' ', max)
  return text.slice(0, space > max / 2 ? space : max)
}

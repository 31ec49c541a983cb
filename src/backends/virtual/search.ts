/**
 * Searches names and contents of workspace files, without a shell. Only the beginning of a long line is searched, and
 * after `maxBytes` the result is marked as truncated.
 */

import type { FileHit, FileQuery, FileSearchResult } from '#agent/core/backend.ts'
import type { LineMatcher } from '../search/line-matcher.ts'
import { requiredText } from './search-pattern.ts'
import { glob } from './glob.ts'
import type { FileEntry, SqlFiles } from './sql-files.ts'

const maxLineChars = 2000
/** Characters of texts that are matched in one call. */
const maxBatchChars = 1024 * 1024
/** Files after which other tasks of the Durable Object may run. */
const yieldEveryFiles = 200
/** Bytes that are checked for NUL to detect a binary file. */
const binaryCheckBytes = 8192
const skippedFolders = /(^|\/)(\.git|node_modules)\//

type Hits = { readonly page: FileHit[]; total: number }

export type SearchIn = { readonly files: SqlFiles; readonly match: LineMatcher; readonly maxBytes: number }

export async function search(within: SearchIn, root: string, query: FileQuery): Promise<FileSearchResult> {
  const { files } = within
  const found = files.stat(root) ? files.walk(root) : []
  const entries = found.filter(({ kind, path }) => kind === 'file' && !skippedFolders.test(relative(path, root)))
  if (query.target === 'files') return byName(entries, root, query)
  const matches = query.glob === undefined ? () => true : glob(query.glob)
  const excluded = new Set(query.exclude)
  return byContent(
    within,
    entries.filter(({ path }) => !excluded.has(path) && matches(relative(path, root))),
    query,
  )
}

const relative = (path: string, root: string): string =>
  path === root ? path.slice(path.lastIndexOf('/') + 1) : path.slice(root === '/' ? 1 : root.length + 1)

function byName(entries: readonly FileEntry[], root: string, { pattern, limit, offset }: FileQuery): FileSearchResult {
  const matches = glob(pattern)
  const hits = entries.filter(({ path }) => matches(relative(path, root))).map(({ path }) => ({ path }))
  return { hits: hits.slice(offset, offset + limit), total: hits.length, truncated: hits.length > offset + limit }
}

type FoundText = { readonly path: string; readonly text: string }

/** Texts are matched in batches, so that a search of many files needs few calls of the isolate. */
async function byContent(
  { files, match, maxBytes }: SearchIn,
  entries: readonly FileEntry[],
  query: FileQuery,
): Promise<FileSearchResult> {
  const required = requiredText(query.pattern)
  const hits: Hits = { page: [], total: 0 }
  const matchBatch = async (batch: readonly FoundText[]) => {
    const texts = batch.map(({ text }) => text)
    const lines = await match(query.pattern, texts)
    for (const [i, { path, text }] of batch.entries()) addHits(hits, { path, text, lines: lines[i] ?? [] }, query)
  }
  let [bytes, batchChars] = [0, 0]
  let batch: FoundText[] = []
  for (const [i, entry] of entries.entries()) {
    if (i % yieldEveryFiles === yieldEveryFiles - 1) await scheduler.wait(0)
    bytes += entry.size
    if (bytes > maxBytes) break
    const text = asText(await files.read(entry.path))
    if (!text?.includes(required)) continue
    if (text.length > maxBatchChars) {
      const lines = await matchLongText(match, query.pattern, text)
      addHits(hits, { path: entry.path, text, lines }, query)
      continue
    }
    batch.push({ path: entry.path, text })
    batchChars += text.length
    if (batchChars < maxBatchChars) continue
    await matchBatch(batch)
    batch = []
    batchChars = 0
  }
  // Also without texts: an invalid pattern is an error.
  await matchBatch(batch)
  const isCut = bytes > maxBytes
  return { hits: hits.page, total: hits.total, truncated: isCut || hits.total > query.offset + hits.page.length }
}

function asText(bytes: Uint8Array): string | undefined {
  return bytes.subarray(0, binaryCheckBytes).includes(0) ? undefined : new TextDecoder().decode(bytes)
}

/** Matches a text in pieces, because a message to the isolate has a maximum size. */
async function matchLongText(match: LineMatcher, pattern: string, text: string): Promise<readonly number[]> {
  let lines: readonly number[] = []
  let firstLine = 0
  for (let start = 0; start < text.length;) {
    const end = text.indexOf('\n', start + maxBatchChars)
    const piece = end < 0 ? text.slice(start) : text.slice(start, end + 1)
    const [found = []] = await match(pattern, [piece])
    const before = firstLine
    lines = lines.concat(found.map((line) => before + line))
    start += piece.length
    for (let at = piece.indexOf('\n'); at >= 0; at = piece.indexOf('\n', at + 1)) firstLine++
  }
  return lines
}

type MatchedText = FoundText & { readonly lines: readonly number[] }

function addHits(hits: Hits, { path, text, lines: matching }: MatchedText, { offset, limit, context = 0 }: FileQuery) {
  const first = Math.max(0, offset - hits.total)
  const shown = matching.slice(first, Math.max(first, offset + limit - hits.total))
  hits.total += matching.length
  if (!shown.length) return
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  for (const i of shown) {
    const hit = { path, line: i + 1, text: clamp(lines[i] ?? '') }
    if (context === 0) hits.page.push(hit)
    else hits.page.push({ ...hit, before: around(lines, i - context, i), after: around(lines, i + 1, i + 1 + context) })
  }
}

const clamp = (line: string): string => line.slice(0, maxLineChars).replace(/\r$/, '')
const around = (lines: readonly string[], from: number, to: number): string[] =>
  lines.slice(Math.max(0, from), Math.max(0, to)).map(clamp)

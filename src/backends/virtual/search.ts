/**
 * Searches names and contents of workspace files, without a shell. Only the beginning of a long line is searched, and
 * after 64 MiB the result is marked as truncated.
 */

import type { SearchHit, SearchQuery, SearchResult } from '../../agent/model/backend.ts'
import { parseSearchPattern, requiredText } from './search-pattern.ts'
import { glob } from './glob.ts'
import type { Entry, SqlFiles } from './sql-files.ts'

const maxLineChars = 2000
const maxSearchedBytes = 64 * 1024 * 1024
/** Files after which other tasks of the Durable Object may run. */
const yieldEveryFiles = 200
/** Bytes that are checked for NUL to detect a binary file. */
const binaryCheckBytes = 8192
const skippedFolders = /(^|\/)(\.git|node_modules)\//

type Hits = { readonly page: SearchHit[]; total: number }

export async function search(files: SqlFiles, root: string, query: SearchQuery): Promise<SearchResult> {
  const found = files.stat(root) ? files.walk(root) : []
  const within = found.filter(({ kind, path }) => kind === 'file' && !skippedFolders.test(relative(path, root)))
  if (query.target === 'files') return byName(within, root, query)
  const matches = query.glob === undefined ? () => true : glob(query.glob)
  return byContent(
    files,
    within.filter(({ path }) => matches(relative(path, root))),
    query,
  )
}

const relative = (path: string, root: string): string =>
  path === root ? path.slice(path.lastIndexOf('/') + 1) : path.slice(root === '/' ? 1 : root.length + 1)

function byName(entries: readonly Entry[], root: string, { pattern, limit, offset }: SearchQuery): SearchResult {
  const matches = glob(pattern)
  const hits = entries.filter(({ path }) => matches(relative(path, root))).map(({ path }) => ({ path }))
  return { hits: hits.slice(offset, offset + limit), total: hits.length, truncated: hits.length > offset + limit }
}

async function byContent(files: SqlFiles, entries: readonly Entry[], query: SearchQuery): Promise<SearchResult> {
  const expression = parseSearchPattern(query.pattern)
  const required = requiredText(query.pattern)
  const hits: Hits = { page: [], total: 0 }
  let bytes = 0
  for (const [i, entry] of entries.entries()) {
    if (i % yieldEveryFiles === yieldEveryFiles - 1) await scheduler.wait(0)
    bytes += entry.size
    if (bytes > maxSearchedBytes) return { hits: hits.page, total: hits.total, truncated: true }
    const text = asText(await files.read(entry.path))
    if (text?.includes(required)) searchLines(entry.path, text, { expression, query, hits })
  }
  return { hits: hits.page, total: hits.total, truncated: hits.total > query.offset + hits.page.length }
}

function asText(bytes: Uint8Array): string | undefined {
  return bytes.subarray(0, binaryCheckBytes).includes(0) ? undefined : new TextDecoder().decode(bytes)
}

type Scan = { readonly expression: RegExp; readonly query: SearchQuery; readonly hits: Hits }

function searchLines(path: string, text: string, { expression, query, hits }: Scan): void {
  const { offset, limit, context = 0 } = query
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  for (const [i, line] of lines.entries()) {
    if (!expression.test(clamp(line))) continue
    const index = hits.total++
    if (index < offset || index >= offset + limit) continue
    const hit = { path, line: i + 1, text: clamp(line) }
    if (context === 0) hits.page.push(hit)
    else hits.page.push({ ...hit, before: around(lines, i - context, i), after: around(lines, i + 1, i + 1 + context) })
  }
}

const clamp = (line: string): string => line.slice(0, maxLineChars).replace(/\r$/, '')
const around = (lines: readonly string[], from: number, to: number): string[] =>
  lines.slice(Math.max(0, from), Math.max(0, to)).map(clamp)

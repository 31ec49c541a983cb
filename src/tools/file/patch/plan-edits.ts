/** Computes all edits of a patch before the first file is written. */

import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { ToolResult } from '#agent/core/tool.ts'
import { fail } from '../../tool-result.ts'
import { isTextFile, readEditableFile } from '../read-text-file.ts'
import type { Hunk, PatchOperation } from './parse-patch.ts'
import { byteOrderMark, removeByteOrderMark } from './byte-order-mark.ts'
import { findHintedStarts } from './hinted-lines.ts'
import type { MatchSpan } from './normalised-search.ts'
import { describeClosestLine, describeLocation, fitReplacement } from './replace-text.ts'
import { matchStrategies, type MatchStrategy } from './match-strategies.ts'

/** `before` is undefined for a new file, `after` for a deleted one. Paths are canonical. */
export type FileEdit = {
  readonly path: string
  readonly before: string | undefined
  readonly after: string | undefined
}

export type EditPlan = { readonly edits: readonly FileEdit[] }

/** The state of files after the earlier changes of the same patch, by path. */
type DraftEdits = Map<string, FileEdit>

export async function planEdits(
  backend: ExecutionBackend,
  changes: readonly PatchOperation[],
): Promise<EditPlan | ToolResult> {
  const draft: DraftEdits = new Map()
  for (const change of changes) {
    const failure = await addChange(backend, draft, change)
    if (failure) return failure
  }
  return { edits: [...draft.values()].filter(({ before, after }) => before !== after) }
}

const nothingWritten = 'Nothing was written.'

async function addChange(
  backend: ExecutionBackend,
  draft: DraftEdits,
  change: PatchOperation,
): Promise<ToolResult | undefined> {
  const path = backend.resolve(change.path)
  if (change.do === 'add') return addNewFile(backend, draft, path, change.content)
  const current = await loadDraft(backend, draft, path)
  if (!('before' in current)) return current
  if (change.do === 'delete') {
    draft.set(path, { ...current, after: undefined })
    return undefined
  }
  const result = applyHunks(current.after ?? '', change.hunks)
  if ('error' in result) return fail(`${change.path}: ${result.error} ${nothingWritten}`)
  if (change.moveTo === undefined) {
    draft.set(path, { ...current, after: result.text })
    return undefined
  }
  draft.set(path, { ...current, after: undefined })
  return addNewFile(backend, draft, backend.resolve(change.moveTo), result.text)
}

async function addNewFile(
  backend: ExecutionBackend,
  draft: DraftEdits,
  path: string,
  content: string,
): Promise<ToolResult | undefined> {
  const drafted = draft.get(path)
  const exists = drafted ? drafted.after !== undefined : (await backend.files.stat(path)) !== undefined
  if (exists) return fail(`${path} exists already: use "*** Update File". ${nothingWritten}`)
  draft.set(path, { path, before: drafted?.before, after: content })
  return undefined
}

async function loadDraft(backend: ExecutionBackend, draft: DraftEdits, path: string): Promise<FileEdit | ToolResult> {
  const drafted = draft.get(path)
  if (drafted?.after !== undefined) return drafted
  if (drafted) return fail(`${path} is deleted earlier in this patch. ${nothingWritten}`)
  const file = await readEditableFile(backend, path)
  return isTextFile(file) ? { path, before: file.text, after: file.text } : file
}

type AppliedHunks = { readonly text: string } | { readonly error: string }

/** Applies all hunks of a file or none. Each hunk is searched for after the one before it. */
function applyHunks(text: string, hunks: readonly Hunk[]): AppliedHunks {
  if (!text.startsWith(byteOrderMark)) return applyInOrder(text, hunks)
  const unmarkedHunks = hunks.map((hunk) => ({
    ...hunk,
    before: hunk.before.map(removeByteOrderMark),
    after: hunk.after.map(removeByteOrderMark),
  }))
  const result = applyInOrder(removeByteOrderMark(text), unmarkedHunks)
  return 'error' in result ? result : { text: byteOrderMark + result.text }
}

function applyInOrder(text: string, hunks: readonly Hunk[]): AppliedHunks {
  // Hunks have plain newlines. A file with Windows line ends is converted, patched and converted back.
  const hasWindowsLines = text.includes('\r\n') && !/[^\r]\n/.test(text)
  let current = hasWindowsLines ? text.replaceAll('\r\n', '\n') : text
  let from = 0
  for (const [i, hunk] of hunks.entries()) {
    const result = applyHunk(current, hunk, from)
    if ('error' in result) return { error: `hunk ${i + 1} does not fit: ${result.error}` }
    current = result.text
    from = result.next
  }
  return { text: hasWindowsLines ? current.replaceAll('\n', '\r\n') : current }
}

type HunkResult = { readonly text: string; readonly next: number } | { readonly error: string }

function applyHunk(text: string, hunk: Hunk, from: number): HunkResult {
  const starts = findHintedStarts(text, hunk.hints, from)
  if (typeof starts === 'string') return { error: starts }
  if (hunk.before.length === 0) return insertLines(text, hunk, starts)
  const candidates = starts.map((start) => findPlace(text, hunk, start))
  const found = new Map(candidates.flatMap((match) => ('error' in match ? [] : [[match.span.start, match]])))
  const [match = candidates[0], ...others] = found.values()
  if (!match) return { error: 'it has no place' }
  if (others.length > 0)
    return {
      error: describeAmbiguity(
        text,
        [...found.values()].map(({ span }) => span),
      ),
    }
  return 'error' in match ? match : replaceSpan(text, hunk, match)
}

type HunkMatch = { readonly strategy: MatchStrategy; readonly span: MatchSpan }

function findPlace(text: string, hunk: Hunk, start: number): HunkMatch | { readonly error: string } {
  const before = hunk.before.join('\n')
  // A hunk without hints may be out of order, so the whole file is searched as well.
  const match = locateLines(text, before, start) ?? (hunk.hints.length === 0 ? locateLines(text, before, 0) : undefined)
  const [span, ...others] = match?.spans ?? []
  if (!match || !span) return { error: `its lines were not found. ${describeClosestLine(text, before)}` }
  if (others.length > 0 && hunk.hints.length === 0) return { error: describeAmbiguity(text, [span, ...others]) }
  return { strategy: match.strategy, span }
}

type HunkSpans = { readonly strategy: MatchStrategy; readonly spans: readonly MatchSpan[] }

/** Matches whole lines only, because a hunk never changes a part of a line. */
function locateLines(text: string, passage: string, from: number): HunkSpans | undefined {
  const tail = text.slice(from)
  const isWholeLines = ({ start, end }: MatchSpan): boolean =>
    (start === 0 || tail[start - 1] === '\n') && (end === tail.length || tail[end] === '\n')
  for (const strategy of matchStrategies) {
    const spans = strategy.locate(tail, passage).filter(isWholeLines)
    if (spans.length > 0)
      return { strategy, spans: spans.map(({ start, end }) => ({ start: start + from, end: end + from })) }
  }
  return undefined
}

const describeAmbiguity = (text: string, spans: readonly Pick<MatchSpan, 'start'>[]): string => {
  const candidates = spans.slice(0, 5).map(({ start }) => describeLocation(text, start))
  return `it fits ${spans.length} places; name one by "@@ a line above it" or more context: ${candidates.join('; ')}`
}

function replaceSpan(text: string, hunk: Hunk, { strategy, span }: HunkMatch): HunkResult {
  const [from, to] = [hunk.before.join('\n'), hunk.after.join('\n')]
  const lines = fitReplacement(strategy, text.slice(span.start, span.end), { from, to })
  // When a hunk only deletes lines, their last newline is deleted as well.
  const end = hunk.after.length === 0 && text[span.end] === '\n' ? span.end + 1 : span.end
  return { text: text.slice(0, span.start) + lines + text.slice(end), next: span.start + lines.length }
}

/** Inserts a hunk without old lines: below the hinted line, or at the end of the file. */
function insertLines(text: string, { hints, after }: Hunk, starts: readonly number[]): HunkResult {
  if (starts.length > 1)
    return {
      error: describeAmbiguity(
        text,
        starts.map((start) => ({ start })),
      ),
    }
  const lines = `${after.join('\n')}\n`
  const end = text.indexOf('\n', starts[0])
  if (hints.length === 0 || end < 0) {
    const isWholeLines = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${lines}`
    return { text: isWholeLines, next: isWholeLines.length }
  }
  return { text: text.slice(0, end + 1) + lines + text.slice(end + 1), next: end + 1 + lines.length }
}

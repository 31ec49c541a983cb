/** Replaces a passage that a model quotes from memory, or returns an error with the likely locations. */

import { similarity } from '../similarity.ts'
import { isNumbered, removeLineNumbers } from '../numbered-lines.ts'
import { byteOrderMark, removeByteOrderMark } from './byte-order-mark.ts'
import { type MatchSpan, normaliseForm } from './normalised-search.ts'
import { matchStrategies, type MatchStrategy, unescapeText } from './match-strategies.ts'
import { diffArrays } from 'diff'

export type ReplaceResult =
  | { readonly text: string; readonly strategy: string; readonly count: number }
  | { readonly error: string; readonly locations?: readonly string[] }

export type Replacement = { readonly from: string; readonly to: string; readonly all: boolean }

const maxShownLocations = 10

export function replaceText(text: string, replacement: Replacement): ReplaceResult {
  const result = replaceQuoted(text, replacement)
  // Models copy the line numbers of read_file.
  if (!('error' in result) || !isNumbered(replacement.from)) return result
  const [from, to] = [removeLineNumbers(replacement.from), removeLineNumbers(replacement.to)]
  const unnumbered = from.trim() === '' ? result : replaceQuoted(text, { ...replacement, from, to })
  return 'error' in unnumbered && !unnumbered.locations ? result : unnumbered
}

function replaceQuoted(text: string, replacement: Replacement): ReplaceResult {
  if (!text.startsWith(byteOrderMark)) return replaceKeepingLineEnds(text, replacement)
  const { from, to, all } = replacement
  const result = replaceKeepingLineEnds(removeByteOrderMark(text), {
    from: removeByteOrderMark(from),
    to: removeByteOrderMark(to),
    all,
  })
  return 'error' in result ? result : { ...result, text: byteOrderMark + result.text }
}

function replaceKeepingLineEnds(text: string, replacement: Replacement): ReplaceResult {
  // Models write plain newlines. A file with Windows line ends is converted, edited and converted back.
  if (!text.includes('\r\n') || replacement.from.includes('\r')) return replaceMatches(text, replacement)
  if (/[^\r]\n/.test(text)) return replaceMatches(text, replacement)
  const result = replaceMatches(text.replaceAll('\r\n', '\n'), {
    ...replacement,
    to: replacement.to.replaceAll('\r\n', '\n'),
  })
  return 'error' in result ? result : { ...result, text: result.text.replaceAll('\n', '\r\n') }
}

function replaceMatches(text: string, { from, to, all }: Replacement): ReplaceResult {
  const match = findMatch(text, from)
  if (!match) return { error: `old_string was not found. ${describeClosestLine(text, from)}` }
  const { strategy, spans } = match
  if (all && strategy.isApproximate)
    return { error: `old_string fits only approximately (${strategy.name}); replace_all needs the exact text.` }
  if (spans.length > 1 && !all) {
    const error = `old_string fits ${spans.length} places. Add lines around it to name one, or set replace_all.`
    return { error, locations: spans.slice(0, maxShownLocations).map(({ start }) => describeLocation(text, start)) }
  }
  let result = ''
  let position = 0
  for (const { start, end } of spans) {
    result += text.slice(position, start) + fitReplacement(strategy, text.slice(start, end), { from, to })
    position = end
  }
  return { text: result + text.slice(position), strategy: strategy.name, count: spans.length }
}

type TextMatch = { readonly strategy: MatchStrategy; readonly spans: readonly MatchSpan[] }

function findMatch(text: string, passage: string): TextMatch | undefined {
  for (const strategy of matchStrategies) {
    const spans = strategy.locate(text, passage)
    if (spans.length > 0) return { strategy, spans }
  }
  return undefined
}

/** Adapts the new text to an inexact match: unescapes it as the old text, or changes only what the edit changes. */
export function fitReplacement(
  { name }: MatchStrategy,
  found: string,
  { from, to }: Pick<Replacement, 'from' | 'to'>,
): string {
  if (name === 'exact') return to
  return name === 'escape-normalised' ? unescapeText(to) : transferEdit(found, { from, to })
}

export function describeLocation(text: string, at: number): string {
  const line = text.slice(0, at).split('\n').length
  const end = text.indexOf('\n', at)
  return `${line}|${text.slice(text.lastIndexOf('\n', at - 1) + 1, end < 0 ? text.length : end).slice(0, 200)}`
}

const minSimilarity = 0.5
const maxScannedLines = 5000

/** Names the line that is most similar to the first line of the passage. Often the model quotes an older version. */
export function describeClosestLine(text: string, passage: string): string {
  const first =
    passage
      .split('\n')
      .find((line) => line.trim() !== '')
      ?.trim() ?? ''
  let best = { score: minSimilarity, line: '' }
  for (const [i, line] of text.split('\n').slice(0, maxScannedLines).entries()) {
    const score = similarity(line.trim(), first)
    if (score > best.score) best = { score, line: `${i + 1}|${line.slice(0, 200)}` }
  }
  return best.line ? `The closest line is: ${best.line}` : 'Read the file again: it may have changed.'
}

type TextEdit = { readonly from: string; readonly to: string }

/**
 * Applies the difference between the quoted old text and the new text to the passage that was found for the old text.
 * The passage may differ from the quote in quotes, spaces and indentation, and everything that the edit does not change
 * keeps the form of the file.
 */
function transferEdit(found: string, { from, to }: TextEdit): string {
  const [oldLines, newLines, foundLines] = [from, to, found].map(splitPassage) as [string[], string[], string[]]
  const indentation = createIndentation(oldLines, foundLines)
  const lines = pairLines(oldLines, newLines).map(({ line, old }) => {
    const [quoted, kept] = old === undefined ? [undefined, undefined] : [oldLines[old], foundLines[old]]
    if (quoted === undefined || kept === undefined) return indentation.convert(line)
    if (quoted === line) return kept
    const indent = indentOf(line) === indentOf(quoted) ? indentOf(kept) : indentOf(indentation.convert(line))
    return indent + transferWithinLine(kept.trimStart(), quoted.trimStart(), line.trimStart())
  })
  return lines.join('\n') + getEnd(found, { from, to })
}

/** A newline at the end of a passage does not add an empty line. Without a text there is no line. */
const splitPassage = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'))

function getEnd(found: string, { from, to }: TextEdit): string {
  const changes = from.endsWith('\n') !== to.endsWith('\n')
  return (changes ? to : found).endsWith('\n') && to !== '' ? '\n' : ''
}

const indentOf = (line: string): string => /^[^\S\n]*/.exec(line)?.[0] ?? ''

type Indentation = { readonly convert: (line: string) => string }

/** Learns from the lines of the quote how the file indents. */
function createIndentation(quoted: readonly string[], found: readonly string[]): Indentation {
  const known = new Map<string, string>()
  for (const [at, line] of quoted.entries())
    if (line.trim() !== '' && !known.has(indentOf(line))) known.set(indentOf(line), indentOf(found[at] ?? line))
  const units = [...known].map(([from, to]) => findUnits(from, to)).find((unit) => unit !== undefined)
  const byLength = [...known].toSorted(([one], [other]) => other.length - one.length)
  return {
    convert: (line) => {
      const indent = indentOf(line)
      if (line.trim() === '') return line
      const [from, to] = byLength.find(([begin]) => indent.startsWith(begin)) ?? ['', '']
      const rest = indent.slice(from.length)
      return to + (units ? rest.replaceAll(units.from, units.to) : rest) + line.slice(indent.length)
    },
  }
}

type Units = { readonly from: string; readonly to: string }

/** One step of indentation in the quote and in the file, when one has tabs and the other spaces. */
function findUnits(from: string, to: string): Units | undefined {
  const steps = from.startsWith('\t') ? from.length : to.length
  const isTabs = (text: string): boolean => /^\t+$/.test(text)
  const isSpaces = (text: string): boolean => /^ +$/.test(text)
  if (!(isTabs(from) && isSpaces(to)) && !(isSpaces(from) && isTabs(to))) return undefined
  const spaces = isTabs(from) ? to.length : from.length
  if (spaces % steps !== 0) return undefined
  const space = ' '.repeat(spaces / steps)
  return isTabs(from) ? { from: '\t', to: space } : { from: space, to: '\t' }
}

/** A line of the new text, and the line of the old text that it comes from. */
type PairedLine = { readonly line: string; readonly old: number | undefined }

const minPairSimilarity = 0.5
/** More comparisons would take seconds. Then changed lines are paired in their order. */
const maxComparisons = 500
const diffTimeoutMs = 1_000

function pairLines(oldLines: readonly string[], newLines: readonly string[]): PairedLine[] {
  const changes = diffArrays([...oldLines], [...newLines], { timeout: diffTimeoutMs })
  if (!changes) return pairChanged(newLines, [...oldLines.keys()], oldLines)
  const pairs: PairedLine[] = []
  let at = 0
  let removed: number[] = []
  for (const { value, removed: isRemoved, added } of changes) {
    if (isRemoved) removed = value.map((_, i) => at + i)
    else if (added) pairs.push(...pairChanged(value, removed, oldLines))
    else pairs.push(...value.map((line, i) => ({ line, old: at + i })))
    if (!isRemoved) removed = []
    if (!added) at += value.length
  }
  return pairs
}

/** Pairs changed lines that are similar, in their order. As many new lines as old ones are pairs. */
function pairChanged(added: readonly string[], removed: readonly number[], oldLines: readonly string[]): PairedLine[] {
  if (added.length === removed.length) return added.map((line, i) => ({ line, old: removed[i] }))
  const canCompare = added.length * removed.length <= maxComparisons
  let next = 0
  return added.map((line) => {
    const isPair = (old: number) =>
      !canCompare || similarity(line.trim(), (oldLines[old] ?? '').trim()) >= minPairSimilarity
    const at = removed.findIndex((old, i) => i >= next && isPair(old))
    if (at < 0) return { line, old: undefined }
    next = at + 1
    return { line, old: removed[at] }
  })
}

/** Words, runs of spaces, an ellipsis, and single other characters: what has one form in the file. */
const token = /[\p{L}\p{N}\p{M}_]+|\s+|\.{3}|[^]/gu

/** Writes the tokens that stay as the file has them. When the file reads differently, the new line is taken as it is. */
function transferWithinLine(found: string, from: string, to: string): string {
  const [file, quote] = [normaliseForm(found.trimEnd()), normaliseForm(from.trimEnd())]
  const isSame = file.text === quote.text
  const changes = isSame && diffArrays(splitTokens(from), splitTokens(to), { timeout: diffTimeoutMs })
  if (!changes) return to
  const starts = new Map(quote.starts.map((start, i) => [start, i]))
  const ends = new Map(quote.ends.map((end, i) => [end, i]))
  const asInFile = (text: string, at: number): string => {
    const [first, last] = [starts.get(at), ends.get(at + text.length)]
    return first !== undefined && last !== undefined ? found.slice(file.starts[first], file.ends[last]) : text
  }
  let at = 0
  let line = ''
  for (const { value, added, removed } of changes)
    for (const text of value) {
      if (added) line += text
      else if (!removed) line += asInFile(text, at)
      if (!added) at += text.length
    }
  return line
}

const splitTokens = (text: string): string[] => text.match(token) ?? []

/** Replaces a passage that a model quotes from memory, or returns an error with the likely locations. */

import { similarity } from '../similarity.ts'
import { isNumbered, removeLineNumbers } from '../numbered-lines.ts'
import { byteOrderMark, removeByteOrderMark } from './byte-order-mark.ts'
import type { MatchSpan } from './normalised-search.ts'
import { transferEdit } from './transfer-edit.ts'
import { matchStrategies, type MatchStrategy, unescapeText } from './match-strategies.ts'

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

/**
 * Lists nine strategies for finding a passage that a model quotes from memory, from exact to approximate. They are
 * tried in this order, and the first one with a match decides. Each returns all of its matches.
 */

import { similarity } from '../similarity.ts'
import { collapseSpaces, findAll, findNormalised, replaceTypography, type Span } from './normalised-search.ts'

export type MatchStrategy = {
  readonly name: string
  /** Matches by similarity. Such a match may be used for one replacement, not for replacing all occurrences. */
  readonly isApproximate: boolean
  readonly locate: (text: string, wanted: string) => readonly Span[]
}

const exactStrategy = (name: string, locate: MatchStrategy['locate']): MatchStrategy => ({
  name,
  isApproximate: false,
  locate,
})
const approximateStrategy = (name: string, locate: MatchStrategy['locate']): MatchStrategy => ({
  name,
  isApproximate: true,
  locate,
})

export const matchStrategies: readonly MatchStrategy[] = [
  exactStrategy('exact', findAll),
  exactStrategy('line-trimmed', (text, wanted) => matchLines(text, wanted, (line) => line.trim())),
  exactStrategy('whitespace-normalised', (text, wanted) => findNormalised(text, wanted, collapseSpaces)),
  exactStrategy('indentation-flexible', (text, wanted) => matchLines(text, wanted, (line) => line.trimStart())),
  exactStrategy('escape-normalised', (text, wanted) => {
    const unescaped = unescapeText(wanted)
    return unescaped === wanted ? [] : findAll(text, unescaped)
  }),
  exactStrategy('trimmed-boundary', matchTrimmedBoundary),
  exactStrategy('unicode-normalised', (text, wanted) => findNormalised(text, wanted, replaceTypography)),
  approximateStrategy('block-anchor', matchBlockAnchor),
  approximateStrategy('context-aware', matchContext),
]

const escapedCharacters: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '"': '"',
  "'": "'",
  '\\': '\\',
}

/** Models sometimes escape a text once too often. */
export const unescapeText = (text: string): string =>
  text.replace(/\\([ntr"'\\])/g, (_, letter: string) => escapedCharacters[letter] ?? letter)

type Line = { readonly text: string; readonly start: number; readonly end: number }

function splitWithOffsets(text: string): Line[] {
  let start = 0
  return text.split('\n').map((line) => {
    const place = { text: line, start, end: start + line.length }
    start = place.end + 1
    return place
  })
}

/** Finds the runs of `count` lines that pass, without overlaps. A span excludes the newline of its last line. */
function findRuns(lines: readonly Line[], count: number, passes: (at: number) => boolean): Span[] {
  const found: Span[] = []
  for (let i = 0; i + count <= lines.length; i++) {
    const [first, last] = [lines[i], lines[i + count - 1]]
    if (!first || !last || !passes(i)) continue
    found.push({ start: first.start, end: last.end })
    i += count - 1
  }
  return found
}

/** Splits the wanted text. A newline at its end does not add an empty line. */
const wantedLines = (wanted: string): string[] => wanted.replace(/\n$/, '').split('\n')

/** A wanted text that ends with a newline replaces the newline of the match as well. */
const includeTrailingNewline = (text: string, wanted: string, spans: readonly Span[]): Span[] =>
  spans.map(({ start, end }) => ({ start, end: wanted.endsWith('\n') && text[end] === '\n' ? end + 1 : end }))

function matchLines(text: string, wanted: string, normalise: (line: string) => string): Span[] {
  const wantedTexts = wantedLines(wanted).map(normalise)
  if (wantedTexts.every((line) => line === '')) return []
  const lines = splitWithOffsets(text)
  const normalised = lines.map((line) => normalise(line.text))
  const spans = findRuns(lines, wantedTexts.length, (at) => wantedTexts.every((line, i) => normalised[at + i] === line))
  return includeTrailingNewline(text, wanted, spans)
}

/** The first and the last line may differ in surrounding whitespace. */
function matchTrimmedBoundary(text: string, wanted: string): Span[] {
  const wantedTexts = wantedLines(wanted)
  const last = wantedTexts.length - 1
  const normalise = (line: string, i: number): string => (i === 0 || i === last ? line.trim() : line)
  const lines = splitWithOffsets(text)
  const passes = (at: number): boolean =>
    wantedTexts.every((line, i) => normalise(line, i) === normalise(lines[at + i]?.text ?? '', i))
  return wantedTexts.every((line) => line.trim() === '')
    ? []
    : includeTrailingNewline(text, wanted, findRuns(lines, wantedTexts.length, passes))
}

/** The first and the last line match, and the lines between them are similar. */
function matchBlockAnchor(text: string, wanted: string): Span[] {
  const wantedTexts = wantedLines(wanted).map((line) => line.trim())
  if (wantedTexts.length < 3) return []
  const lines = splitWithOffsets(text)
  const trimmed = lines.map((line) => line.text.trim())
  const inner = wantedTexts.slice(1, -1).join('\n')
  const anchored = (at: number): boolean =>
    trimmed[at] === wantedTexts[0] && trimmed[at + wantedTexts.length - 1] === wantedTexts.at(-1)
  const candidates = trimmed.filter((_, at) => anchored(at)).length
  const minSimilarity = candidates > 1 ? 0.7 : 0.5
  const passes = (at: number): boolean =>
    anchored(at) && similarity(trimmed.slice(at + 1, at + wantedTexts.length - 1).join('\n'), inner) >= minSimilarity
  return includeTrailingNewline(text, wanted, findRuns(lines, wantedTexts.length, passes))
}

const minLineSimilarity = 0.8
const minSimilarLineShare = 0.5
/** More comparisons would take seconds. */
const maxLineComparisons = 20_000

/** At least half of the lines are similar, and one of them is the first or the last line. */
function matchContext(text: string, wanted: string): Span[] {
  const wantedTexts = wantedLines(wanted).map((line) => line.trim())
  const lines = splitWithOffsets(text)
  if (wantedTexts.length < 2 || lines.length * wantedTexts.length > maxLineComparisons) return []
  const alike = (at: number, i: number): boolean =>
    similarity(lines[at + i]?.text.trim() ?? '', wantedTexts[i] ?? '') >= minLineSimilarity
  const passes = (at: number): boolean =>
    (alike(at, 0) || alike(at, wantedTexts.length - 1)) &&
    wantedTexts.filter((_, i) => alike(at, i)).length >= wantedTexts.length * minSimilarLineShare
  return includeTrailingNewline(text, wanted, findRuns(lines, wantedTexts.length, passes))
}

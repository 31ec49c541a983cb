/**
 * Lists nine strategies for finding a passage that a model quotes from memory, from exact to approximate. They are
 * tried in this order, and the first one with a match decides. Each returns all of its matches.
 */

import { similarity } from '../similarity.ts'
import {
  collapseSpaces,
  findAll,
  findNormalised,
  normaliseForm,
  replaceTypography,
  type MatchSpan,
} from './normalised-search.ts'

export type MatchStrategy = {
  readonly name: string
  /** Matches by similarity. Such a match may be used for one replacement, not for replacing all occurrences. */
  readonly isApproximate: boolean
  readonly locate: (text: string, passage: string) => readonly MatchSpan[]
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
  exactStrategy('line-trimmed', (text, passage) => matchLines(text, passage, (line) => line.trim())),
  exactStrategy('whitespace-normalised', (text, passage) => findNormalised(text, passage, collapseSpaces)),
  exactStrategy('indentation-flexible', (text, passage) => matchLines(text, passage, (line) => line.trimStart())),
  exactStrategy('escape-normalised', (text, passage) => {
    const unescaped = unescapeText(passage)
    return unescaped === passage ? [] : findAll(text, unescaped)
  }),
  exactStrategy('trimmed-boundary', matchTrimmedBoundary),
  exactStrategy('unicode-normalised', matchUnicode),
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

type SourceLine = { readonly text: string; readonly start: number; readonly end: number }

function splitWithOffsets(text: string): SourceLine[] {
  let start = 0
  return text.split('\n').map((line) => {
    const span = { text: line, start, end: start + line.length }
    start = span.end + 1
    return span
  })
}

/** Finds the runs of `count` lines that pass, without overlaps. A span excludes the newline of its last line. */
function findRuns(lines: readonly SourceLine[], count: number, passes: (at: number) => boolean): MatchSpan[] {
  const found: MatchSpan[] = []
  for (let i = 0; i + count <= lines.length; i++) {
    const [first, last] = [lines[i], lines[i + count - 1]]
    if (!first || !last || !passes(i)) continue
    found.push({ start: first.start, end: last.end })
    i += count - 1
  }
  return found
}

/** A newline at the end of the passage does not add an empty line. */
const splitPassage = (passage: string): string[] => passage.replace(/\n$/, '').split('\n')

/** A passage that ends with a newline replaces the newline of the match as well. */
const includeTrailingNewline = (text: string, passage: string, spans: readonly MatchSpan[]): MatchSpan[] =>
  spans.map(({ start, end }) => ({ start, end: passage.endsWith('\n') && text[end] === '\n' ? end + 1 : end }))

function matchLines(text: string, passage: string, normalise: (line: string) => string): MatchSpan[] {
  const passageLines = splitPassage(passage).map(normalise)
  if (passageLines.every((line) => line === '')) return []
  const lines = splitWithOffsets(text)
  const normalised = lines.map((line) => normalise(line.text))
  const spans = findRuns(lines, passageLines.length, (at) =>
    passageLines.every((line, i) => normalised[at + i] === line),
  )
  return includeTrailingNewline(text, passage, spans)
}

/** Typography and composed letters may differ, and in whole lines the spaces too. */
function matchUnicode(text: string, passage: string): readonly MatchSpan[] {
  const spans = findNormalised(text, passage, replaceTypography)
  return spans.length > 0 ? spans : matchLines(text, passage, (line) => normaliseForm(line.trim()).text)
}

/** The first and the last line may differ in surrounding whitespace. */
function matchTrimmedBoundary(text: string, passage: string): MatchSpan[] {
  const passageLines = splitPassage(passage)
  const last = passageLines.length - 1
  const normalise = (line: string, i: number): string => (i === 0 || i === last ? line.trim() : line)
  const lines = splitWithOffsets(text)
  const passes = (at: number): boolean =>
    passageLines.every((line, i) => normalise(line, i) === normalise(lines[at + i]?.text ?? '', i))
  return passageLines.every((line) => line.trim() === '')
    ? []
    : includeTrailingNewline(text, passage, findRuns(lines, passageLines.length, passes))
}

/** The first and the last line match, and the lines between them are similar. */
function matchBlockAnchor(text: string, passage: string): MatchSpan[] {
  const passageLines = splitPassage(passage).map((line) => line.trim())
  if (passageLines.length < 3) return []
  const lines = splitWithOffsets(text)
  const trimmed = lines.map((line) => line.text.trim())
  const inner = passageLines.slice(1, -1).join('\n')
  const anchored = (at: number): boolean =>
    trimmed[at] === passageLines[0] && trimmed[at + passageLines.length - 1] === passageLines.at(-1)
  const candidates = trimmed.filter((_, at) => anchored(at)).length
  const minSimilarity = candidates > 1 ? 0.7 : 0.5
  const passes = (at: number): boolean =>
    anchored(at) && similarity(trimmed.slice(at + 1, at + passageLines.length - 1).join('\n'), inner) >= minSimilarity
  return includeTrailingNewline(text, passage, findRuns(lines, passageLines.length, passes))
}

const minLineSimilarity = 0.8
const minSimilarLineShare = 0.5
/** More comparisons would take seconds. */
const maxLineComparisons = 20_000

/** At least half of the lines are similar, and one of them is the first or the last line. */
function matchContext(text: string, passage: string): MatchSpan[] {
  const passageLines = splitPassage(passage).map((line) => line.trim())
  const lines = splitWithOffsets(text)
  if (passageLines.length < 2 || lines.length * passageLines.length > maxLineComparisons) return []
  const alike = (at: number, i: number): boolean =>
    similarity(lines[at + i]?.text.trim() ?? '', passageLines[i] ?? '') >= minLineSimilarity
  const passes = (at: number): boolean =>
    (alike(at, 0) || alike(at, passageLines.length - 1)) &&
    passageLines.filter((_, i) => alike(at, i)).length >= passageLines.length * minSimilarLineShare
  return includeTrailingNewline(text, passage, findRuns(lines, passageLines.length, passes))
}

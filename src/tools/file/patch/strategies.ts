/**
 * Nine ways to find a piece of text a model remembers, from exact to approximate, in the order they are
 * tried. Each returns every place it finds; the first that finds any decides.
 */

import { similarity } from '../similarity.ts'
import { collapseSpaces, find, locateMapped, plainCharacters, type Span } from './mapped.ts'

export type Strategy = {
  readonly name: string
  /** By likeness rather than by rule: fit for one place a person can check, not for replacing everywhere. */
  readonly approximate: boolean
  readonly locate: (text: string, wanted: string) => readonly Span[]
}

const rule = (name: string, locate: Strategy['locate']): Strategy => ({ name, approximate: false, locate })
const likeness = (name: string, locate: Strategy['locate']): Strategy => ({ name, approximate: true, locate })

export const strategies: readonly Strategy[] = [
  rule('exact', find),
  rule('line-trimmed', (text, wanted) => byLines(text, wanted, (line) => line.trim())),
  rule('whitespace-normalised', (text, wanted) => locateMapped(text, wanted, collapseSpaces)),
  rule('indentation-flexible', (text, wanted) => byLines(text, wanted, (line) => line.trimStart())),
  rule('escape-normalised', (text, wanted) => {
    const meant = unescape(wanted)
    return meant === wanted ? [] : find(text, meant)
  }),
  rule('trimmed-boundary', trimmedBoundary),
  rule('unicode-normalised', (text, wanted) => locateMapped(text, wanted, plainCharacters)),
  likeness('block-anchor', blockAnchor),
  likeness('context-aware', contextAware),
]

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '"': '"', "'": "'", '\\': '\\' }

/** Text that was escaped once too often. */
export const unescape = (text: string): string =>
  text.replace(/\\([ntr"'\\])/g, (_, letter: string) => ESCAPES[letter] ?? letter)

type Line = { readonly text: string; readonly start: number; readonly end: number }

function split(text: string): Line[] {
  let start = 0
  return text.split('\n').map((line) => {
    const place = { text: line, start, end: start + line.length }
    start = place.end + 1
    return place
  })
}

/** Every run of `count` lines that passes, as a span without the last line's newline. */
function windows(lines: readonly Line[], count: number, passes: (at: number) => boolean): Span[] {
  const found: Span[] = []
  for (let i = 0; i + count <= lines.length; i++) {
    const [first, last] = [lines[i], lines[i + count - 1]]
    if (!first || !last || !passes(i)) continue
    found.push({ start: first.start, end: last.end })
    i += count - 1
  }
  return found
}

/** The wanted lines, without an empty one that only stands for a newline at the end. */
const wantedLines = (wanted: string): string[] => wanted.replace(/\n$/, '').split('\n')

/** When the wanted text ends with a newline, so does the span: otherwise one would be left over. */
const withNewline = (text: string, wanted: string, spans: readonly Span[]): Span[] =>
  spans.map(({ start, end }) => ({ start, end: wanted.endsWith('\n') && text[end] === '\n' ? end + 1 : end }))

function byLines(text: string, wanted: string, normal: (line: string) => string): Span[] {
  const goal = wantedLines(wanted).map(normal)
  if (goal.every((line) => line === '')) return []
  const lines = split(text)
  const normalised = lines.map((line) => normal(line.text))
  const spans = windows(lines, goal.length, (at) => goal.every((line, i) => normalised[at + i] === line))
  return withNewline(text, wanted, spans)
}

/** Only the first and the last line may differ in the space around them. */
function trimmedBoundary(text: string, wanted: string): Span[] {
  const goal = wantedLines(wanted)
  const last = goal.length - 1
  const normal = (line: string, i: number): string => (i === 0 || i === last ? line.trim() : line)
  const lines = split(text)
  const passes = (at: number): boolean =>
    goal.every((line, i) => normal(line, i) === normal(lines[at + i]?.text ?? '', i))
  return goal.every((line) => line.trim() === '') ? [] : withNewline(text, wanted, windows(lines, goal.length, passes))
}

/** The first and the last line fit; what is between them is much alike. */
function blockAnchor(text: string, wanted: string): Span[] {
  const goal = wantedLines(wanted).map((line) => line.trim())
  if (goal.length < 3) return []
  const lines = split(text)
  const trimmed = lines.map((line) => line.text.trim())
  const inner = goal.slice(1, -1).join('\n')
  const anchored = (at: number): boolean => trimmed[at] === goal[0] && trimmed[at + goal.length - 1] === goal.at(-1)
  const candidates = trimmed.filter((_, at) => anchored(at)).length
  const enough = candidates > 1 ? 0.7 : 0.5
  const passes = (at: number): boolean =>
    anchored(at) && similarity(trimmed.slice(at + 1, at + goal.length - 1).join('\n'), inner) >= enough
  return withNewline(text, wanted, windows(lines, goal.length, passes))
}

const LINE_ALIKE = 0.8
const LINES_ALIKE = 0.5
/** Lines compared by likeness; more would take seconds. */
const MAX_COMPARED = 20_000

/** At least half of the lines are nearly the same, the first or the last among them. */
function contextAware(text: string, wanted: string): Span[] {
  const goal = wantedLines(wanted).map((line) => line.trim())
  const lines = split(text)
  if (goal.length < 2 || lines.length * goal.length > MAX_COMPARED) return []
  const alike = (at: number, i: number): boolean =>
    similarity(lines[at + i]?.text.trim() ?? '', goal[i] ?? '') >= LINE_ALIKE
  const passes = (at: number): boolean =>
    (alike(at, 0) || alike(at, goal.length - 1)) &&
    goal.filter((_, i) => alike(at, i)).length >= goal.length * LINES_ALIKE
  return withNewline(text, wanted, windows(lines, goal.length, passes))
}

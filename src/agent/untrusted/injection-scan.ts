/**
 * Scans text for directives that a stranger may have put there: to drop earlier instructions, to hide something from the
 * user, to send secrets away. Context files, memory, skills and prompts of jobs pass it (docs/design/injection.md).
 */

import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'
import { hasChatMarkup } from './scan/chat-markup.ts'
import type { Finding, FindingKind } from './scan/finding.ts'
import { findCancellations, findPhrases, type WordRange } from './scan/find-directives.ts'
import { findInvisible, removeInvisible } from './scan/invisible.ts'
import { unspacedDirectives } from './scan/languages.ts'
import { shapes } from './scan/shell-shapes.ts'
import { listLines, listWords, type Word } from './scan/words.ts'

export type { Finding, FindingKind } from './scan/finding.ts'

/**
 * `strict` is for short text that becomes part of a prompt: memory, prompts of jobs. `context` is for files that also
 * explain things: it allows commands, and directives that a sentence about attacks quotes.
 */
export type Strictness = 'strict' | 'context'

const maxExcerptChars = 120
const maxFindings = 200
/** A longer line is looked at in parts, so that its two ends make no shape together. */
const maxPartChars = 1_000

type Place = { readonly kind: FindingKind; readonly line: number; readonly lastLine: number }

/** Returns what the text contains, in the order of the lines, at most one finding for a kind and a line. */
export function scan(text: string, strictness: Strictness): readonly Finding[] {
  const lines = listLines(text)
  return findPlaces(lines, strictness)
    .slice(0, maxFindings)
    .map((place) => ({ ...place, excerpt: renderExcerpt(lines[place.line - 1] ?? '') }))
}

/**
 * Replaces the lines with findings by a placeholder that names them, and removes invisible characters. The other lines
 * stay as they are.
 */
export function blockFindings(text: string, strictness: Strictness = 'context'): string {
  const lines = listLines(text)
  const places = findPlaces(lines, strictness)
  if (!places.length) return text
  const blocked = new Map<number, Set<FindingKind>>()
  for (const { kind, line, lastLine } of places)
    for (let at = line; at <= lastLine; at++) blocked.set(at, (blocked.get(at) ?? new Set()).add(kind))
  return lines.map((line, index) => renderLine(line, blocked.get(index + 1))).join('\n')
}

function renderLine(line: string, kinds: ReadonlySet<FindingKind> | undefined): string {
  if (!kinds) return line
  const directives = [...kinds].filter((kind) => kind !== 'invisible')
  if (directives.length) return `[blocked: ${directives.join(', ')}]`
  const count = findInvisible(line).length
  return `${removeInvisible(line)} [removed: ${count} invisible character${count > 1 ? 's' : ''}]`
}

function findPlaces(lines: readonly string[], strictness: Strictness): readonly Place[] {
  const isStrict = strictness === 'strict'
  const hidden = findHiddenLines(lines)
  const plain = lines.map((line, index) => (hidden.has(index) ? removeInvisible(line) : line).normalize('NFKC'))
  const directives = [false, true].flatMap((beginsBelow) => findDirectives(plain, { isStrict, beginsBelow }))
  const places = [
    ...[...hidden].map((index): Place => ({ kind: 'invisible', line: index + 1, lastLine: index + 1 })),
    ...directives,
    ...(isStrict ? findKeys(plain) : []),
    ...plain.flatMap((line, index) => findInLine(line, index + 1, isStrict)),
  ]
  const byKey = new Map(places.map((place) => [`${place.line} ${place.kind}`, place]))
  return [...byKey.values()].toSorted((one, other) => one.line - other.line)
}

function findDirectives(lines: readonly string[], { isStrict, beginsBelow }: Reading): readonly Place[] {
  const words = listWords(lines, { beginsBelow })
  const ranges = [...findPhrases(words), ...findCancellations(words)]
  const reported = isStrict ? ranges : ranges.filter((range) => !isQuotedExample(words, range))
  return reported.map((range) => toPlace(words, range))
}

type Reading = { readonly isStrict: boolean; readonly beginsBelow: boolean }

/** A private key has many lines. All of them are one finding. */
function findKeys(lines: readonly string[]): readonly Place[] {
  const found: Place[] = []
  let start: number | undefined
  for (const [index, text] of lines.entries()) {
    if (/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/.test(text)) start ??= index + 1
    const isLast = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY/.test(text) || index === lines.length - 1
    if (start === undefined || !isLast) continue
    found.push({ kind: 'secret', line: start, lastLine: index + 1 })
    start = undefined
  }
  return found
}

const findHiddenLines = (lines: readonly string[]): ReadonlySet<number> =>
  new Set(lines.flatMap((line, index) => (findInvisible(line).length ? [index] : [])))

const toPlace = (words: readonly Word[], { kind, first, last }: WordRange): Place => ({
  kind,
  line: words[first]?.line ?? 1,
  lastLine: words[last]?.line ?? 1,
})

function findInLine(text: string, line: number, isStrict: boolean): readonly Place[] {
  if (text.trim() === '') return []
  const kinds: FindingKind[] = []
  if (unspacedDirectives.some((directive) => directive.test(text))) kinds.push('instruction-override')
  if (hasChatMarkup(text, { mayQuote: !isStrict })) kinds.push('system-prompt')
  if (isStrict && maskSecrets(text) !== text) kinds.push('secret')
  if (isStrict) for (const part of listParts(text)) kinds.push(...findShapes(part))
  return kinds.map((kind) => ({ kind, line, lastLine: line }))
}

const findShapes = (part: string): readonly FindingKind[] =>
  shapes.filter(({ all }) => all.every((pattern) => pattern.test(part))).map(({ kind }) => kind)

function* listParts(line: string): Generator<string> {
  for (let at = 0; at < Math.max(1, line.length); at += maxPartChars) yield line.slice(at, at + maxPartChars + 200)
}

/** Words of a sentence about attacks. */
const discussion =
  /^(?:injections?|attack(?:s|ers?|ed|ing)?|jailbreaks?|malicious|adversarial|e|eg|example|examples|phrases?|strings?|patterns?|detects?|detected|detection|blocks?|blocked|flags?|flagged|payloads?|attempts?|tries|untrusted|hostile|poisoned)$/

/** Whether the directive is quoted, or reported, in a sentence that speaks about attacks before it. */
function isQuotedExample(words: readonly Word[], { first }: WordRange): boolean {
  const start = words[first]
  if (!start) return false
  const isReported = start.isQuoted || /^(?:to|ignoring|ignores)$/.test(words[first - 1]?.text ?? '')
  if (!isReported) return false
  for (let at = first - 1; at >= 0 && words[at]?.sentence === start.sentence; at--)
    if (discussion.test(words[at]?.text ?? '')) return true
  return false
}

const renderExcerpt = (line: string): string => {
  const shown = maskSecrets(removeInvisible(line)).trim()
  return shown.length > maxExcerptChars ? `${shown.slice(0, maxExcerptChars)}…` : shown
}

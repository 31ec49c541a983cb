/**
 * Finds the terms of a query in a text and renders a snippet around them. The stemmer of the index is only
 * approximated, so a term is matched as a word, then as a prefix of one, then anywhere.
 */

import type { Term } from './search-query.ts'
import { normalizeText, separateUnspaced } from '../index-text.ts'
import { stemIn } from './word-forms.ts'

const snippetChars = 200
const leadChars = 60

/** The patterns of one term, strictest first. They are matched against folded text that has one of the parts. */
export type SnippetMatcher = { readonly patterns: readonly RegExp[]; readonly parts: readonly string[] }

export const createMatchers = (terms: readonly Term[]): readonly SnippetMatcher[] => terms.map(createMatcher)

function createMatcher({ text, isPrefix, forms }: Term): SnippetMatcher {
  const tokens = fold(separateUnspaced(text)).match(/[\p{L}\p{N}]+/gu)
  if (!tokens) {
    const plain = fold(normalizeText(text)).trim()
    return { patterns: [new RegExp(escapePattern(plain), 'gu')], parts: [plain] }
  }
  const pattern = (render: (token: string) => string) => new RegExp(tokens.map(render).join('[^\\p{L}\\p{N}]*'), 'gu')
  const word = (token: string) => `${wordStart}${escapePattern(token)}${isPrefix ? '[\\p{L}\\p{N}]*' : wordEnd}`
  const stemsOf = (token: string) => [stem(token), ...(tokens.length === 1 ? forms.map(stemIn) : [])]
  const prefixed = (token: string) => `${wordStart}(?:${stemsOf(token).map(escapePattern).join('|')})[\\p{L}\\p{N}]*`
  const patterns = [
    pattern((token) => (spacedPattern.test(token) ? word(token) : escapePattern(token))),
    pattern((token) => (spacedPattern.test(token) ? prefixed(token) : escapePattern(token))),
    pattern(escapePattern),
  ]
  // Each pattern begins with one of these. Most messages have none, and looking for a part is faster.
  return { patterns, parts: [tokens[0]!, ...stemsOf(tokens[0]!)] }
}

/** Scripts with spaces between words. Next to a script without spaces a word ends too. */
const spacedLetters = '\\p{Script=Latin}\\p{Script=Cyrillic}\\p{Script=Greek}0-9'
const spacedPattern = new RegExp(`^[${spacedLetters}]+$`, 'u')
const wordStart = `(?<![${spacedLetters}])`
const wordEnd = `(?![${spacedLetters}])`
const escapePattern = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** Removes more suffixes than the stemmer of the index, because an extra mark does less harm than a missing one. */
function stem(token: string): string {
  const stemmed = token.replace(/(?:ations?|ments?|ness|ings?|ingly|edly|ated?|ation|ies|ied|ed|es|ly|[seyi])$/, '')
  if (stemmed.length < 3) return token
  return /([^aeiouls])\1$/.test(stemmed) ? stemmed.slice(0, -1) : stemmed
}

/** Converts to lower case without accents, code unit by code unit, so that indexes stay valid in the original. */
function fold(text: string): string {
  const lower = text.toLowerCase()
  const lowerCase =
    lower.length === text.length ? lower : text.replace(/[A-ZÀ-ÖØ-Þ]/g, (letter) => letter.toLowerCase())
  return lowerCase.replace(/[\u00c0-\u024f\u1e00-\u1eff]/g, (letter) => letter.normalize('NFD').charAt(0))
}

type MatchRange = { readonly from: number; readonly to: number }

/** How a term occurs in a text. `strictness` is 3 for the exact word and 0 when the term is missing. */
export type TermMatch = { readonly strictness: number; readonly count: number }

const noMatch: TermMatch = { strictness: 0, count: 0 }

/** Finds the matches of all terms, each with the strictest of its patterns that matches. */
export function findMatches(
  text: string,
  matchers: readonly SnippetMatcher[],
): { readonly terms: readonly TermMatch[]; readonly ranges: readonly MatchRange[] } {
  const foldedText = fold(text)
  const ranges: MatchRange[] = []
  const terms = matchers.map(({ patterns, parts }): TermMatch => {
    if (!parts.some((part) => foldedText.includes(part))) return noMatch
    const level = patterns.findIndex((pattern) => foldedText.search(pattern) >= 0)
    if (level < 0) return noMatch
    const found = [...foldedText.matchAll(patterns[level]!)].filter(([match]) => match !== '')
    for (const { 0: match, index } of found) ranges.push({ from: index, to: index + match.length })
    return { strictness: patterns.length - level, count: found.length }
  })
  return { terms, ranges: ranges.toSorted((a, b) => a.from - b.from) }
}

/** Renders about 200 characters around the first match on one line, with matches in «» and truncation as …. */
export function renderSnippet(text: string, ranges: readonly MatchRange[]): string {
  const start = Math.max(0, (ranges[0]?.from ?? 0) - leadChars)
  const from = start === 0 ? 0 : findWordStart(text, start)
  const end = from + snippetChars
  let snippet = from > 0 ? '…' : ''
  let at = from
  for (const range of ranges) {
    if (range.from < at || range.to > end) continue
    snippet += `${text.slice(at, range.from)}«${text.slice(range.from, range.to)}»`
    at = range.to
  }
  snippet += text.slice(at, end)
  return (end < text.length ? `${snippet}…` : snippet).replace(/\s+/g, ' ').toWellFormed().trim()
}

/** Returns the next start of a word within 20 characters, else `start`. */
function findWordStart(text: string, start: number): number {
  const space = text.slice(start, start + 20).search(/\s/)
  return space < 0 ? start : start + space + 1
}

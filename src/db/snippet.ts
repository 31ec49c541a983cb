/**
 * Finds in a text what the index found in it, and cuts out the place. The index stems and this only
 * guesses, so a term is looked for as a word, then as the beginning of one, then anywhere.
 */

import type { Group, Term } from './search-query.ts'
import { plainText, separated } from './index-text.ts'

const length = 200
const lead = 60

/** Patterns of one term, the strictest first. They are matched against folded text. */
export type Matcher = readonly RegExp[]

export const matchersOf = (groups: readonly Group[]): readonly Matcher[] =>
  groups.flatMap((group) => group.all).map(matcherOf)

function matcherOf({ text, prefix }: Term): Matcher {
  const tokens = folded(separated(text)).match(/[\p{L}\p{N}]+/gu)
  if (!tokens) return [new RegExp(escaped(folded(plainText(text)).trim()), 'gu')]
  const pattern = (write: (token: string) => string) => new RegExp(tokens.map(write).join('[^\\p{L}\\p{N}]*'), 'gu')
  const word = (token: string) => `(?<![a-z0-9])${escaped(token)}${prefix ? '[a-z0-9]*' : '(?![a-z0-9])'}`
  const beginning = (token: string) => `(?<![a-z0-9])${escaped(stemmed(token))}[a-z0-9]*`
  return [
    pattern((token) => (latin.test(token) ? word(token) : escaped(token))),
    pattern((token) => (latin.test(token) ? beginning(token) : escaped(token))),
    pattern(escaped),
  ]
}

const latin = /^[a-z0-9]+$/
const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** Cuts more than the stemmer of the index does: too many marks harm less than none. */
function stemmed(token: string): string {
  const cut = token.replace(/(?:ations?|ments?|ness|ings?|ingly|edly|ated?|ation|ies|ied|ed|es|ly|[seyi])$/, '')
  if (cut.length < 3) return token
  return /([^aeiouls])\1$/.test(cut) ? cut.slice(0, -1) : cut
}

/** Lower case without accents, unit for unit: an index into it is an index into the text. */
function folded(text: string): string {
  const lower = text.toLowerCase()
  const same = lower.length === text.length ? lower : text.replace(/[A-ZÀ-ÖØ-Þ]/g, (letter) => letter.toLowerCase())
  return same.replace(/[\u00c0-\u024f\u1e00-\u1eff]/g, (letter) => letter.normalize('NFD').charAt(0))
}

type Found = { readonly from: number; readonly to: number }

/** How well a text fits, and where. A term found strictly counts more than one found loosely. */
export function findIn(text: string, matchers: readonly Matcher[]): { score: number; places: readonly Found[] } {
  const where = folded(text)
  let score = 0
  const places: Found[] = []
  for (const patterns of matchers) {
    const level = patterns.findIndex((pattern) => where.search(pattern) >= 0)
    if (level < 0) continue
    score += patterns.length - level + 1
    for (const match of where.matchAll(patterns[level]!))
      if (match[0] !== '') places.push({ from: match.index, to: match.index + match[0].length })
  }
  return { score, places: places.toSorted((a, b) => a.from - b.from) }
}

/** About 200 characters around the first match, on one line, matches in «», cuts as …. */
export function snippetOf(text: string, places: readonly Found[]): string {
  const start = Math.max(0, (places[0]?.from ?? 0) - lead)
  const from = start === 0 ? 0 : nextBreak(text, start)
  const end = from + length
  let out = from > 0 ? '…' : ''
  let at = from
  for (const place of places) {
    if (place.from < at || place.to > end) continue
    out += `${text.slice(at, place.from)}«${text.slice(place.from, place.to)}»`
    at = place.to
  }
  out += text.slice(at, end)
  return (end < text.length ? `${out}…` : out).replace(/\s+/g, ' ').toWellFormed().trim()
}

/** Begins at a word where one begins soon. */
function nextBreak(text: string, start: number): number {
  const space = text.slice(start, start + 20).search(/\s/)
  return space < 0 ? start : start + space + 1
}

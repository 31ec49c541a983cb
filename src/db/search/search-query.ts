/**
 * Parses a search query and renders it as an FTS5 match expression. Any input gives a valid expression or none,
 * because every term is quoted and only this file writes operators.
 */

import {
  classPiece,
  classWord,
  normalizeText,
  type OtherClass,
  separateUnspaced,
  tenantPiece,
  tenantWord,
  weekWord,
} from '../index-text.ts'

export type Term = { readonly text: string; readonly isPrefix: boolean }

/** Matches when all terms of `all` and none of `none` are present. Groups are joined by OR. */
export type Group = { readonly all: readonly Term[]; readonly none: readonly Term[] }

const maxQueryChars = 400
const maxTerms = 16
const tokenPattern = /(-?)"([^"]*)"(\*?)|(\S+)/gu
const letterPattern = /[\p{L}\p{N}]/u
/** A prefix search reads the posting lists of all matching words of all tenants. So prefixes have a minimum length and count. */
const prefixPattern = /[\p{L}\p{N}]{3}$/u
const maxPrefixTerms = 4

/** Syntax: `a b` both, `a OR b` either, `"a b"` a phrase, `-a` or `NOT a` excluded, `abc*` a prefix of three or more letters. */
export function parseQuery(input: string): readonly Group[] {
  const plain = normalizeText(input)
    .replace(/[“”„]/g, '"')
    .slice(0, maxQueryChars)
    .toWellFormed()
  const groups: { all: Term[]; none: Term[] }[] = [{ all: [], none: [] }]
  let isNegated = false
  for (const [, minus, phrase, star, word] of [...plain.matchAll(tokenPattern)].slice(0, maxTerms * 2)) {
    if (word === 'OR') groups.push({ all: [], none: [] })
    else if (word === 'NOT') isNegated = true
    else if (word !== 'AND') {
      const term = phrase === undefined ? parseBareTerm(word!) : { text: phrase, isPrefix: star === '*' }
      const isExcluded = isNegated || minus === '-' || (word !== undefined && /^-./u.test(word))
      if (term.text.trim() !== '') groups.at(-1)![isExcluded ? 'none' : 'all'].push(term)
      isNegated = false
    }
  }
  return limitPrefixTerms(groups.filter((group) => group.all.length > 0))
}

/** Searches the other prefixes as words. */
function limitPrefixTerms(groups: readonly Group[]): readonly Group[] {
  let prefixTerms = 0
  const limitTerm = (term: Term): Term => ({
    text: term.text,
    isPrefix: term.isPrefix && prefixPattern.test(term.text) && ++prefixTerms <= maxPrefixTerms,
  })
  return groups.map(({ all, none }) => ({ all: all.map(limitTerm), none: none.map(limitTerm) }))
}

/** The number of terms that a match may contain. */
export const countTerms = (groups: readonly Group[]): number => groups.reduce((sum, { all }) => sum + all.length, 0)

/** A part of a query, and how many of its latest rows are candidates. */
export type CandidateQuery = { readonly groups: readonly Group[]; readonly limit: number }

/**
 * Splits a query with OR, so that its candidates include rows with all alternatives, and rows of a rare alternative that
 * are older than those of a common one. The last part is the query itself, which fills the rest.
 */
export function splitAlternatives(groups: readonly Group[], limit: number): readonly CandidateQuery[] {
  if (groups.length < 2) return [{ groups, limit }]
  const share = Math.ceil(limit / (groups.length + 1))
  const together: Group = { all: groups.flatMap(({ all }) => all), none: groups.flatMap(({ none }) => none) }
  return [
    { groups: [together], limit: share },
    ...groups.map((group) => ({ groups: [group], limit: share })),
    { groups, limit },
  ]
}

/** Parses a term outside quotes. An unclosed quote is ignored. */
function parseBareTerm(word: string): Term {
  const text = word.replace(/^-/, '').replaceAll('"', ' ')
  return text.endsWith('*') ? { text: text.slice(0, -1), isPrefix: true } : { text, isPrefix: false }
}

/** The sessions that a search looks at: without hidden ones, and of those all, or one class. */
export type Sources = 'visible' | 'interactive' | 'scheduled'
export type WordsScope = { readonly sources: Sources; readonly weeks?: WeekRange }

/** Renders the expression for the table `words`; undefined when no term is a word. `weeks` limits the time. */
export function renderWordsMatch(
  groups: readonly Group[],
  tenantId: string,
  { sources, weeks }: WordsScope,
): string | undefined {
  const text = renderExpression(groups, {
    isUsable: (term) => letterPattern.test(term.text),
    render: (term) => `"${separateUnspaced(term.text)}"${term.isPrefix ? ' *' : ''}`,
  })
  if (text === undefined) return undefined
  const isOfClass = (name: OtherClass) => `tenant:"${classWord(tenantId, name)}"`
  const allMatches = `tenant:"${tenantWord(tenantId)}" AND text:(${text})`
  const tenantMatch = limitSources(allMatches, sources, isOfClass)
  if (!weeks) return tenantMatch
  const weekTerms = weeks.weeks.map((week) => `"${weekWord(tenantId, week)}"`).join(' OR ')
  return weeks.isWithin ? `(${tenantMatch}) AND week:(${weekTerms})` : `(${tenantMatch}) NOT week:(${weekTerms})`
}

function limitSources(match: string, sources: Sources, isOfClass: (name: OtherClass) => string): string {
  if (sources === 'scheduled') return `${match} AND ${isOfClass('scheduled')}`
  if (sources === 'visible') return `(${match}) NOT ${isOfClass('hidden')}`
  return `(${match}) NOT (${isOfClass('hidden')} OR ${isOfClass('scheduled')})`
}

export type WeekRange = { readonly weeks: readonly number[]; readonly isWithin: boolean }

/** Renders the expression for the table `pieces`. It skips groups with a term shorter than a trigram. */
export function renderPiecesMatch(groups: readonly Group[], tenantId: string, sources: Sources): string | undefined {
  const isLong = (term: Term) => [...term.text.trim()].length >= 3
  const usable = groups.filter((group) => group.all.every(isLong))
  const text = renderExpression(usable, { isUsable: isLong, render: (term) => `"${term.text.trim()}"` })
  if (text === undefined) return undefined
  const allMatches = `tenant:"${tenantPiece(tenantId)}" AND {title text}:(${text})`
  return limitSources(allMatches, sources, (name) => `tenant:"${classPiece(tenantId, name)}"`)
}

type TermRenderer = { readonly isUsable: (term: Term) => boolean; readonly render: (term: Term) => string }

function renderExpression(groups: readonly Group[], { isUsable, render }: TermRenderer): string | undefined {
  const parts = groups.flatMap((group) => {
    const all = group.all.filter(isUsable).map(render)
    const none = group.none.filter(isUsable).map(render)
    if (all.length === 0) return []
    const required = `(${all.join(' AND ')})`
    return [none.length === 0 ? required : `(${required} NOT (${none.join(' OR ')}))`]
  })
  return parts.length === 0 ? undefined : parts.join(' OR ')
}

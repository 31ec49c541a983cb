/**
 * Parses a search query and renders its terms as FTS5 match expressions. Any input gives valid expressions or none,
 * because every term is quoted and only this file writes operators.
 */

import type { SearchFilter } from '#agent/core/tool.ts'
import {
  classPiece,
  classWord,
  nameEmoji,
  normalizeText,
  type OtherClass,
  separateUnspaced,
  tenantPiece,
  tenantWord,
  weekPrefix,
  weekWord,
} from '../index-text.ts'
import { findFunctionWords, splitAtFunctionWords, stripKoreanParticle } from './function-words.ts'
import { readDay, readPeriod, type Period, type WeekRange } from './period.ts'
import { baseFormsOf } from './word-forms.ts'

/** A word, or a phrase of them. `forms`: words of the index that stand for its base form. */
export type Term = { readonly text: string; readonly isPrefix: boolean; readonly forms: readonly string[] }

export type Query = {
  /** A match has at least one of them. The rarer ones and the more of them, the better. */
  readonly terms: readonly Term[]
  /** Each match has all of them. They are also among the terms, except the name of a person. */
  readonly required: readonly Term[]
  readonly excluded: readonly Term[]
  readonly filter: SearchFilter
  /** A time that the text names, such as "in June 2025". Unlike that of the filter it is left when nothing is in it. */
  readonly period?: Period | undefined
}

const maxQueryChars = 500
const maxTerms = 24
/** The value of a filter may be in quotes: a tag or a name of several words. */
const tokenPattern = /(-?)"([^"]*)"(\*?)|((?:tag|from):"[^"]*"|\S+)/giu
const letterPattern = /[\p{L}\p{N}]/u
/** A prefix search reads the posting lists of all matching words of all tenants. So prefixes have a minimum length and count. */
const prefixPattern = /[\p{L}\p{N}]{3}$/u
const maxPrefixTerms = 4

/**
 * Syntax: words are optional, `"a b"` is demanded, `a AND b` too, `-a` or `NOT a` is excluded, `abc*` is a prefix of three
 * or more letters, `a OR b` is the same as both words. Filters: `after:` `before:` `source:` `session:` `role:` `from:` `tag:` `tool:`.
 */
export function parseQuery(input: string, now: number): Query {
  const plain = normalizeText(input)
    .replace(/[“”„«»]/g, '"')
    .replace(/[’‘ʼ]/g, "'")
    .slice(0, maxQueryChars)
    .toWellFormed()
  const filter: MutableFilter = {}
  const tokens = readTokens(plain, filter)
  return { ...buildTerms(tokens, plain), filter, period: readPeriod(plain, now) }
}

/** Reads words, phrases and operators. Filters are taken out. */
function readTokens(plain: string, filter: MutableFilter): readonly ReadToken[] {
  const tokens: ReadToken[] = []
  let [isNegated, isDemanded] = [false, false]
  for (const [, minus, phrase, star, word] of [...plain.matchAll(tokenPattern)].slice(0, maxTerms * 4)) {
    if (word === 'OR') continue
    if (word === 'NOT') isNegated = true
    else if (word === 'AND') {
      isDemanded = tokens.length > 0
      const before = tokens.at(-1)
      if (before) tokens[tokens.length - 1] = { ...before, isDemanded: true }
    } else if (phrase !== undefined || !readFilter(word!, filter)) {
      const token =
        phrase === undefined
          ? parseBareToken(word!, isNegated)
          : { text: phrase, isPhrase: true, star: star === '*', isExcluded: isNegated || minus === '-' }
      tokens.push({ ...token, isDemanded })
      ;[isNegated, isDemanded] = [false, false]
    }
  }
  return tokens
}

type ReadToken = {
  readonly text: string
  readonly isPhrase: boolean
  readonly star: boolean
  readonly isExcluded: boolean
  readonly isDemanded: boolean
}

/** Parses a token outside quotes. An unclosed quote is ignored. */
function parseBareToken(word: string, isNegated: boolean): Omit<ReadToken, 'isDemanded'> {
  const text = nameEmoji(word.replace(/^-/, '').replaceAll('"', ' '))
  const star = text.endsWith('*')
  return {
    text: star ? text.slice(0, -1) : text,
    isPhrase: false,
    star,
    isExcluded: isNegated || /^-./u.test(word),
  }
}

const filterPattern = /^(after|before|source|session|role|from|tag|tool):(.+)$/iu
const roles: ReadonlySet<string> = new Set(['user', 'assistant', 'tool'])

type MutableFilter = { -readonly [Name in keyof SearchFilter]: SearchFilter[Name] }

/** Reads a filter. False for a word that is none. */
function readFilter(word: string, filter: MutableFilter): boolean {
  const [, name = '', value = ''] = filterPattern.exec(word.replaceAll('"', '')) ?? []
  return filterReaders[name.toLowerCase()]?.(filter, value) ?? false
}

const readTime = (filter: MutableFilter, name: 'from' | 'to', value: string): boolean => {
  const at = readDay(value)
  if (at !== undefined) filter[name] = name === 'from' ? Math.max(at, filter.from ?? 0) : Math.min(at, filter.to ?? at)
  return at !== undefined
}

const filterReaders: Readonly<Record<string, (filter: MutableFilter, value: string) => boolean>> = {
  after: (filter, value) => readTime(filter, 'from', value),
  before: (filter, value) => readTime(filter, 'to', value),
  source: (filter, value) => Boolean((filter.source = value)),
  session: (filter, value) => Boolean((filter.session = value.replace(/^@session:/, ''))),
  from: (filter, value) => Boolean((filter.person = value)),
  tag: (filter, value) => Boolean((filter.tag = value)),
  tool: (filter, value) => Boolean((filter.tool = value)),
  role: (filter, value) => {
    const role = value.toLowerCase()
    if (roles.has(role)) filter.role = role
    return roles.has(role)
  },
}

function buildTerms(read: readonly ReadToken[], plain: string): Pick<Query, 'terms' | 'required' | 'excluded'> {
  const words = read.flatMap(({ text, isPhrase }) => (isPhrase ? [] : (text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [])))
  const dropped = findFunctionWords(words)
  const limitPrefix = createPrefixLimit()
  const build = (token: ReadToken, isAll: boolean): readonly Term[] => {
    const parts = token.isPhrase
      ? [token.text]
      : splitWord(token.text, isAll || token.star ? 'all' : dropped, read[0] === token)
    return parts.map((text) => {
      const isPrefix = token.star && limitPrefix(text)
      return { text, isPrefix, forms: isPrefix || token.isPhrase ? [] : baseFormsOf(text, plain) }
    })
  }
  const isText = ({ text }: Term) => text.trim() !== ''
  const positive = read.filter(({ isExcluded }) => !isExcluded)
  const wanted = positive.flatMap((token) => build(token, false).map((term) => ({ term, token })))
  // A query of function words alone is searched as it is.
  const found = wanted.length
    ? wanted
    : positive.flatMap((token) => build(token, true).map((term) => ({ term, token })))
  const unique = new Map(found.filter(({ term }) => isText(term)).map((one) => [one.term.text.toLowerCase(), one]))
  const kept = [...unique.values()].slice(0, maxTerms)
  return {
    terms: kept.map(({ term }) => term),
    required: kept.filter(({ token }) => token.isPhrase || token.isDemanded).map(({ term }) => term),
    excluded: read.filter(({ isExcluded }) => isExcluded).flatMap((token) => build({ ...token, isPhrase: true }, true)),
  }
}

/** Returns whether a term may be a prefix. Searches the others as words. */
function createPrefixLimit(): (text: string) => boolean {
  let count = 0
  return (text) => prefixPattern.test(text) && ++count <= maxPrefixTerms
}

const unspacedRun =
  /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー々]+)|(\p{Script=Hangul}+)|([\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+)/u
const possessive = /'s?$/iu
const elision = /^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)'(?=\p{L}{2})/iu

/** The function words that are left out. `all`: every word is kept. */
type Dropped = ReadonlySet<string> | 'all'

/** Splits a word of a query into terms: at changes of script, and at function words. */
function splitWord(word: string, dropped: Dropped, isFirst: boolean): readonly string[] {
  const isAll = dropped === 'all'
  return word.split(unspacedRun).flatMap((part, i) => {
    if (part === undefined || part === '') return []
    const kind = i % 4
    if (kind === 1) return (isAll ? [part] : splitAtFunctionWords(part)).flatMap(splitHan)
    if (kind === 2) return splitHangul(part, isAll)
    if (kind === 3) return part.length <= 6 ? [part] : cut(part, 4, 2)
    return splitSpaced(part, dropped, isFirst)
  })
}

/** Words are not marked in Han and kana: pairs of characters are searched, and a run of katakana is a word. */
const splitHan = (run: string): readonly string[] =>
  (run.match(/[\p{Script=Katakana}ー]+|[^\p{Script=Katakana}ー]+/gu) ?? []).flatMap((part) =>
    /[\p{Script=Katakana}ー]/u.test(part) ? [part] : cut(part, 2, 1),
  )

function splitHangul(run: string, isAll: boolean): readonly string[] {
  const word = isAll ? run : stripKoreanParticle(run)
  if (word === undefined) return []
  return word.length <= 3 ? [word] : cut(word, 2, 1)
}

function cut(text: string, size: number, step: number): readonly string[] {
  const chars = [...text]
  if (chars.length <= size) return [text]
  return Array.from({ length: Math.ceil((chars.length - size) / step) + 1 }, (_, i) =>
    chars.slice(i * step, i * step + size).join(''),
  )
}

/** A possessive is its word, and an elided article is left out. A word with hyphens or dots is a phrase, and each of its words. */
function splitSpaced(part: string, dropped: Dropped, isFirst: boolean): readonly string[] {
  const bare = part.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{M}\p{N}'+#]+$/gu, '')
  const whole = bare.replace(possessive, '').replace(elision, '')
  if (whole === '') return letterPattern.test(part) ? [part] : part.trim() === '' ? [] : [part]
  const isDropped = (word: string) => {
    if (dropped === 'all') return false
    const isName = /^\p{Lu}/u.test(word) && [...word].length > 1 && !isFirst
    const isSingleLetter = dropped.size > 0 && /^\p{Ll}$/u.test(word)
    return isSingleLetter || (!isName && dropped.has(word.toLowerCase()))
  }
  const words = whole.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  if (words.length < 2) return words.some(isDropped) ? [] : [whole]
  // A contraction such as "don't" or "we're" is made of function words.
  if (/^\p{L}+'\p{L}{1,2}$/u.test(whole) && isDropped(words[0]!)) return []
  return [whole, ...words.filter((word) => word.length > 2 && /\p{L}/u.test(word) && !isDropped(word))]
}

/** The sessions that a search looks at: without hidden ones, and of those all, or one class. */
export type SearchScope = 'visible' | 'interactive' | 'scheduled'
export type WordsScope = {
  readonly sources: SearchScope
  readonly weeks?: WeekRange | undefined
  /** Weeks that are left out. */
  readonly notWeeks?: WeekRange | undefined
}

const isWord = ({ text }: Term): boolean => letterPattern.test(text)

const renderWord = ({ text, isPrefix, forms }: Term): string => {
  const word = `"${separateUnspaced(text)}"${isPrefix ? ' *' : ''}`
  return forms.length ? `(${[word, ...forms.map((form) => `"${form}"`)].join(' OR ')})` : word
}

/** Renders the expression for the rows of `words` with any of these terms; undefined when none is a word. */
export function renderWordsMatch(
  { required, excluded }: Query,
  terms: readonly Term[],
  tenantId: string,
  { sources, weeks, notWeeks }: WordsScope,
): string | undefined {
  const any = terms.filter(isWord).map(renderWord)
  if (any.length === 0) return undefined
  const all = required.filter((term) => isWord(term) && !(terms.length === 1 && terms[0] === term)).map(renderWord)
  const none = excluded.filter(isWord).map(renderWord)
  const wanted = [`(${any.join(' OR ')})`, ...all].join(' AND ')
  const text = none.length === 0 ? wanted : `(${wanted}) NOT (${none.join(' OR ')})`
  const isOfClass = (name: OtherClass) => `tenant:"${classWord(tenantId, name)}"`
  // The words of few rows stand first: without a row of one of them the others are not read.
  const allMatches = [
    ...(weeks ? [renderWeeks(tenantId, weeks)] : []),
    `tenant:"${tenantWord(tenantId)}"`,
    `text:(${text})`,
  ]
  return limitSources(allMatches.join(' AND '), sources, isOfClass, notWeeks && renderWeeks(tenantId, notWeeks))
}

const renderWeeks = (tenantId: string, weeks: WeekRange): string => {
  const words = weeks.map((week) =>
    typeof week === 'number' ? `"${weekWord(tenantId, week)}"` : `"${weekPrefix(tenantId, week)}" *`,
  )
  return `week:(${words.join(' OR ')})`
}

function limitSources(
  match: string,
  sources: SearchScope,
  isOfClass: (name: OtherClass) => string,
  without?: string,
): string {
  const others = { scheduled: [], visible: ['hidden'], interactive: ['hidden', 'scheduled'] } as const
  const none = [...others[sources].map(isOfClass), ...(without === undefined ? [] : [without])]
  const wanted = sources === 'scheduled' ? `${match} AND ${isOfClass('scheduled')}` : match
  return none.length ? `(${wanted}) NOT (${none.join(' OR ')})` : wanted
}

/** Renders the expression for rows of the table `pieces` with any of the terms. It skips terms shorter than a trigram. */
export function renderPiecesMatch(
  { terms, required, excluded }: Query,
  tenantId: string,
  sources: SearchScope,
): string | undefined {
  const isLong = ({ text }: Term) => [...text.trim()].length >= 3
  if (!required.every(isLong)) return undefined
  const render = ({ text }: Term) => `"${text.trim()}"`
  const any = terms.filter(isLong).map(render)
  if (any.length === 0) return undefined
  const none = excluded.filter(isLong).map(render)
  const wanted = [`(${any.join(' OR ')})`, ...required.map(render)].join(' AND ')
  const text = none.length === 0 ? wanted : `(${wanted}) NOT (${none.join(' OR ')})`
  const allMatches = `tenant:"${tenantPiece(tenantId)}" AND {title text}:(${text})`
  return limitSources(allMatches, sources, (name) => `tenant:"${classPiece(tenantId, name)}"`)
}

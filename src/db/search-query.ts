/**
 * What people type, as a match expression of FTS5. Any input gives a valid expression or none: every
 * term is quoted, and only this file writes operators.
 */

import { plainText, separated, tenantPiece, tenantWord, weekWord } from './index-text.ts'

export type Term = { readonly text: string; readonly prefix: boolean }

/** Found when all of one group's terms are there and none of its unwanted ones. */
export type Group = { readonly all: readonly Term[]; readonly none: readonly Term[] }

const longestQuery = 400
const mostTerms = 16
const token = /(-?)"([^"]*)"(\*?)|(\S+)/gu
const letters = /[\p{L}\p{N}]/u
/** All words with a beginning are read, those of every tenant: a short one, or many, would take the database from others. */
const beginning = /[\p{L}\p{N}]{3}$/u
const mostBeginnings = 4

/** `a b` both, `a OR b` either, `"a b"` a phrase, `-a` or `NOT a` without, `abc*` a beginning of three letters or more. */
export function parseQuery(input: string): readonly Group[] {
  const plain = plainText(input)
    .replace(/[“”„]/g, '"')
    .slice(0, longestQuery)
    .toWellFormed()
  const groups: { all: Term[]; none: Term[] }[] = [{ all: [], none: [] }]
  let unwanted = false
  for (const [, minus, phrase, star, word] of [...plain.matchAll(token)].slice(0, mostTerms * 2)) {
    if (word === 'OR') groups.push({ all: [], none: [] })
    else if (word === 'NOT') unwanted = true
    else if (word !== 'AND') {
      const term = phrase === undefined ? bareTerm(word!) : { text: phrase, prefix: star === '*' }
      const without = unwanted || minus === '-' || (word !== undefined && /^-./u.test(word))
      if (term.text.trim() !== '') groups.at(-1)![without ? 'none' : 'all'].push(term)
      unwanted = false
    }
  }
  return withFewBeginnings(groups.filter((group) => group.all.length > 0))
}

/** The others are looked for as words. */
function withFewBeginnings(groups: readonly Group[]): readonly Group[] {
  let kept = 0
  const limited = (term: Term): Term => ({
    text: term.text,
    prefix: term.prefix && beginning.test(term.text) && ++kept <= mostBeginnings,
  })
  return groups.map(({ all, none }) => ({ all: all.map(limited), none: none.map(limited) }))
}

/** A quote left open is no quote. */
function bareTerm(word: string): Term {
  const text = word.replace(/^-/, '').replaceAll('"', ' ')
  return text.endsWith('*') ? { text: text.slice(0, -1), prefix: true } : { text, prefix: false }
}

/** For the table of words; undefined when nothing asked for is a word. `weeks` bounds the time. */
export function wordsMatch(groups: readonly Group[], tenantId: string, weeks?: WeekRange): string | undefined {
  const text = expression(groups, {
    usable: (term) => letters.test(term.text),
    written: (term) => `"${separated(term.text)}"${term.prefix ? ' *' : ''}`,
  })
  if (text === undefined) return undefined
  const own = `tenant:"${tenantWord(tenantId)}" AND text:(${text})`
  if (!weeks) return own
  const listed = weeks.weeks.map((week) => `"${weekWord(tenantId, week)}"`).join(' OR ')
  return weeks.inside ? `${own} AND week:(${listed})` : `(${own}) NOT week:(${listed})`
}
export type WeekRange = { readonly weeks: readonly number[]; readonly inside: boolean }

/** For the table of pieces: a group counts only when each of its terms has the three characters of a piece. */
export function piecesMatch(groups: readonly Group[], tenantId: string): string | undefined {
  const long = (term: Term) => [...term.text.trim()].length >= 3
  const able = groups.filter((group) => group.all.every(long))
  const text = expression(able, { usable: long, written: (term) => `"${term.text.trim()}"` })
  return text && `tenant:"${tenantPiece(tenantId)}" AND {title text}:(${text})`
}

type Writing = { readonly usable: (term: Term) => boolean; readonly written: (term: Term) => string }

function expression(groups: readonly Group[], { usable, written }: Writing): string | undefined {
  const parts = groups.flatMap((group) => {
    const all = group.all.filter(usable).map(written)
    const none = group.none.filter(usable).map(written)
    if (all.length === 0) return []
    const wanted = `(${all.join(' AND ')})`
    return [none.length === 0 ? wanted : `(${wanted} NOT (${none.join(' OR ')}))`]
  })
  return parts.length === 0 ? undefined : parts.join(' OR ')
}

/** Finds the rows of the full-text tables that match a query, with their sessions and pages. */

import { hiddenSources } from '#agent/memory/session-source.ts'
import type { TenantDb } from '../tenant-db.ts'
import { weekNumber } from '../index-text.ts'
import { keysPerSession } from '../page-row.ts'
import type { Period, WeekRange } from './period.ts'
import { type Query, renderPiecesMatch, renderWordsMatch, type SearchScope, type WordsScope } from './search-query.ts'
import type { Within } from './session-scope.ts'

export type MatchRow = {
  readonly key: number
  readonly session: string
  readonly source: string
  readonly title: string | null
  readonly updated_at: number
  readonly page: number | null
  readonly at: number | null
  readonly body: string | null
}

/** The rows to read, and what the index says about all rows that match. */
export type Found = {
  readonly rows: readonly MatchRow[]
  /** The keys of the rows with each term, in the order of the terms. Empty when the rows are not chosen by them. */
  readonly keysOfTerms: readonly (readonly number[])[]
}

export type Reach = {
  readonly now: number
  readonly within: Within
  /** The time that is searched; undefined for all. */
  readonly weeks?: WeekRange | undefined
}

const recentWeeks = 6
/** For each word so many of its latest rows are read. A word with more of them says little. */
const maxKeysOfTerm = 500
/** A query reaches only rows with its words. All rows are about so many times more. */
const rowsPerFound = 4
/** More rows of one session are read only when there are no others: answers from many sessions are worth more. */
const rowsOfSession = 5
/** How much the words that are anywhere in its session count for the choice of a row. */
const sessionShare = 0.5
/** Bodies up to this size are part of the result rows. Longer ones are fetched one at a time, to limit memory. */
const maxInlineBodyBytes = 65_536

export const matchColumns = (key: string) =>
  `${key} AS key, session.id AS session, session.source, session.title, session.updated_at, page.id AS page, page.at,
    CASE WHEN page.size <= ${maxInlineBodyBytes} THEN page.body END AS body`
/** A title joins the first page of the session, which is nearly always n = 1. */
const joinSession = (key: string) =>
  `CROSS JOIN session ON session.num = ${key} >> 20 AND session.tenant_id = ?1
  LEFT JOIN page ON page.id = ${key} + (${key} % ${keysPerSession} = 0) AND page.tenant_id = ?1`

/**
 * Selects matches with their session and page. CROSS JOIN makes SQLite read the full-text table first and in order, so
 * that it stops at the limit.
 */
const selectMatches = (table: SearchTable, direction: Direction, match: string, within: Within) =>
  `SELECT ${matchColumns(`${table}.rowid`)} FROM ${table} ${joinSession(`${table}.rowid`)}
  WHERE ${table} MATCH ${match} ${within(`${table}.rowid`)} ORDER BY ${table}.rowid ${direction} LIMIT ?3`

type SearchTable = 'words' | 'pieces'
type Direction = 'ASC' | 'DESC'

/** Matches of several expressions, one after the other. SQLite runs a part only when those before it do not fill the limit. */
const selectInOrder = (table: SearchTable, count: number, within: Within) =>
  `${['?2', '?4', '?5']
    .slice(0, count)
    .map((match) => `SELECT * FROM (${selectMatches(table, 'DESC', match, within)})`)
    .join(' UNION ALL ')} LIMIT ?3`

/** A phrase without words, which no row has. */
const noMatch = '""'

/** Selects the keys of the latest rows of each word. They are compared with the tenant when their sessions are read. */
const selectKeys = (within: Within) => `SELECT term.key AS term, (SELECT json_group_array(key) FROM (
    SELECT words.rowid AS key FROM words WHERE words MATCH term.value ${within('words.rowid')} ORDER BY words.rowid DESC LIMIT ?3
  )) AS keys FROM json_each(?2) AS term WHERE EXISTS (SELECT 1 FROM session WHERE tenant_id = ?1)`

/** Selects the newest page before a time of each session, in the order of lists. The index has the day of a session. */
const selectNewestPages = (direction: Direction, within: Within) =>
  `SELECT ${matchColumns('newest.key')} FROM (SELECT (SELECT MAX(id) FROM page WHERE tenant_id = ?1 AND at < ?4
    AND id BETWEEN session.num * ${keysPerSession} AND (session.num + 1) * ${keysPerSession} - 1) AS key FROM session
    WHERE tenant_id = ?1 AND updated_at >= ?3 AND source NOT IN (${hidden}) ${within(`(session.num * ${keysPerSession})`)}
    ORDER BY active_day ${direction}, updated_at ${direction} LIMIT ?2) AS newest ${joinSession('newest.key')}`
const hidden = hiddenSources.map((source) => `'${source}'`).join()

/** Finds the sessions that filters name without a word. */
export const findNewestPages = (
  { read }: TenantDb,
  { from = 0, to = Number.MAX_SAFE_INTEGER }: Period,
  limit: number,
  { within, sort }: Pick<Reach, 'within'> & { readonly sort: 'newest' | 'oldest' | undefined },
): Promise<readonly MatchRow[]> =>
  read<MatchRow>(selectNewestPages(sort === 'oldest' ? 'ASC' : 'DESC', within), limit, from, to)

const selectChosen = `SELECT ${matchColumns('chosen.value')} FROM json_each(?2) AS chosen ${joinSession('chosen.value')}`

/** Selects the page of a key. For a title it selects the first page of the session. */
const selectBody = 'SELECT body FROM page WHERE tenant_id = ?1 AND id >= ?2 AND id < ?3 ORDER BY id LIMIT 1'

export async function readBody({ read }: TenantDb, key: number): Promise<string> {
  const end = key % keysPerSession === 0 ? key + keysPerSession : key + 1
  const [row] = await read<{ readonly body: string }>(selectBody, key, end)
  return row?.body ?? '[]'
}

/**
 * Finds the latest rows with all terms that are demanded and any of the others. Keys are ordered by the creation of the
 * session, not by time: a chat that began long ago and continues today has low keys. So those of the last weeks come
 * first. Runs of jobs repeat the same words and are the latest sessions, so they come last.
 */
export async function findLatest(
  { tenantId, read }: TenantDb,
  query: Query,
  limit: number,
  { sort, now, within, weeks }: Reach & { readonly sort: 'newest' | 'oldest' | undefined },
): Promise<readonly MatchRow[]> {
  const render = (sources: SearchScope, scope: Omit<WordsScope, 'sources'> = { weeks }) =>
    renderWordsMatch(query, query.terms, tenantId, { sources, ...scope })
  const sources = sort === undefined ? 'interactive' : 'visible'
  const match = render(sources)
  if (match === undefined) return []
  if (sort === 'oldest') return read<MatchRow>(selectMatches('words', 'ASC', '?2', within), match, limit)
  const lastWeeks = Array.from({ length: recentWeeks }, (_, i) => Math.max(0, weekNumber(now) + 1 - i))
  const latest = weeks ? [match] : [render(sources, { weeks: lastWeeks }), render(sources, { notWeeks: lastWeeks })]
  const matches = [...latest, sort === undefined ? render('scheduled') : undefined].filter((one) => one !== undefined)
  const [first = match, ...others] = matches
  return read<MatchRow>(selectInOrder('words', matches.length, within), first, limit, ...others)
}

/**
 * Finds the rows with the largest sum of rarities of the terms, and of the terms in their session. Runs of jobs fill up what
 * is left. The first round trip reads the keys of each term, the second one the chosen rows.
 */
export async function findRarest(
  { tenantId, statement, read, readAll }: TenantDb,
  query: Query,
  limit: number,
  { within, weeks }: Reach,
): Promise<Found> {
  const renderTerms = (terms: Query['terms'], sources: SearchScope) =>
    renderWordsMatch(query, terms, tenantId, { sources, weeks })
  const scheduled = renderTerms(query.terms, 'scheduled')
  if (scheduled === undefined) return { rows: [], keysOfTerms: [] }
  const matches = query.terms.map((term) => renderTerms([term], 'interactive') ?? noMatch)
  const listed = await read<KeysOfTerm>(selectKeys(within), JSON.stringify(matches), maxKeysOfTerm)
  const keysOfTerms = query.terms.map((_, i) => parseKeys(listed.find(({ term }) => term === i)?.keys))
  const chosen = chooseKeys(keysOfTerms, limit)
  const missing = limit - chosen.length
  const found = await readAll<MatchRow>([
    ...(chosen.length ? [statement(selectChosen, JSON.stringify(chosen))] : []),
    ...(missing ? [statement(selectMatches('words', 'DESC', '?2', within), scheduled, missing)] : []),
  ])
  return { rows: found.flat(), keysOfTerms }
}

type KeysOfTerm = { readonly term: number; readonly keys: string }
const parseKeys = (keys = '[]') => JSON.parse(keys) as readonly number[]

/** The rarity of each term among the rows that were found. Rows of other tenants do not count. */
export function raritiesOf(keysOfTerms: readonly (readonly number[])[]): readonly number[] {
  const total = rowsPerFound * new Set(keysOfTerms.flat()).size
  return keysOfTerms.map(({ length }) => (length ? Math.log(1 + (total - length + 0.5) / (length + 0.5)) : 0))
}

/** The sum of the rarities of all terms that are anywhere in a session, by its number. */
export function coverageOf(keysOfTerms: readonly (readonly number[])[]): ReadonlyMap<number, number> {
  const rarities = raritiesOf(keysOfTerms)
  const coverage = new Map<number, number>()
  for (const [term, keys] of keysOfTerms.entries())
    for (const session of new Set(keys.map(sessionOf)))
      coverage.set(session, (coverage.get(session) ?? 0) + (rarities[term] ?? 0))
  return coverage
}

export const sessionOf = (key: number): number => Math.floor(key / keysPerSession)

/** Exported for tests. */
export function chooseKeys(keysOfTerms: readonly (readonly number[])[], limit: number): readonly number[] {
  const rarities = raritiesOf(keysOfTerms)
  const coverage = coverageOf(keysOfTerms)
  const points = new Map<number, number>()
  for (const [term, keys] of keysOfTerms.entries())
    for (const key of keys) points.set(key, (points.get(key) ?? 0) + (rarities[term] ?? 0))
  const scores = [...points].map(([key, sum]): readonly [number, number] => [
    key,
    sum + sessionShare * (coverage.get(sessionOf(key)) ?? 0),
  ])
  const ordered = scores.toSorted(([a, one], [b, other]) => other - one || b - a).map(([key]) => key)
  const counts = new Map<number, number>()
  const isFirst = ordered.map((key) => {
    const count = (counts.get(sessionOf(key)) ?? 0) + 1
    counts.set(sessionOf(key), count)
    return count <= rowsOfSession
  })
  return [...ordered.filter((_, i) => isFirst[i]), ...ordered.filter((_, i) => !isFirst[i])].slice(0, limit)
}

/** Finds rows in the table `pieces`. Common trigrams make this as slow as all tenants together, so it is the fallback. */
export async function findPieces(
  { tenantId, read }: TenantDb,
  query: Query,
  limit: number,
  { sort, within }: Reach & { readonly sort: 'newest' | 'oldest' | undefined },
): Promise<readonly MatchRow[]> {
  const sources: readonly SearchScope[] = sort === undefined ? ['interactive', 'scheduled'] : ['visible']
  const matches = sources.flatMap((part) => renderPiecesMatch(query, tenantId, part) ?? [])
  const [first, ...others] = matches
  if (first === undefined) return []
  const sql =
    sort === 'oldest' ? selectMatches('pieces', 'ASC', '?2', within) : selectInOrder('pieces', matches.length, within)
  return read<MatchRow>(sql, first, limit, ...others)
}

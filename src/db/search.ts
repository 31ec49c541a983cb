/**
 * Search in a tenant's history, in one round trip: the table of words, and only when that has nothing the
 * table of pieces. Never more than three rows are read for each result asked for.
 */

import type { Entry } from '../agent/model/history.ts'
import type { HistoryHit } from '../agent/model/tool.ts'
import type { Bound } from './tenant-db.ts'
import { plainText, searchable, weekOf } from './index-text.ts'
import { entriesIn, pageKeys } from './page-row.ts'
import { parseQuery, piecesMatch, wordsMatch, type Group } from './search-query.ts'
import { findIn, matchersOf, snippetOf, type Matcher } from './snippet.ts'

type Row = {
  readonly key: number
  readonly session: string
  readonly title: string | null
  readonly updated_at: number
  readonly page: number | null
  readonly at: number | null
  readonly body: string | null
}
type Sort = 'newest' | 'oldest' | undefined

const mostHits = 50
const recentWeeks = 6
/** Bodies come along with the rows up to here; a longer one is fetched alone, so that 20 of them are never held at once. */
const inlineBody = 65_536

/**
 * The full-text table leads and yields its rows in order, so that nothing behind the limit is read. The
 * title of a session stands for its first page, which is nearly always n = 1.
 */
const find = (table: 'words' | 'pieces', order: string, match: '?2' | '?4' = '?2') => `SELECT
    ${table}.rowid AS key, session.id AS session, session.title, session.updated_at, page.id AS page, page.at,
    CASE WHEN page.size <= ${inlineBody} THEN page.body END AS body
  FROM ${table} CROSS JOIN session ON session.num = ${table}.rowid >> 20 AND session.tenant_id = ?1
  LEFT JOIN page ON page.id = ${table}.rowid + (${table}.rowid % ${pageKeys} = 0) AND page.tenant_id = ?1
  WHERE ${table} MATCH ${match} ORDER BY ${order} LIMIT ?3`

const fallingKeys = (table: 'words' | 'pieces') => `${table}.rowid DESC`
const risingKeys = (table: 'words' | 'pieces') => `${table}.rowid ASC`

/** The second half is only begun when the first one has not filled the limit. */
const findLatest = `SELECT * FROM (${find('words', fallingKeys('words'))})
  UNION ALL SELECT * FROM (${find('words', fallingKeys('words'), '?4')}) LIMIT ?3`
const findOldest = find('words', risingKeys('words'))
const findBest = find('words', 'rank')
const findPieces = {
  best: find('pieces', 'rank'),
  newest: find('pieces', fallingKeys('pieces')),
  oldest: find('pieces', risingKeys('pieces')),
}

/** The page of a key, or the first one after it for a title whose session begins later. */
const bodyFrom = 'SELECT body FROM page WHERE tenant_id = ?1 AND id >= ?2 AND id < ?3 ORDER BY id LIMIT 1'

export async function search(
  bound: Bound,
  query: string,
  wanted: number,
  { sort, now }: { readonly sort?: Sort; readonly now: number },
): Promise<readonly HistoryHit[]> {
  const limit = Math.max(1, Math.min(Math.trunc(wanted), mostHits))
  const groups = parseQuery(query)
  const rows = await wordRows(bound, groups, limit, { sort, now })
  const hits = await hitsOf(bound, rows.length > 0 ? rows : await pieceRows(bound, groups, limit, sort), groups)
  if (sort !== undefined) return hits.toSorted(byTime(sort)).map(({ hit }) => hit)
  return (isRanked(groups) ? hits : hits.toSorted(byWeight)).map(({ hit }) => hit)
}

/**
 * What bm25 weighs is which of several terms is the rarer one. It counts every match of every tenant for that,
 * so a term that stands alone is not ranked by it: its latest matches are, among themselves, by how well they fit.
 */
const isRanked = (groups: readonly Group[]) => groups.flatMap((group) => group.all).length > 1

/**
 * Keys grow with the age of a session, not with time: a chat that began long ago and goes on today has
 * low ones. So the newest are looked for among the last weeks first, and among all others after that.
 */
async function wordRows(
  bound: Bound,
  groups: readonly Group[],
  limit: number,
  { sort, now }: { readonly sort?: Sort; readonly now: number },
): Promise<readonly Row[]> {
  const match = wordsMatch(groups, bound.tenantId)
  if (match === undefined) return []
  if (sort === 'oldest') return bound.read<Row>(findOldest, match, limit)
  if (sort === undefined && isRanked(groups)) return bound.read<Row>(findBest, match, limit)
  const thisWeek = weekOf(now)
  const weeks = Array.from({ length: recentWeeks }, (_, i) => Math.max(0, thisWeek + 1 - i))
  const within = (inside: boolean) => wordsMatch(groups, bound.tenantId, { weeks, inside }) ?? match
  return bound.read<Row>(findLatest, within(true), limit, within(false))
}

/** Their cost is that of all tenants: three letters are common everywhere. Hence only where words are not found. */
async function pieceRows(bound: Bound, groups: readonly Group[], limit: number, sort: Sort): Promise<readonly Row[]> {
  const match = piecesMatch(groups, bound.tenantId)
  return match === undefined ? [] : bound.read<Row>(findPieces[sort ?? 'best'], match, limit)
}

/** A hit and how well it fits. */
type Weighed = { readonly hit: HistoryHit; readonly weight: number }

const byTime = (sort: 'newest' | 'oldest') => (a: Weighed, b: Weighed) =>
  sort === 'newest' ? compared(b.hit.at, a.hit.at) : compared(a.hit.at, b.hit.at)
const byWeight = (a: Weighed, b: Weighed) => b.weight - a.weight || compared(b.hit.at, a.hit.at)
const compared = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** One hit a page. Long bodies are held one at a time. */
async function hitsOf(bound: Bound, rows: readonly Row[], groups: readonly Group[]): Promise<readonly Weighed[]> {
  const matchers = matchersOf(groups)
  const hits = new Map<number, Weighed>()
  for (const row of rows) {
    const place = row.page ?? row.key
    if (hits.has(place)) continue
    const body = row.body ?? (await bodyOf(bound, row.key))
    hits.set(place, row.key % pageKeys === 0 ? titleHit(row, body, matchers) : bestHit(row, body, matchers))
  }
  return [...hits.values()]
}

async function bodyOf({ read }: Bound, key: number): Promise<string> {
  const end = key % pageKeys === 0 ? key + pageKeys : key + 1
  const [row] = await read<{ readonly body: string }>(bodyFrom, key, end)
  return row?.body ?? '[]'
}

/** What people and models said goes before what a tool returned. */
function bestHit(row: Row, body: string, matchers: readonly Matcher[]): Weighed {
  const found = entriesIn(body).map((entry) => {
    const text = plainText(searchable(entry))
    const { score, places } = findIn(text, matchers)
    return { entry, text, places, weight: text === '' ? -1 : score * 2 + (entry.message.role === 'tool' ? 0 : 1) }
  })
  const [best] = found.toSorted((a, b) => b.weight - a.weight)
  return {
    hit: hitAt(row, best?.entry, best ? snippetOf(best.text, best.places) : ''),
    weight: best?.weight ?? -1,
  }
}

/** Of two that fit as well the title goes first. */
function titleHit(row: Row, body: string, matchers: readonly Matcher[]): Weighed {
  const title = plainText(row.title ?? '')
  const { score, places } = findIn(title, matchers)
  return { hit: hitAt(row, entriesIn(body)[0], snippetOf(title, places)), weight: score * 2 + 2 }
}

const hitAt = (row: Row, entry: Entry | undefined, snippet: string): HistoryHit => ({
  session_id: row.session,
  title: row.title,
  message_id: entry?.id ?? '',
  role: entry?.message.role ?? 'user',
  at: new Date(entry?.at ?? row.at ?? row.updated_at).toISOString(),
  snippet,
})

/**
 * Search in a tenant's history. First the table of words, then, only when that found less than half of
 * what was asked for, the table of pieces: together never more than three rows read for each result asked for.
 */

import type { Entry } from '../agent/model/history.ts'
import type { HistoryHit } from '../agent/model/tool.ts'
import type { Bound } from './bound.ts'
import { plainText, searchable, weekOf } from './index-text.ts'
import { entriesIn, pageKeys } from './page-row.ts'
import { parseQuery, piecesMatch, wordsMatch } from './search-query.ts'
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
const find = (table: 'words' | 'pieces', order: string, besides: readonly number[] = []) => `SELECT
    ${table}.rowid AS key, session.id AS session, session.title, session.updated_at, page.id AS page, page.at,
    CASE WHEN page.size <= ${inlineBody} THEN page.body END AS body
  FROM ${table} CROSS JOIN session ON session.num = ${table}.rowid >> 20 AND session.tenant_id = ?1
  LEFT JOIN page ON page.id = ${table}.rowid + (${table}.rowid % ${pageKeys} = 0) AND page.tenant_id = ?1
  WHERE ${table} MATCH ?2 ${besides.length === 0 ? '' : `AND ${table}.rowid NOT IN (${besides.join(', ')})`}
  ORDER BY ${order} LIMIT ?3`

/** The page of a key, or the first one after it for a title whose session begins later. */
const bodyFrom = 'SELECT body FROM page WHERE tenant_id = ?1 AND id >= ?2 AND id < ?3 ORDER BY id LIMIT 1'

const orderOf = (table: 'words' | 'pieces', sort: Sort) =>
  sort === undefined ? 'rank' : `${table}.rowid ${sort === 'newest' ? 'DESC' : 'ASC'}`

export async function search(
  bound: Bound,
  query: string,
  wanted: number,
  { sort, now }: { readonly sort?: Sort; readonly now: number },
): Promise<readonly HistoryHit[]> {
  const limit = Math.max(1, Math.min(Math.trunc(wanted), mostHits))
  const groups = parseQuery(query)
  const rows: Row[] = []
  for (const match of wordMatches(groups, bound.tenantId, { sort, now })) {
    if (rows.length >= limit) break
    rows.push(...(await bound.read<Row>(find('words', orderOf('words', sort)), match, limit - rows.length)))
  }
  const pieces = piecesMatch(groups, bound.tenantId)
  // A row that is passed over because it was found already is read too: it is taken off what may be read.
  const room = limit - Math.ceil((rows.length * 4) / 3)
  if (pieces !== undefined && rows.length < limit / 2 && room > 0) {
    const known = rows.map((row) => row.key)
    rows.push(...(await bound.read<Row>(find('pieces', orderOf('pieces', sort), known), pieces, room)))
  }
  const hits = await hitsOf(bound, rows, matchersOf(groups))
  return sort === undefined ? hits : hits.toSorted(byTime(sort))
}

/**
 * Keys grow with the age of a session, not with time: a chat that began long ago and goes on today has
 * low ones. So the newest are looked for among the last weeks first, and among all others after that.
 */
function wordMatches(
  groups: ReturnType<typeof parseQuery>,
  tenantId: string,
  { sort, now }: { readonly sort?: Sort; readonly now: number },
): readonly string[] {
  const thisWeek = weekOf(now)
  const weeks = Array.from({ length: recentWeeks }, (_, i) => Math.max(0, thisWeek + 1 - i))
  const matches =
    sort === 'newest'
      ? [wordsMatch(groups, tenantId, { weeks, inside: true }), wordsMatch(groups, tenantId, { weeks, inside: false })]
      : [wordsMatch(groups, tenantId)]
  return matches.filter((match) => match !== undefined)
}

const byTime = (sort: 'newest' | 'oldest') => (a: HistoryHit, b: HistoryHit) =>
  sort === 'newest' ? b.at.localeCompare(a.at) : a.at.localeCompare(b.at)

/** One hit a page. Long bodies are held one at a time. */
async function hitsOf(bound: Bound, rows: readonly Row[], matchers: readonly Matcher[]): Promise<HistoryHit[]> {
  const hits = new Map<number, HistoryHit>()
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
function bestHit(row: Row, body: string, matchers: readonly Matcher[]): HistoryHit {
  const found = entriesIn(body).map((entry) => {
    const text = plainText(searchable(entry))
    const { score, places } = findIn(text, matchers)
    return { entry, text, places, weight: text === '' ? -1 : score * 2 + (entry.message.role === 'tool' ? 0 : 1) }
  })
  const [best] = found.toSorted((a, b) => b.weight - a.weight)
  return hit(row, best?.entry, best ? snippetOf(best.text, best.places) : '')
}

function titleHit(row: Row, body: string, matchers: readonly Matcher[]): HistoryHit {
  const title = plainText(row.title ?? '')
  return hit(row, entriesIn(body)[0], snippetOf(title, findIn(title, matchers).places))
}

const hit = (row: Row, entry: Entry | undefined, snippet: string): HistoryHit => ({
  session_id: row.session,
  title: row.title,
  message_id: entry?.id ?? '',
  role: entry?.message.role ?? 'user',
  at: new Date(entry?.at ?? row.at ?? row.updated_at).toISOString(),
  snippet,
})

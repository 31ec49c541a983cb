/**
 * Searches the history of a tenant. It queries the table `words` in one round trip, and only without a match the table
 * `pieces`. At most three rows are read for each requested result.
 */

import type { Entry } from '../agent/model/history.ts'
import type { HistoryHit } from '../agent/model/tool.ts'
import type { TenantDb } from './tenant-db.ts'
import { normalizeText, getSearchableText, weekNumber } from './index-text.ts'
import { decodeEntries, keysPerSession } from './page-row.ts'
import { parseQuery, renderPiecesMatch, renderWordsMatch, type Group } from './search-query.ts'
import { findMatches, createMatchers, renderSnippet, type Matcher } from './snippet.ts'

type MatchRow = {
  readonly key: number
  readonly session: string
  readonly title: string | null
  readonly updated_at: number
  readonly page: number | null
  readonly at: number | null
  readonly body: string | null
}
type Sort = 'newest' | 'oldest' | undefined

const maxHits = 50
const recentWeeks = 6
/** Bodies up to this size are part of the result rows. Longer ones are fetched one at a time, to limit memory. */
const maxInlineBodyBytes = 65_536

/**
 * Selects matches with their session and page. CROSS JOIN makes SQLite read the full-text table first and in order, so
 * that it stops at the limit. A title match joins the first page of the session, which is nearly always n = 1.
 */
const selectMatches = (table: 'words' | 'pieces', order: string, match: '?2' | '?4' = '?2') => `SELECT
    ${table}.rowid AS key, session.id AS session, session.title, session.updated_at, page.id AS page, page.at,
    CASE WHEN page.size <= ${maxInlineBodyBytes} THEN page.body END AS body
  FROM ${table} CROSS JOIN session ON session.num = ${table}.rowid >> 20 AND session.tenant_id = ?1
  LEFT JOIN page ON page.id = ${table}.rowid + (${table}.rowid % ${keysPerSession} = 0) AND page.tenant_id = ?1
  WHERE ${table} MATCH ${match} ORDER BY ${order} LIMIT ?3`

const newestFirst = (table: 'words' | 'pieces') => `${table}.rowid DESC`
const oldestFirst = (table: 'words' | 'pieces') => `${table}.rowid ASC`

/** SQLite runs the second SELECT only when the first one does not fill the limit. */
const selectLatest = `SELECT * FROM (${selectMatches('words', newestFirst('words'))})
  UNION ALL SELECT * FROM (${selectMatches('words', newestFirst('words'), '?4')}) LIMIT ?3`
const selectOldest = selectMatches('words', oldestFirst('words'))
const selectBest = selectMatches('words', 'rank')
const selectPieces = {
  best: selectMatches('pieces', 'rank'),
  newest: selectMatches('pieces', newestFirst('pieces')),
  oldest: selectMatches('pieces', oldestFirst('pieces')),
}

/** Selects the page of a key. For a title it selects the first page of the session. */
const selectBody = 'SELECT body FROM page WHERE tenant_id = ?1 AND id >= ?2 AND id < ?3 ORDER BY id LIMIT 1'

export async function searchMessages(
  tenantDb: TenantDb,
  query: string,
  requested: number,
  { sort, now }: { readonly sort?: Sort; readonly now: number },
): Promise<readonly HistoryHit[]> {
  const limit = Math.max(1, Math.min(Math.trunc(requested), maxHits))
  const groups = parseQuery(query)
  const rows = await findWords(tenantDb, groups, limit, { sort, now })
  const hits = await buildHits(
    tenantDb,
    rows.length > 0 ? rows : await findPieces(tenantDb, groups, limit, sort),
    groups,
  )
  if (sort !== undefined) return hits.toSorted(byTime(sort)).map(({ hit }) => hit)
  return (isRanked(groups) ? hits : hits.toSorted(byWeight)).map(({ hit }) => hit)
}

/**
 * Whether bm25 ranks the query. bm25 weighs several terms by how rare they are, and reads all matches of all tenants
 * for that. A single term gains nothing from it, so its latest matches are scored here instead.
 */
const isRanked = (groups: readonly Group[]) => groups.flatMap((group) => group.all).length > 1

/**
 * Finds rows in the table `words`. Keys are ordered by the creation of the session, not by time: a chat that began long
 * ago and continues today has low keys. So the newest matches are searched in the last weeks first, then in the rest.
 */
async function findWords(
  tenantDb: TenantDb,
  groups: readonly Group[],
  limit: number,
  { sort, now }: { readonly sort?: Sort; readonly now: number },
): Promise<readonly MatchRow[]> {
  const match = renderWordsMatch(groups, tenantDb.tenantId)
  if (match === undefined) return []
  if (sort === 'oldest') return tenantDb.read<MatchRow>(selectOldest, match, limit)
  if (sort === undefined && isRanked(groups)) return tenantDb.read<MatchRow>(selectBest, match, limit)
  const currentWeek = weekNumber(now)
  const weeks = Array.from({ length: recentWeeks }, (_, i) => Math.max(0, currentWeek + 1 - i))
  const renderMatch = (isWithin: boolean) => renderWordsMatch(groups, tenantDb.tenantId, { weeks, isWithin }) ?? match
  return tenantDb.read<MatchRow>(selectLatest, renderMatch(true), limit, renderMatch(false))
}

/** Finds rows in the table `pieces`. Common trigrams make this as slow as all tenants together, so it is the fallback. */
async function findPieces(
  tenantDb: TenantDb,
  groups: readonly Group[],
  limit: number,
  sort: Sort,
): Promise<readonly MatchRow[]> {
  const match = renderPiecesMatch(groups, tenantDb.tenantId)
  return match === undefined ? [] : tenantDb.read<MatchRow>(selectPieces[sort ?? 'best'], match, limit)
}

/** A hit with its score. */
type ScoredHit = { readonly hit: HistoryHit; readonly weight: number }

const byTime = (sort: 'newest' | 'oldest') => (a: ScoredHit, b: ScoredHit) =>
  sort === 'newest' ? compareText(b.hit.at, a.hit.at) : compareText(a.hit.at, b.hit.at)
const byWeight = (a: ScoredHit, b: ScoredHit) => b.weight - a.weight || compareText(b.hit.at, a.hit.at)
const compareText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Builds one hit for each page. Long bodies are held in memory one at a time. */
async function buildHits(
  tenantDb: TenantDb,
  rows: readonly MatchRow[],
  groups: readonly Group[],
): Promise<readonly ScoredHit[]> {
  const matchers = createMatchers(groups)
  const hits = new Map<number, ScoredHit>()
  for (const row of rows) {
    const pageKey = row.page ?? row.key
    if (hits.has(pageKey)) continue
    const body = row.body ?? (await readBody(tenantDb, row.key))
    hits.set(
      pageKey,
      row.key % keysPerSession === 0 ? buildTitleHit(row, body, matchers) : buildMessageHit(row, body, matchers),
    )
  }
  return [...hits.values()]
}

async function readBody({ read }: TenantDb, key: number): Promise<string> {
  const end = key % keysPerSession === 0 ? key + keysPerSession : key + 1
  const [row] = await read<{ readonly body: string }>(selectBody, key, end)
  return row?.body ?? '[]'
}

/** Builds the hit for the best message of the page. Messages rank before tool results. */
function buildMessageHit(row: MatchRow, body: string, matchers: readonly Matcher[]): ScoredHit {
  const scored = decodeEntries(body).map((entry) => {
    const text = normalizeText(getSearchableText(entry))
    const { score, ranges } = findMatches(text, matchers)
    return { entry, text, ranges, weight: text === '' ? -1 : score * 2 + (entry.message.role === 'tool' ? 0 : 1) }
  })
  const [best] = scored.toSorted((a, b) => b.weight - a.weight)
  return {
    hit: buildHit(row, best?.entry, best ? renderSnippet(best.text, best.ranges) : ''),
    weight: best?.weight ?? -1,
  }
}

/** Builds the hit for a title. With an equal score, a title ranks before messages. */
function buildTitleHit(row: MatchRow, body: string, matchers: readonly Matcher[]): ScoredHit {
  const title = normalizeText(row.title ?? '')
  const { score, ranges } = findMatches(title, matchers)
  return { hit: buildHit(row, decodeEntries(body)[0], renderSnippet(title, ranges)), weight: score * 2 + 2 }
}

const buildHit = (row: MatchRow, entry: Entry | undefined, snippet: string): HistoryHit => ({
  session_id: row.session,
  title: row.title,
  message_id: entry?.id ?? '',
  role: entry?.message.role ?? 'user',
  at: new Date(entry?.at ?? row.at ?? row.updated_at).toISOString(),
  snippet,
})

/**
 * Searches the history of a tenant. It queries the table `words` in one round trip, and only without a match the table
 * `pieces`. Candidates are the latest rows of the tenant that match, and they are ranked by what they contain: no row of
 * another tenant counts. Three rows are read for each candidate.
 */

import type { Entry } from '../agent/model/history.ts'
import type { HistoryHit } from '../agent/model/tool.ts'
import type { TenantDb } from './tenant-db.ts'
import { normalizeText, getSearchableText, weekNumber } from './index-text.ts'
import { decodeEntries, keysPerSession } from './page-row.ts'
import {
  type CandidateQuery,
  countTerms,
  parseQuery,
  renderPiecesMatch,
  renderWordsMatch,
  splitAlternatives,
} from './search-query.ts'
import { type Candidate, rankCandidates, sumStrictness } from './search-rank.ts'
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
/** Several terms are ranked among more candidates than results: the best match is often not the latest. */
const candidatesPerHit = 2
const minCandidates = 20
const recentWeeks = 6
/** Bodies up to this size are part of the result rows. Longer ones are fetched one at a time, to limit memory. */
const maxInlineBodyBytes = 65_536

/** Renders a condition on the key of a row, or nothing. */
type Within = (key: string) => string

/**
 * Selects matches with their session and page. CROSS JOIN makes SQLite read the full-text table first and in order, so
 * that it stops at the limit. A title match joins the first page of the session, which is nearly always n = 1.
 */
const selectMatches = (table: 'words' | 'pieces', order: string, match: '?2' | '?4', within: Within) => `SELECT
    ${table}.rowid AS key, session.id AS session, session.title, session.updated_at, page.id AS page, page.at,
    CASE WHEN page.size <= ${maxInlineBodyBytes} THEN page.body END AS body
  FROM ${table} CROSS JOIN session ON session.num = ${table}.rowid >> 20 AND session.tenant_id = ?1
  LEFT JOIN page ON page.id = ${table}.rowid + (${table}.rowid % ${keysPerSession} = 0) AND page.tenant_id = ?1
  WHERE ${table} MATCH ${match} ${within(`${table}.rowid`)} ORDER BY ${order} LIMIT ?3`

const newestFirst = (table: 'words' | 'pieces') => `${table}.rowid DESC`
const oldestFirst = (table: 'words' | 'pieces') => `${table}.rowid ASC`

/** SQLite runs the second SELECT only when the first one does not fill the limit. */
const selectLatest = (within: Within) => `SELECT * FROM (${selectMatches('words', newestFirst('words'), '?2', within)})
  UNION ALL SELECT * FROM (${selectMatches('words', newestFirst('words'), '?4', within)}) LIMIT ?3`
const selectOldest = (within: Within) => selectMatches('words', oldestFirst('words'), '?2', within)
const selectLatestPieces = (within: Within) => selectMatches('pieces', newestFirst('pieces'), '?2', within)
const selectOldestPieces = (within: Within) => selectMatches('pieces', oldestFirst('pieces'), '?2', within)

const selectChat = 'SELECT num FROM session WHERE tenant_id = ?1 AND chat = ?2 ORDER BY num DESC LIMIT 200'

/**
 * Restricts a query to the sessions of a chat, which are few: one for each thread. Undefined when there are none. The
 * numbers are ours, so that they need no parameters; the range lets SQLite skip all other rows.
 */
async function restrictTo(chat: string | undefined, { read }: TenantDb): Promise<Within | undefined> {
  if (chat === undefined) return () => ''
  const nums = (await read<{ readonly num: number }>(selectChat, chat)).map(({ num }) => Number(num))
  if (!nums.length) return undefined
  const [from, to] = [Math.min(...nums) * keysPerSession, (Math.max(...nums) + 1) * keysPerSession]
  return (key) => `AND ${key} >= ${from} AND ${key} < ${to} AND ${key} >> 20 IN (${nums.join()})`
}

/** Selects the page of a key. For a title it selects the first page of the session. */
const selectBody = 'SELECT body FROM page WHERE tenant_id = ?1 AND id >= ?2 AND id < ?3 ORDER BY id LIMIT 1'

type SearchOptions = {
  readonly sort?: Sort
  readonly now: number
  /** Only the sessions of this chat. */
  readonly chat?: string | undefined
}
type WithinOptions = SearchOptions & { readonly within: Within }

export async function searchMessages(
  tenantDb: TenantDb,
  query: string,
  requested: number,
  options: SearchOptions,
): Promise<readonly HistoryHit[]> {
  const within = await restrictTo(options.chat, tenantDb)
  if (within === undefined) return []
  const limit = Math.max(1, Math.min(Math.trunc(requested), maxHits))
  const groups = parseQuery(query)
  const isRanked = options.sort === undefined && countTerms(groups) > 1
  const wanted = { groups, limit: isRanked ? Math.max(minCandidates, limit * candidatesPerHit) : limit }
  const rows = await findWords(tenantDb, wanted, { ...options, within })
  const found = rows.length > 0 ? rows : await findPieces(tenantDb, wanted, { ...options, within })
  const candidates = await readCandidates(tenantDb, found, createMatchers(groups))
  return takeFirstOfPages(sortCandidates(candidates, options)).slice(0, limit)
}

/**
 * Finds rows in the table `words`. Keys are ordered by the creation of the session, not by time: a chat that began long
 * ago and continues today has low keys. So the newest matches are searched in the last weeks first, then in the rest.
 */
async function findWords(
  tenantDb: TenantDb,
  { groups, limit }: CandidateQuery,
  { sort, now, within }: WithinOptions,
): Promise<readonly MatchRow[]> {
  const { tenantId, statement, read, readAll } = tenantDb
  if (sort === 'oldest') {
    const match = renderWordsMatch(groups, tenantId)
    return match === undefined ? [] : read<MatchRow>(selectOldest(within), match, limit)
  }
  const currentWeek = weekNumber(now)
  const weeks = Array.from({ length: recentWeeks }, (_, i) => Math.max(0, currentWeek + 1 - i))
  const parts = sort === undefined ? splitAlternatives(groups, limit) : [{ groups, limit }]
  const bindings = parts.flatMap((part) => {
    const recent = renderWordsMatch(part.groups, tenantId, { weeks, isWithin: true })
    const earlier = renderWordsMatch(part.groups, tenantId, { weeks, isWithin: false })
    return recent === undefined || earlier === undefined ? [] : [[recent, part.limit, earlier] as const]
  })
  const [first] = bindings
  if (!first) return []
  if (bindings.length === 1) return read<MatchRow>(selectLatest(within), ...first)
  return (await readAll<MatchRow>(bindings.map((values) => statement(selectLatest(within), ...values)))).flat()
}

/** Finds rows in the table `pieces`. Common trigrams make this as slow as all tenants together, so it is the fallback. */
async function findPieces(
  tenantDb: TenantDb,
  { groups, limit }: CandidateQuery,
  { sort, within }: WithinOptions,
): Promise<readonly MatchRow[]> {
  const match = renderPiecesMatch(groups, tenantDb.tenantId)
  if (match === undefined) return []
  return tenantDb.read<MatchRow>((sort === 'oldest' ? selectOldestPieces : selectLatestPieces)(within), match, limit)
}

/** A candidate with the key of its page: a title and the first message of its session are one hit. */
type PageCandidate = Candidate & { readonly page: number }

function sortCandidates(candidates: readonly PageCandidate[], { sort, now }: SearchOptions): readonly PageCandidate[] {
  if (sort === undefined) return rankCandidates(candidates, now)
  const direction = sort === 'newest' ? -1 : 1
  return candidates.toSorted((a, b) => direction * (Date.parse(a.hit.at) - Date.parse(b.hit.at)))
}

function takeFirstOfPages(candidates: readonly PageCandidate[]): readonly HistoryHit[] {
  const hits = new Map<number, HistoryHit>()
  for (const { page, hit } of candidates) if (!hits.has(page)) hits.set(page, hit)
  return [...hits.values()]
}

/** Reads one candidate for each row. Long bodies are held in memory one at a time. */
async function readCandidates(
  tenantDb: TenantDb,
  rows: readonly MatchRow[],
  matchers: readonly Matcher[],
): Promise<readonly PageCandidate[]> {
  const candidates = new Map<number, PageCandidate>()
  for (const row of rows) {
    if (candidates.has(row.key)) continue
    const body = row.body ?? (await readBody(tenantDb, row.key))
    const build = row.key % keysPerSession === 0 ? buildTitleCandidate : buildMessageCandidate
    candidates.set(row.key, { ...build(row, body, matchers), page: row.page ?? row.key })
  }
  return [...candidates.values()]
}

async function readBody({ read }: TenantDb, key: number): Promise<string> {
  const end = key % keysPerSession === 0 ? key + keysPerSession : key + 1
  const [row] = await read<{ readonly body: string }>(selectBody, key, end)
  return row?.body ?? '[]'
}

/** Builds the candidate for the best message of the page. Messages rank before tool results. */
function buildMessageCandidate(row: MatchRow, body: string, matchers: readonly Matcher[]): Candidate {
  const matches = decodeEntries(body).map((entry) => {
    const text = normalizeText(getSearchableText(entry))
    const { terms, ranges } = findMatches(text, matchers)
    const weight = text === '' ? -1 : sumStrictness(terms) * 2 + (entry.message.role === 'tool' ? 0 : 1)
    return { entry, text, terms, ranges, weight }
  })
  const [best] = matches.toSorted((a, b) => b.weight - a.weight)
  return {
    hit: buildHit(row, best?.entry, best ? renderSnippet(best.text, best.ranges) : ''),
    kind: best?.entry.message.role === 'tool' ? 'tool' : 'message',
    terms: best?.terms ?? [],
    length: best?.text.length ?? 0,
  }
}

function buildTitleCandidate(row: MatchRow, body: string, matchers: readonly Matcher[]): Candidate {
  const title = normalizeText(row.title ?? '')
  const { terms, ranges } = findMatches(title, matchers)
  const hit = buildHit(row, decodeEntries(body)[0], renderSnippet(title, ranges))
  return { hit, kind: 'title', terms, length: title.length }
}

const buildHit = (row: MatchRow, entry: Entry | undefined, snippet: string): HistoryHit => ({
  session_id: row.session,
  title: row.title,
  message_id: entry?.id ?? '',
  role: entry?.message.role ?? 'user',
  at: new Date(entry?.at ?? row.at ?? row.updated_at).toISOString(),
  snippet,
})

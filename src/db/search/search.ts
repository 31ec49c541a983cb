/**
 * Searches the history of a tenant. It queries the table `words` in one round trip, and only without a match the table
 * `pieces`. Candidates are the latest rows of the tenant that match, and they are ranked by what they contain: no row of
 * another tenant counts. Three rows are read for each candidate.
 */

import type { Entry } from '#agent/core/history.ts'
import { classifySource } from '#agent/memory/session-source.ts'
import type { HistoryHit } from '#agent/core/tool.ts'
import type { TenantDb } from '../tenant-db.ts'
import { normalizeText, getSearchableText, weekNumber } from '../index-text.ts'
import { decodeEntries, getMessageSource, keysPerSession } from '../page-row.ts'
import { resolveScope, type SessionScope, type Within } from './session-scope.ts'
import {
  type CandidateQuery,
  countTerms,
  parseQuery,
  renderPiecesMatch,
  renderWordsMatch,
  type Sources,
  splitAlternatives,
  type WordsScope,
} from './search-query.ts'
import { type Candidate, rankCandidates, sumStrictness } from './search-rank.ts'
import { findMatches, createMatchers, renderSnippet, type Matcher } from './snippet.ts'

type MatchRow = {
  readonly key: number
  readonly session: string
  readonly source: string
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

/**
 * Selects matches with their session and page. CROSS JOIN makes SQLite read the full-text table first and in order, so
 * that it stops at the limit. A title match joins the first page of the session, which is nearly always n = 1.
 */
const selectMatches = (table: Table, direction: Direction, match: string, within: Within) => `SELECT
    ${table}.rowid AS key, session.id AS session, session.source, session.title, session.updated_at, page.id AS page, page.at,
    CASE WHEN page.size <= ${maxInlineBodyBytes} THEN page.body END AS body
  FROM ${table} CROSS JOIN session ON session.num = ${table}.rowid >> 20 AND session.tenant_id = ?1
  LEFT JOIN page ON page.id = ${table}.rowid + (${table}.rowid % ${keysPerSession} = 0) AND page.tenant_id = ?1
  WHERE ${table} MATCH ${match} ${within(`${table}.rowid`)} ORDER BY ${table}.rowid ${direction} LIMIT ?3`

type Table = 'words' | 'pieces'
type Direction = 'ASC' | 'DESC'
/** The limit is ?3. Up to three expressions: the searches below need no more. */
const matchParameters = ['?2', '?4', '?5'] as const

/** Matches of several expressions, one after the other. SQLite runs a part only when those before do not fill the limit. */
const selectInOrder = (table: Table, matches: readonly string[], within: Within) =>
  `${matchParameters
    .slice(0, matches.length)
    .map((match) => `SELECT * FROM (${selectMatches(table, 'DESC', match, within)})`)
    .join(' UNION ALL ')} LIMIT ?3`

/** Selects the page of a key. For a title it selects the first page of the session. */
const selectBody = 'SELECT body FROM page WHERE tenant_id = ?1 AND id >= ?2 AND id < ?3 ORDER BY id LIMIT 1'

type SearchOptions = SessionScope & { readonly sort?: Sort; readonly now: number }
type WithinOptions = Pick<SearchOptions, 'sort' | 'now'> & { readonly within: Within }

/** The hits of a search. `hasMore`: a higher limit may find more. */
export type SearchPage = { readonly hits: readonly HistoryHit[]; readonly hasMore: boolean }

export async function searchMessages(
  tenantDb: TenantDb,
  query: string,
  requested: number,
  options: SearchOptions,
): Promise<SearchPage> {
  const within = await resolveScope(options, tenantDb)
  if (within === undefined) return { hits: [], hasMore: false }
  const limit = Math.max(1, Math.min(Math.trunc(requested), maxHits))
  const groups = parseQuery(query)
  const isRanked = options.sort === undefined && countTerms(groups) > 1
  const wanted = { groups, limit: isRanked ? Math.max(minCandidates, limit * candidatesPerHit) : limit }
  const rows = await findWords(tenantDb, wanted, { ...options, within })
  const found = rows.length > 0 ? rows : await findPieces(tenantDb, wanted, { ...options, within })
  const candidates = await readCandidates(tenantDb, found, createMatchers(groups))
  const hits = takeFirstOfPages(sortCandidates(candidates, options))
  const hasMore = limit < maxHits && (found.length >= wanted.limit || hits.length > limit)
  return { hits: hits.slice(0, limit), hasMore }
}

/**
 * Finds rows in the table `words`. Keys are ordered by the creation of the session, not by time: a chat that began long
 * ago and continues today has low keys. So the newest matches are searched in the last weeks first, then in the rest.
 * Runs of jobs repeat the same words and are the latest sessions, so they are searched last.
 */
async function findWords(
  tenantDb: TenantDb,
  { groups, limit }: CandidateQuery,
  { sort, now, within }: WithinOptions,
): Promise<readonly MatchRow[]> {
  const { tenantId, statement, read, readAll } = tenantDb
  if (sort === 'oldest') {
    const match = renderWordsMatch(groups, tenantId, { sources: 'visible' })
    return match === undefined ? [] : read<MatchRow>(selectMatches('words', 'ASC', '?2', within), match, limit)
  }
  const currentWeek = weekNumber(now)
  const weeks = Array.from({ length: recentWeeks }, (_, i) => Math.max(0, currentWeek + 1 - i))
  const recent = { weeks, isWithin: true }
  const earlier = { weeks, isWithin: false }
  const scopes: readonly WordsScope[] =
    sort === 'newest'
      ? [
          { sources: 'visible', weeks: recent },
          { sources: 'visible', weeks: earlier },
        ]
      : [
          { sources: 'interactive', weeks: recent },
          { sources: 'interactive', weeks: earlier },
          { sources: 'scheduled' },
        ]
  const parts = sort === undefined ? splitAlternatives(groups, limit) : [{ groups, limit }]
  const queries = parts.flatMap((part) => {
    const matches = scopes.flatMap((scope) => renderWordsMatch(part.groups, tenantId, scope) ?? [])
    const [first, ...others] = matches
    return first === undefined
      ? []
      : [{ sql: selectInOrder('words', matches, within), values: [first, part.limit, ...others] }]
  })
  const [only] = queries
  if (!only) return []
  if (queries.length === 1) return read<MatchRow>(only.sql, ...only.values)
  return (await readAll<MatchRow>(queries.map(({ sql, values }) => statement(sql, ...values)))).flat()
}

/** Finds rows in the table `pieces`. Common trigrams make this as slow as all tenants together, so it is the fallback. */
async function findPieces(
  { tenantId, read }: TenantDb,
  { groups, limit }: CandidateQuery,
  { sort, within }: WithinOptions,
): Promise<readonly MatchRow[]> {
  const sources: readonly Sources[] = sort === undefined ? ['interactive', 'scheduled'] : ['visible']
  const matches = sources.flatMap((part) => renderPiecesMatch(groups, tenantId, part) ?? [])
  const [first, ...others] = matches
  if (first === undefined) return []
  const sql =
    sort === 'oldest' ? selectMatches('pieces', 'ASC', '?2', within) : selectInOrder('pieces', matches, within)
  return read<MatchRow>(sql, first, limit, ...others)
}

/** A candidate with the key of its page: a title and the first message of its session are one hit. */
type PageCandidate = Candidate & { readonly page: number }

function sortCandidates(candidates: readonly PageCandidate[], { sort, now }: SearchOptions): readonly PageCandidate[] {
  if (sort === undefined) {
    const isScheduled = ({ hit }: PageCandidate) => classifySource(hit.source) === 'scheduled'
    const ranked = rankCandidates(candidates, now)
    return [...ranked.filter((candidate) => !isScheduled(candidate)), ...ranked.filter(isScheduled)]
  }
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
  source: row.source,
  message_id: entry?.id ?? '',
  role: entry?.message.role ?? 'user',
  ...getMessageSource(entry),
  at: new Date(entry?.at ?? row.at ?? row.updated_at).toISOString(),
  snippet,
})

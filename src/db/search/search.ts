/**
 * Searches the history of a tenant. Words are optional: the rows with the rarest ones are read, and ranked by what they and
 * their sessions contain. No row of another tenant counts. The table `pieces` is searched only without a match in `words`.
 */

import type { Entry } from '#agent/core/history.ts'
import { classifySource } from '#agent/memory/session-source.ts'
import type { HistoryHit, SearchFilter } from '#agent/core/tool.ts'
import type { TenantDb } from '../tenant-db.ts'
import { normalizeText, getSearchableText } from '../index-text.ts'
import { decodeEntries, getMessageSource, keysPerSession } from '../page-row.ts'
import {
  coverageOf,
  findLatest,
  findPieces,
  findRarest,
  type Found,
  type MatchRow,
  raritiesOf,
  readBody,
  sessionOf,
} from './find-rows.ts'
import { intersect, type Period, weeksOf } from './period.ts'
import { parseQuery, type Query } from './search-query.ts'
import { type Candidate, rankCandidates, sumStrictness } from './search-rank.ts'
import { resolveScope, type SessionScope } from './session-scope.ts'
import { findMatches, createMatchers, renderSnippet, type SnippetMatcher, type TermMatch } from './snippet.ts'

type Sort = 'newest' | 'oldest' | undefined

const maxHits = 50
/** Several terms are ranked among more candidates than results: the best match is often not the latest. */
const candidatesPerHit = 2
const minCandidates = 40

type SearchOptions = SessionScope & {
  readonly sort?: Sort
  readonly now: number
  readonly filter?: SearchFilter | undefined
}

/** The hits of a search. `hasMore`: a higher limit may find more. */
export type SearchPage = { readonly hits: readonly HistoryHit[]; readonly hasMore: boolean }

const nothing: SearchPage = { hits: [], hasMore: false }

export async function searchMessages(
  tenantDb: TenantDb,
  input: string,
  requested: number,
  options: SearchOptions,
): Promise<SearchPage> {
  const query = parseFiltered(input, options)
  const { period, filter } = query
  if (period && filter.from === undefined && filter.to === undefined) {
    const found = await searchIn(tenantDb, { ...query, filter: { ...filter, ...period } }, requested, options)
    // The text may mean the time that is talked about.
    if (found.hits.length) return found
  }
  return searchIn(tenantDb, query, requested, options)
}

/** A person is demanded as a word too, so that their rows are found. */
function parseFiltered(input: string, { now, filter: given = {} }: SearchOptions): Query {
  const query = parseQuery(input, now)
  const filter = { ...query.filter, ...given, ...intersectAll([query.filter, given]) }
  if (filter.person === undefined) return { ...query, filter }
  const name = { text: filter.person, isPrefix: false, forms: [] }
  return { ...query, filter, terms: [...query.terms, name], required: [...query.required, name] }
}

const intersectAll = ([one, other]: readonly [Period, Period]): Period => {
  const { from, to } = intersect(one, other)
  return { ...(from ? { from } : {}), ...(to !== Infinity && { to }) }
}

async function searchIn(
  tenantDb: TenantDb,
  query: Query,
  requested: number,
  options: SearchOptions,
): Promise<SearchPage> {
  const { sort, now } = options
  const { source, session } = query.filter
  const within = await resolveScope({ ...options, source, session }, tenantDb)
  if (within === undefined) return nothing
  const limit = Math.max(1, Math.min(Math.trunc(requested), maxHits))
  const isSingle = query.terms.length === 1
  // Sorted by time, no match may be left out for one that fits less.
  const isRanked = !isSingle && sort === undefined
  const wanted = isRanked ? Math.max(minCandidates, limit * candidatesPerHit) : limit
  const reach = { now, within, weeks: weeksOf(query.filter), sort }
  const words = isSingle
    ? { rows: await findLatest(tenantDb, query, limit, reach), keysOfTerms: [] }
    : await findRarest(tenantDb, query, wanted, reach)
  const found = words.rows.length ? words : { rows: await findPieces(tenantDb, query, wanted, reach), keysOfTerms: [] }
  const candidates = await readCandidates(tenantDb, found, query)
  const hits = takeFirstOfPages(sortCandidates(candidates, found, options))
  const hasMore = limit < maxHits && (found.rows.length >= wanted || hits.length > limit)
  return { hits: hits.slice(0, limit), hasMore }
}

/** A candidate with the key of its page: a title and the first message of its session are one hit. */
type PageCandidate = Candidate & { readonly page: number }

function sortCandidates(
  candidates: readonly PageCandidate[],
  { keysOfTerms }: Found,
  { sort, now }: SearchOptions,
): readonly PageCandidate[] {
  if (sort === undefined) {
    const isScheduled = ({ hit }: PageCandidate) => classifySource(hit.source) === 'scheduled'
    const ranked = rankCandidates(candidates, now, keysOfTerms.length ? raritiesOf(keysOfTerms) : undefined)
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

/** Turns a row into a candidate. `isIndexed`: the index says that the row has the term. */
type Reading = {
  readonly matchers: readonly SnippetMatcher[]
  readonly filter: SearchFilter
  readonly isIndexed: (key: number, term: number) => boolean
}

/** Reads one candidate for each row. Long bodies are held in memory one at a time. */
async function readCandidates(
  tenantDb: TenantDb,
  { rows, keysOfTerms }: Found,
  { terms, filter }: Query,
): Promise<readonly PageCandidate[]> {
  const sets = keysOfTerms.map((keys) => new Set(keys))
  const reading: Reading = {
    matchers: createMatchers(terms),
    filter,
    isIndexed: (key, term) => sets[term]?.has(key) ?? false,
  }
  const coverage = coverageOf(keysOfTerms)
  const candidates = new Map<number, PageCandidate>()
  for (const row of rows) {
    if (candidates.has(row.key)) continue
    const body = row.body ?? (await readBody(tenantDb, row.key))
    const build = row.key % keysPerSession === 0 ? buildTitleCandidate : buildMessageCandidate
    const built = build(row, body, reading)
    const page = row.page ?? row.key
    if (built && isInTime(built, filter))
      candidates.set(row.key, { ...built, page, coverage: coverage.get(sessionOf(row.key)) ?? 0 })
  }
  return [...candidates.values()]
}

type Built = Omit<Candidate, 'coverage'>

/** Weeks are whole, so the first and the last one have rows of other days. */
const isInTime = ({ hit }: Built, { from = 0, to = Infinity }: Period): boolean =>
  Date.parse(hit.at) >= from && Date.parse(hit.at) < to

/** How much a result of a tool counts beside what was said. */
const toolShare = 0.5

/** Builds the candidate of a page, with its best message. Messages rank before tool results. */
function buildMessageCandidate(
  row: MatchRow,
  body: string,
  { matchers, filter, isIndexed }: Reading,
): Built | undefined {
  const entries = decodeEntries(body).filter((entry) => isWanted(entry, filter))
  const isFiltered = filter.role !== undefined || filter.person !== undefined
  const matches = entries.map((entry) => {
    const text = normalizeText(getSearchableText(entry))
    const { terms, ranges } = findMatches(text, matchers)
    const isTool = entry.message.role === 'tool'
    const weight = text === '' ? -1 : sumStrictness(terms) * 2 + (isTool ? 0 : 1)
    return { entry, text, terms, ranges, weight, isTool }
  })
  const [best] = matches.toSorted((a, b) => b.weight - a.weight)
  if (isFiltered && (!best || sumStrictness(best.terms) === 0)) return undefined
  const share = ({ isTool }: { readonly isTool: boolean }) => (isTool ? toolShare : 1)
  const terms = matchers.map((_, i): TermMatch => {
    const ofTerm = matches.map((match) => ({ match, term: match.terms[i]! }))
    const count = ofTerm.reduce((sum, { match, term }) => sum + term.count * share(match), 0)
    const strictness = Math.max(0, ...ofTerm.map(({ term }) => term.strictness))
    // The index also knows forms that the patterns do not find.
    return count === 0 && !isFiltered && isIndexed(row.key, i)
      ? { strictness, count: toolShare }
      : { strictness, count }
  })
  return {
    hit: buildHit(row, best?.entry, best ? renderSnippet(best.text, best.ranges) : ''),
    kind: best?.isTool ? 'tool' : 'message',
    terms,
    length: matches.reduce((sum, match) => sum + match.text.length * share(match), 0),
  }
}

function isWanted({ message }: Entry, { role, person }: SearchFilter): boolean {
  if (role !== undefined && message.role !== role) return false
  if (person === undefined) return true
  const name = person.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return message.role === 'user' && new RegExp(`^${name}[^:\\n]{0,80}: `, 'imu').test(getSearchableText({ message }))
}

function buildTitleCandidate(row: MatchRow, body: string, { matchers, filter }: Reading): Built | undefined {
  if (filter.role !== undefined || filter.person !== undefined) return undefined
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

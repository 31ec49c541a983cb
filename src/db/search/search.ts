/**
 * Searches the history of a tenant. Words are optional: the rows with the rarest ones are read, and ranked by what they and
 * their sessions contain. No row of another tenant counts. The table `pieces` is searched only without a match in `words`.
 */

import type { Entry } from '#agent/core/history.ts'
import { classifySource } from '#agent/memory/session-source.ts'
import type { HistoryHit, SearchFilter } from '#agent/core/tool.ts'
import type { TenantDb } from '../tenant-db.ts'
import { getSearchableText, normalizeText } from '../index-text.ts'
import { decodeEntries, getMessageMarks, getMessageSource, keysPerSession } from '../page-row.ts'
import {
  coverageOf,
  findLatest,
  findNewestPages,
  findPieces,
  findRarest,
  type Found,
  type MatchRow,
  raritiesOf,
  readBody,
  sessionOf,
} from './find-rows.ts'
export { findWrongDate } from './period.ts'
import { intersect, type Period, weeksOf } from './period.ts'
import { parseQuery, type Query } from './search-query.ts'
import { resolveScope, type SessionScope, type Within } from './session-scope.ts'
import { type FindSimilar, fuseByRank, getMeaning, readSimilar, type SimilarText } from './similar.ts'
import { createMatchers, findMatches, renderSnippet, type SnippetMatcher, type TermMatch } from './snippet.ts'

type Sort = 'newest' | 'oldest' | undefined

const maxHits = 50
/** Several terms are ranked among more candidates than results: the best match is often not the latest. */
const candidatesPerHit = 2
const minCandidates = 40

type SearchOptions = SessionScope & {
  readonly sort?: Sort
  readonly now: number
  readonly filter?: SearchFilter | undefined
  /** Absent without an embedding model. */
  readonly findSimilar?: FindSimilar | undefined
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
  const similar = startSimilar(input, query, options)
  if (period && filter.from === undefined && filter.to === undefined) {
    const found = await searchIn(tenantDb, { ...query, filter: { ...filter, ...period } }, requested, {
      ...options,
      similar,
    })
    // The text may mean the time that is talked about.
    if (found.hits.length) return found
  }
  return searchIn(tenantDb, query, requested, { ...options, similar })
}

/** Started before the words are searched, so that both take as long as the slower one. Sorted by time, words decide. */
function startSimilar(
  input: string,
  query: Query,
  { findSimilar, sort }: SearchOptions,
): Promise<readonly SimilarText[]> | undefined {
  if (!findSimilar || sort !== undefined) return undefined
  const text = getMeaning(input, query)
  return text === undefined ? undefined : findSimilar(text, query.filter.session).catch(() => [])
}

/** A person is demanded as a word beside the words of the query, so that their rows are found. */
function parseFiltered(input: string, { now, filter: given = {} }: SearchOptions): Query {
  const query = parseQuery(input, now)
  const filter = { ...query.filter, ...given, ...intersectAll([query.filter, given]) }
  if (filter.person === undefined) return { ...query, filter }
  const name = { text: filter.person, isPrefix: false, forms: [] }
  return { ...query, filter, terms: query.terms.length ? query.terms : [name], required: [...query.required, name] }
}

const intersectAll = ([one, other]: readonly [Period, Period]): Period => {
  const { from, to } = intersect(one, other)
  return { ...(from ? { from } : {}), ...(to !== Infinity && { to }) }
}

async function searchIn(
  tenantDb: TenantDb,
  query: Query,
  requested: number,
  options: SearchOptions & { readonly similar: Promise<readonly SimilarText[]> | undefined },
): Promise<SearchPage> {
  const { sort, now, similar } = options
  const { source, session, tag, tool } = query.filter
  const within = await resolveScope({ ...options, source, session, tag, tool }, tenantDb)
  if (within === undefined) return nothing
  const limit = Math.max(1, Math.min(Math.trunc(requested), maxHits))
  if (!query.terms.length) return listFiltered(tenantDb, query, limit, { within, sort })
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
  const ranked = sortCandidates(candidates, found, options)
  const near = similar ? await readNear(tenantDb, await similar, { filter: query.filter, within }) : []
  const hits = takeFirstOfPages(near.length ? putScheduledLast(fuseByRank<PageHit>([ranked, near])) : ranked)
  const hasMore = limit < maxHits && (found.rows.length >= wanted || hits.length > limit)
  return { hits: hits.slice(0, limit).map(({ render }) => render()), hasMore }
}

/** A query of filters alone lists the sessions that they name, with what was said last in each. */
async function listFiltered(
  tenantDb: TenantDb,
  { filter, excluded }: Query,
  limit: number,
  reach: { readonly within: Within; readonly sort: Sort },
): Promise<SearchPage> {
  const { source, session, tag, tool, from, to } = filter
  const isNamed = [source, session, tag, tool, from, to].some((value) => value !== undefined)
  if (!isNamed || excluded.length) return nothing
  const rows = await findNewestPages(tenantDb, filter, limit, reach)
  const hits: HistoryHit[] = []
  for (const row of rows) {
    const entries = decodeEntries(row.body ?? (await readBody(tenantDb, row.key)))
    const said = entries.filter((entry) => isWanted(entry, filter) && getSearchableText(entry) !== '')
    const last = said.findLast(({ message }) => message.role !== 'tool') ?? said.at(-1)
    if (!last) continue
    if (isInTime({ at: timeOf(row, last) }, filter))
      hits.push(renderHit(row, last, renderSnippet(normalizeText(getSearchableText(last)), [])))
  }
  return { hits, hasMore: rows.length === limit && limit < maxHits }
}

/** A candidate with the key of its page: a title and the first message of its session are one hit. */
type PageCandidate = Candidate & { readonly page: number }

function sortCandidates(
  candidates: readonly PageCandidate[],
  { keysOfTerms }: Found,
  { sort, now }: SearchOptions,
): readonly PageCandidate[] {
  if (sort === undefined) {
    const ranked = rankCandidates(candidates, now, keysOfTerms.length ? raritiesOf(keysOfTerms) : undefined)
    return putScheduledLast(ranked)
  }
  const direction = sort === 'newest' ? -1 : 1
  return candidates.toSorted((a, b) => direction * (a.at - b.at))
}

type PageHit = LazyHit & Pick<PageCandidate, 'page'>

function putScheduledLast<Item extends PageHit>(items: readonly Item[]): readonly Item[] {
  const isScheduled = ({ source }: Item) => classifySource(source) === 'scheduled'
  return [...items.filter((item) => !isScheduled(item)), ...items.filter(isScheduled)]
}

/** The hits that were found by their meaning, best first. */
async function readNear(
  tenantDb: TenantDb,
  found: readonly SimilarText[],
  { filter, within }: { readonly filter: SearchFilter; readonly within: Within },
): Promise<readonly PageHit[]> {
  const messages = await readSimilar(tenantDb, found, { within, isWanted: (entry) => isWanted(entry, filter) })
  return messages
    .map(({ row, entry, snippet }) => ({ page: row.key, ...deferHit(row, entry, () => snippet) }))
    .filter((item) => isInTime(item, filter))
}

function takeFirstOfPages(candidates: readonly PageHit[]): readonly LazyHit[] {
  const hits = new Map<number, LazyHit>()
  for (const candidate of candidates) if (!hits.has(candidate.page)) hits.set(candidate.page, candidate)
  return [...hits.values()]
}

/** Turns a row into a candidate. `isIndexed`: the index says that the row has the term. */
type SearchReading = {
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
  const reading: SearchReading = {
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
const isInTime = ({ at }: Pick<Built, 'at'>, { from = 0, to = Infinity }: Period): boolean => at >= from && at < to

/** How much a result of a tool counts beside what was said. */
const toolShare = 0.5

/** Builds the candidate of a page, with its best message. Messages rank before tool results. */
function buildMessageCandidate(
  row: MatchRow,
  body: string,
  { matchers, filter, isIndexed }: SearchReading,
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
    ...deferHit(row, best?.entry, () => (best ? renderSnippet(best.text, best.ranges) : '')),
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

function buildTitleCandidate(row: MatchRow, body: string, { matchers, filter }: SearchReading): Built | undefined {
  if (filter.role !== undefined || filter.person !== undefined) return undefined
  const title = normalizeText(row.title ?? '')
  const { terms, ranges } = findMatches(title, matchers)
  const hit = deferHit(row, decodeEntries(body)[0], () => renderSnippet(title, ranges))
  return { ...hit, kind: 'title', terms, length: title.length }
}

const timeOf = (row: MatchRow, entry: Entry | undefined): number => entry?.at ?? row.at ?? row.updated_at

/** Renders a hit when it is shown. Of a long body only the rendered hit stays in memory. */
function deferHit(row: MatchRow, entry: Entry | undefined, renderText: () => string): LazyHit {
  const render = () => renderHit(row, entry, renderText())
  const known = { at: timeOf(row, entry), source: row.source }
  if (row.body !== null) return { ...known, render }
  const hit = render()
  return { ...known, render: () => hit }
}

const renderHit = (row: MatchRow, entry: Entry | undefined, snippet: string): HistoryHit => ({
  session_id: row.session,
  title: row.title,
  source: row.source,
  message_id: entry?.id ?? '',
  role: entry?.message.role ?? 'user',
  ...getMessageSource(entry),
  ...(entry && { marks: getMessageMarks(entry) }),
  at: new Date(timeOf(row, entry)).toISOString(),
  snippet,
})

// Ranks the candidates of a search. Every figure comes from rows of one tenant. The ranking of FTS5 (bm25) counts the
// rows of all tenants, so its order would tell what others wrote (docs/adr/0023).

/** A hit that is rendered when it is shown, with its source and its time. */
type LazyHit = { readonly source: string; readonly at: number; readonly render: () => HistoryHit }

/** A hit with what ranks it. */
type Candidate = LazyHit & {
  readonly kind: 'title' | 'message' | 'tool'
  /** The terms of the query in their order. */
  readonly terms: readonly TermMatch[]
  /** Characters of the text that was matched. */
  readonly length: number
  /** The sum of the rarities of the terms that are in its session. */
  readonly coverage: number
}

const dayMs = 24 * 60 * 60 * 1000
const kindPoints = { title: 2, message: 1, tool: 0 } as const
const kindFactor = { title: 1.5, message: 1, tool: 0.8 } as const
/** The usual parameters of bm25: how fast repetitions saturate, and how much length counts. */
const saturation = 1.2
const lengthShare = 0.75
/** A hit of this moment counts a quarter more than an old one; half of that is left after a month. */
const recencyShare = 0.25
const recencyDays = 30

/**
 * Sorts candidates, best first. Equal ones are sorted by time, newest first. `rarities`: of the terms, or undefined when
 * only the candidates themselves are known.
 */
function rankCandidates<C extends Candidate>(
  candidates: readonly C[],
  now: number,
  rarities?: readonly number[],
): readonly C[] {
  const isRanked = candidates.some(({ terms }) => terms.length > 1)
  const score = isRanked ? createScore(candidates, now, rarities) : scoreForm
  return candidates
    .map((candidate) => ({ candidate, score: score(candidate) }))
    .toSorted((a, b) => b.score - a.score || b.candidate.at - a.candidate.at)
    .map(({ candidate }) => candidate)
}

/** Scores a single term: the exact form first, then titles, messages, results of tools. */
const scoreForm = ({ terms, kind }: Candidate): number => sumStrictness(terms) * 2 + kindPoints[kind]

const sumStrictness = (terms: readonly TermMatch[]): number =>
  terms.reduce((sum, { strictness }) => sum + (strictness === 0 ? 0 : strictness + 1), 0)

/**
 * Scores several terms as bm25: a rare term counts more than a common one. What its session has in all is added, so that a
 * session with all terms in several messages precedes one with some of them.
 */
function createScore(
  candidates: readonly Candidate[],
  now: number,
  known?: readonly number[],
): (candidate: Candidate) => number {
  const averageLength = candidates.reduce((sum, { length }) => sum + length, 1) / Math.max(1, candidates.length)
  const termCount = Math.max(...candidates.map(({ terms }) => terms.length))
  const rarities = known ?? Array.from({ length: termCount }, (_, i) => getRarity(candidates, i))
  return ({ terms, length, kind, at, coverage }) => {
    const relativeLength = 1 - lengthShare + (lengthShare * length) / averageLength
    const termScore = ({ strictness, count }: TermMatch, i: number) =>
      ((rarities[i] ?? 0) * formFactor(strictness) * count * (saturation + 1)) / (count + saturation * relativeLength)
    const sum = terms.reduce((total, term, i) => total + termScore(term, i), 0)
    const ageDays = Math.max(0, now - at) / dayMs
    return coverage + sum * kindFactor[kind] * (1 + (recencyShare * recencyDays) / (recencyDays + ageDays))
  }
}

/** The exact word counts a little more than another form of it, and a part of a word less. */
const formFactor = (strictness: number): number => [0.9, 0.7, 0.95, 1][strictness] ?? 1

function getRarity(candidates: readonly Candidate[], term: number): number {
  const matching = candidates.filter(({ terms }) => (terms[term]?.count ?? 0) > 0).length
  return Math.log(1 + (candidates.length - matching + 0.5) / (matching + 0.5))
}

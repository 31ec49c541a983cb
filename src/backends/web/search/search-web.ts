/**
 * Searches the web: the vendors that the settings and keys name, then the keyless ring. The next one is asked only when
 * one is limited. Successes are cached for the tenant, and equal searches in flight are sent once.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { SearchAnswer } from '#agent/core/vendor/web.ts'
import type { ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import { chooseSearch } from '#agent/routing/search-choice.ts'
import { callVendor, type VendorCall } from '../call-vendor.ts'
import { removeInvisible } from '../remove-invisible.ts'
import type { WebSend } from '../web-send.ts'
import type { KeylessVendor, WebHit, WebQuery, SearchVendor } from './search-vendor.ts'
import { findSearchVendor, keylessRing } from './vendors.ts'

export type SearchContext = {
  readonly tenantId: string
  readonly deployment: ToolDeployment
  readonly send: WebSend
  readonly sessionId: string
  readonly now: () => number
  /** Of one session: a promise of another session's object would never end for this one. */
  readonly inFlight: Map<string, Promise<SearchAnswer>>
}

export type SearchRequest = { readonly query: string; readonly limit: number; readonly signal: AbortSignal }

type Success = Extract<SearchAnswer, { kind: 'found' }>

const defaultTtlMinutes = 20
const maxCached = 500
const cache = new BoundedMap<string, { readonly at: number; readonly answer: Success }>(maxCached)
const buckets = [10, 20, 50, 100]
const maxDescriptionChars = 2_000

/** The place in the ring at which the next walk begins. */
let ringStart = 0

export async function searchWeb(request: SearchRequest, context: SearchContext): Promise<SearchAnswer> {
  const { settings } = context.deployment
  const choice = chooseSearch(context.deployment)
  if (choice.kind === 'unusable') return { kind: 'failed', error: choice.reason }
  const count = buckets.find((bucket) => request.limit <= bucket) ?? 100
  const source = [...choice.vendors, ...(choice.isKeyless ? ['keyless'] : [])].join(' ')
  const key = JSON.stringify([context.tenantId, source, normalize(request.query), count])
  const ttlMs = (settings.web?.cache_ttl_minutes ?? defaultTtlMinutes) * 60_000
  const cached = cache.get(key)
  if (cached && context.now() - cached.at < ttlMs) return limitHits(cached.answer, request.limit)
  let running = context.inFlight.get(key)
  if (!running) {
    running = ask({ ...request, limit: count }, choice, context).finally(() => context.inFlight.delete(key))
    context.inFlight.set(key, running)
  }
  const answer = await running
  if (answer.kind === 'found' && ttlMs > 0) cache.set(key, { at: context.now(), answer })
  return limitHits(answer, request.limit)
}

const normalize = (query: string): string =>
  query
    .trim()
    .toLowerCase()
    .replace(/\s{1,1000}/g, ' ')

const limitHits = (answer: SearchAnswer, limit: number): SearchAnswer =>
  answer.kind === 'found' ? { ...answer, hits: answer.hits.slice(0, limit) } : answer

type Usable = Extract<ReturnType<typeof chooseSearch>, { kind: 'usable' }>
type SearchAttempt = {
  readonly vendor: SearchVendor
  readonly access: { readonly baseUrl: string; readonly key: string }
  readonly isMcp: boolean
}

async function ask(
  { query, limit, signal }: SearchRequest,
  choice: Usable,
  context: SearchContext,
): Promise<SearchAnswer> {
  const { send, sessionId } = context
  const failures: string[] = []
  for (const { vendor, access, isMcp } of listAttempts(choice, context)) {
    const outcome = await callSearch({ vendor, access, isMcp }, { query, count: limit, sessionId }, { send, signal })
    if ('hits' in outcome) return { kind: 'found', hits: outcome.hits.map(bound), servedBy: vendor.id }
    failures.push(`${vendor.id}${access.key ? '' : ' (keyless)'}: ${outcome.detail}`)
    if (outcome.kind !== 'limited') return { kind: 'failed', error: `The web search failed. ${failures.join('; ')}.` }
  }
  const advice = choice.isKeyless
    ? ' Free endpoints limit calls by address, and this one shares its address with others. For reliable searches, a person can set TAVILY_API_KEY, BRAVE_API_KEY, EXA_API_KEY or SEARXNG_URL, or store a key with POST /api/credentials.'
    : ' A person has to raise the limit or change the key.'
  return { kind: 'failed', error: `Every web search is limited now. ${failures.join('; ')}.${advice}` }
}

function listAttempts({ vendors, isKeyless }: Usable, { deployment }: SearchContext): readonly SearchAttempt[] {
  const keyed = vendors.flatMap((id) => {
    const vendor = findSearchVendor(id)
    const { baseUrl, keys } = deployment.vendor(id)
    return vendor ? (keys.length ? keys : ['']).map((key) => ({ vendor, access: { baseUrl, key }, isMcp: false })) : []
  })
  return isKeyless ? [...keyed, ...rotateRing().map((vendor) => keylessAttempt(vendor, deployment))] : keyed
}

function rotateRing(): readonly KeylessVendor[] {
  const start = ringStart++ % keylessRing.length
  return [...keylessRing.slice(start), ...keylessRing.slice(0, start)]
}

function keylessAttempt(vendor: KeylessVendor, deployment: ToolDeployment): SearchAttempt {
  const { isReplaced, baseUrl } = deployment.vendor(vendor.id)
  return { vendor, access: { baseUrl: isReplaced ? baseUrl : vendor.baseUrl, key: '' }, isMcp: vendor.isMcp ?? false }
}

type SearchOutcome =
  | { readonly hits: readonly WebHit[] }
  | { readonly kind: 'limited' | 'failed'; readonly detail: string }

async function callSearch(
  { vendor, access, isMcp }: SearchAttempt,
  query: WebQuery,
  call: VendorCall,
): Promise<SearchOutcome> {
  const answer = await callVendor(vendor.request(access, query), call, isMcp)
  if (answer.kind !== 'answered') return { ...answer, detail: vendor.explain?.(answer.detail) ?? answer.detail }
  const parsed = vendor.parse(answer.body)
  if (parsed === undefined) return { kind: 'failed', detail: 'it answered in an unknown form' }
  return 'error' in parsed
    ? { kind: parsed.isLimited ? 'limited' : 'failed', detail: parsed.error.slice(0, 300) }
    : { hits: parsed.slice(0, query.count) }
}

/** Vendors may send whole pages as descriptions. */
const bound = ({ title, url, description }: WebHit, index: number) => ({
  title: removeInvisible(title).slice(0, 500),
  url: removeInvisible(url).slice(0, 2_000),
  description: removeInvisible(description).slice(0, maxDescriptionChars),
  position: index + 1,
})

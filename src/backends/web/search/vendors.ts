/** Lists the vendors of web searches. The order is that in which they are used. */

import { brave } from './brave.ts'
import { exa, keylessExa } from './exa.ts'
import {
  asObject,
  asText,
  bearer,
  joinTexts,
  type KeylessVendor,
  readHits,
  type SearchVendor,
} from './search-vendor.ts'
import { tavily } from './tavily.ts'
import { parseJson } from '#agent/core/parse-json.ts'

const parseResults = (body: unknown) =>
  readHits(asObject(body)['results'], ({ title, url, excerpts }) => ({ title, url, description: joinTexts(excerpts) }))

/** Searches with Parallel: its API with a key, its public MCP server without one. */
const parallel: SearchVendor = {
  id: 'parallel',
  request: ({ baseUrl, key }, { query, count }) => ({
    url: `${baseUrl}/v1beta/search`,
    headers: { 'x-api-key': key },
    body: { objective: query, search_queries: [query], max_results: count },
  }),
  parse: parseResults,
}

const keylessParallel: KeylessVendor = {
  id: 'parallel',
  baseUrl: 'https://search.parallel.ai',
  isMcp: true,
  request: ({ baseUrl }, { query, sessionId }) => ({
    url: `${baseUrl}/mcp`,
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'web_search',
        arguments: { objective: query, search_queries: [query], session_id: sessionId },
      },
    },
  }),
  parse: (body) => parseResults(typeof body === 'string' ? parseJson(body) : body),
}

/** Searches with a SearXNG server, which answers in JSON only where its settings allow it. */
const searxng: SearchVendor = {
  id: 'searxng',
  request: ({ baseUrl }, { query }) => ({
    url: `${baseUrl}/search?${new URLSearchParams({ q: query, format: 'json' })}`,
  }),
  explain: (detail) =>
    /^status 403\b|web page|unknown form/.test(detail)
      ? 'the server does not answer in JSON: enable `json` under `search.formats` in its settings.yml'
      : undefined,
  parse(body) {
    const { results, unresponsive_engines: unresponsive } = asObject(body)
    const hits = readHits(results, ({ title, url, content }) => ({ title, url, description: content }))
    const engines = describeEngines(unresponsive)
    return hits?.length === 0 && engines ? { error: `its engines did not answer: ${engines}`, isLimited: true } : hits
  },
}

/** Each is a pair of a name and a reason, such as `["google", "CAPTCHA"]`. */
const describeEngines = (list: unknown): string =>
  (Array.isArray(list) ? list : [])
    .map((entry) => (Array.isArray(entry) ? entry.map(asText).filter(Boolean).join(': ') : asText(entry)))
    .filter(Boolean)
    .join(', ')

/** Searches with Firecrawl, with and without a key. */
const firecrawl: KeylessVendor = {
  id: 'firecrawl',
  baseUrl: 'https://api.firecrawl.dev',
  request: ({ baseUrl, key }, { query, count }) => ({
    url: `${baseUrl}/v2/search`,
    ...(key && { headers: bearer(key) }),
    body: { query, limit: count },
  }),
  parse(body) {
    const { data, success, error } = asObject(body)
    if (success === false) return { error: asText(error) || 'it reports a failure' }
    const list = Array.isArray(data) ? data : asObject(data)['web']
    return readHits(list, ({ title, url, description, snippet }) => ({
      title,
      url,
      description: description ?? snippet,
    }))
  },
}

const maxCount = 20

/** Searches with Perplexity. */
const perplexity: SearchVendor = {
  id: 'perplexity',
  request: ({ baseUrl, key }, { query, count }) => ({
    url: `${baseUrl}/search`,
    headers: bearer(key),
    body: { query, max_results: Math.min(count, maxCount) },
  }),
  parse: (body) =>
    readHits(asObject(body)['results'], ({ title, url, snippet }) => ({ title, url, description: snippet })),
}

/** Searches with Keenable, with and without a key. */
const keenable: KeylessVendor = {
  id: 'keenable',
  baseUrl: 'https://api.keenable.ai',
  request: ({ baseUrl, key }, { query, count }) => ({
    url: key ? `${baseUrl}/v1/search` : `${baseUrl}/v1/search/public`,
    headers: key ? bearer(key) : { 'x-keenable-title': 'Talaria' },
    body: { query, max_results: count },
  }),
  parse: (body) =>
    readHits(asObject(body)['results'], ({ title, url, snippet }) => ({ title, url, description: snippet })),
}

/** Searches Google with Serper. */
const serper: SearchVendor = {
  id: 'serper',
  request: ({ baseUrl, key }, { query, count }) => ({
    url: `${baseUrl}/search`,
    headers: { 'x-api-key': key },
    body: { q: query, num: count },
  }),
  parse: (body) =>
    readHits(asObject(body)['organic'], ({ title, link, snippet }) => ({ title, url: link, description: snippet })),
}

const vendors: readonly SearchVendor[] = [
  brave,
  tavily,
  exa,
  parallel,
  perplexity,
  firecrawl,
  keenable,
  serper,
  searxng,
]

export const findSearchVendor = (id: string): SearchVendor | undefined => vendors.find((one) => one.id === id)

export const keylessRing: readonly KeylessVendor[] = [keylessExa, keylessParallel, firecrawl, keenable, tavily]

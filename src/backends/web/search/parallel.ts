/** Searches with Parallel: its API with a key, its public MCP server without one. */

import { parseJson } from '#agent/core/parse-json.ts'
import { asObject, joinTexts, type KeylessVendor, readHits, type SearchVendor } from './search-vendor.ts'

const parseResults = (body: unknown) =>
  readHits(asObject(body)['results'], ({ title, url, excerpts }) => ({ title, url, description: joinTexts(excerpts) }))

export const parallel: SearchVendor = {
  id: 'parallel',
  request: ({ baseUrl, key }, { query, count }) => ({
    url: `${baseUrl}/v1beta/search`,
    headers: { 'x-api-key': key },
    body: { objective: query, search_queries: [query], max_results: count },
  }),
  parse: parseResults,
}

export const keylessParallel: KeylessVendor = {
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

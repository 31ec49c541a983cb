/** Searches with Tavily, with and without a key. */

import { asObject, bearer, type KeylessVendor, readHits } from './search-vendor.ts'

const maxCount = 20

export const tavily: KeylessVendor = {
  id: 'tavily',
  baseUrl: 'https://api.tavily.com',
  request: ({ baseUrl, key }, { query, count }) => ({
    url: `${baseUrl}/search`,
    headers: key ? bearer(key) : { 'x-tavily-access-mode': 'keyless' },
    body: { query, max_results: Math.min(count, maxCount), search_depth: 'basic' },
  }),
  parse: (body) =>
    readHits(asObject(body)['results'], ({ title, url, content }) => ({ title, url, description: content })),
}

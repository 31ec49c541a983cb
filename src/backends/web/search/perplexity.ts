/** Searches with Perplexity. */

import { asObject, bearer, readHits, type SearchVendor } from './search-vendor.ts'

const maxCount = 20

export const perplexity: SearchVendor = {
  id: 'perplexity',
  request: ({ baseUrl, key }, { query, count }) => ({
    url: `${baseUrl}/search`,
    headers: bearer(key),
    body: { query, max_results: Math.min(count, maxCount) },
  }),
  parse: (body) =>
    readHits(asObject(body)['results'], ({ title, url, snippet }) => ({ title, url, description: snippet })),
}

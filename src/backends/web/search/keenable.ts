/** Searches with Keenable, with and without a key. */

import { asObject, bearer, type KeylessVendor, readHits } from './search-vendor.ts'

export const keenable: KeylessVendor = {
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

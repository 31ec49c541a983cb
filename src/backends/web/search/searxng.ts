/** Searches with a SearXNG server, which answers in JSON only where its settings allow it. */

import { asObject, readHits, type SearchVendor } from './search-vendor.ts'

export const searxng: SearchVendor = {
  id: 'searxng',
  request: ({ baseUrl }, { query }) => ({
    url: `${baseUrl}/search?${new URLSearchParams({ q: query, format: 'json' })}`,
  }),
  parse: (body) =>
    readHits(asObject(body)['results'], ({ title, url, content }) => ({ title, url, description: content })),
}

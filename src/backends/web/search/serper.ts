/** Searches Google with Serper. */

import { asObject, readHits, type SearchVendor } from './search-vendor.ts'

export const serper: SearchVendor = {
  id: 'serper',
  request: ({ baseUrl, key }, { query, count }) => ({
    url: `${baseUrl}/search`,
    headers: { 'x-api-key': key },
    body: { q: query, num: count },
  }),
  parse: (body) =>
    readHits(asObject(body)['organic'], ({ title, link, snippet }) => ({ title, url: link, description: snippet })),
}

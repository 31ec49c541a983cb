/** Searches with Firecrawl, with and without a key. */

import { asObject, asText, bearer, type KeylessVendor, readHits } from './search-vendor.ts'

export const firecrawl: KeylessVendor = {
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

/** Searches with Brave. */

import { asObject, readHits, type SearchVendor } from './search-vendor.ts'

const maxQueryChars = 400
const maxQueryWords = 50
const maxCount = 20

const shorten = (query: string): string => query.split(/\s/, maxQueryWords).join(' ').slice(0, maxQueryChars)

export const brave: SearchVendor = {
  id: 'brave',
  request: ({ baseUrl, key }, { query, count }) => ({
    url: `${baseUrl}/res/v1/web/search?${new URLSearchParams({ q: shorten(query), count: String(Math.min(count, maxCount)) })}`,
    headers: { 'x-subscription-token': key },
  }),
  parse(body) {
    const { web, type } = asObject(body)
    // An answer without web results leaves out their part.
    if (web === undefined && type === 'search') return []
    return readHits(asObject(web)['results'], ({ title, url, description }) => ({ title, url, description }))
  },
}

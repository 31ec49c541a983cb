/** Searches with a SearXNG server, which answers in JSON only where its settings allow it. */

import { asObject, asText, readHits, type SearchVendor } from './search-vendor.ts'

export const searxng: SearchVendor = {
  id: 'searxng',
  request: ({ baseUrl }, { query }) => ({
    url: `${baseUrl}/search?${new URLSearchParams({ q: query, format: 'json' })}`,
  }),
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

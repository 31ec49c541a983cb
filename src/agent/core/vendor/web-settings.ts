/** Defines the settings `web.*`: who searches the web and who reads pages. */

import * as z from 'zod'

/** In the order in which they are used. */
export const searchBackends = [
  'brave',
  'tavily',
  'exa',
  'parallel',
  'perplexity',
  'firecrawl',
  'keenable',
  'serper',
  'searxng',
] as const

export const extractBackends = ['tavily', 'firecrawl', 'exa', 'parallel', 'jina'] as const

const searchBackend = z.enum(['auto', 'keyless', 'native', ...searchBackends])
const extractBackend = z.enum(['auto', 'fetch', ...extractBackends])

export const webSettings = z.strictObject({
  backend: z
    .enum([...new Set([...searchBackend.options, ...extractBackend.options])])
    .optional()
    .describe('For what the next two leave open. Default: auto.'),
  search_backend: searchBackend
    .optional()
    .describe('Who searches; native: the provider of the model. Default: who has a key, then keyless endpoints.'),
  extract_backend: extractBackend.optional().describe('Who reads pages. Default: the agent itself.'),
  keyless_fallback: z.boolean().optional().describe('Searches without a key use free endpoints. Default: true.'),
  cache_ttl_minutes: z
    .int()
    .min(0)
    .max(1_440)
    .optional()
    .describe('How long results of searches are kept. Default: 20.'),
})

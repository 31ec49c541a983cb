/** Searches with Exa: its API with a key, its public MCP server without one. */

import {
  asObject,
  asText,
  joinTexts,
  type KeylessVendor,
  readHits,
  type WebHit,
  type SearchVendor,
} from './search-vendor.ts'

const maxCount = 100

export const exa: SearchVendor = {
  id: 'exa',
  request: ({ baseUrl, key }, { query, count }) => ({
    url: `${baseUrl}/search`,
    headers: { 'x-api-key': key },
    body: { query, numResults: Math.min(count, maxCount), type: 'auto', contents: { highlights: true } },
  }),
  parse: (body) =>
    readHits(asObject(body)['results'], ({ title, url, highlights, text }) => ({
      title,
      url,
      description: joinTexts(highlights) || asText(text).slice(0, 500),
    })),
}

export const keylessExa: KeylessVendor = {
  id: 'exa',
  baseUrl: 'https://mcp.exa.ai',
  isMcp: true,
  request: ({ baseUrl }, { query, count }) => ({
    url: `${baseUrl}/mcp`,
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'web_search_exa', arguments: { query, numResults: count } },
    },
  }),
  parse: (body) => (typeof body === 'string' ? readBlocks(body) : undefined),
}

/** Blocks are separated by lines of three dashes and have lines `Title:`, `URL:` and `Highlights:`. */
function readBlocks(text: string): readonly WebHit[] | undefined {
  const hits = text.split(/\n-{3}\n/).flatMap((block) => {
    const lines = block.split('\n').map((line) => line.trim())
    const after = (name: string) =>
      lines
        .find((line) => line.startsWith(name))
        ?.slice(name.length)
        .trim() ?? ''
    const url = after('URL:')
    const at = lines.findIndex((line) => /^(?:Highlights|Text):/.test(line))
    const rest = at < 0 ? [] : [lines[at]?.replace(/^(?:Highlights|Text):/, '') ?? '', ...lines.slice(at + 1)]
    return url ? [{ title: after('Title:'), url, description: rest.filter(Boolean).join(' ').trim() }] : []
  })
  return hits.length || /no (?:search )?results/i.test(text) ? hits : undefined
}

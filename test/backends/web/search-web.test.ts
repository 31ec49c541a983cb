/** Tests web searches: what each vendor is sent, how its answers are read, and who is asked next. */

import { describe, expect, it } from 'vitest'
import { searchAvailability } from '#agent/routing/search-choice.ts'
import { type SearchContext, searchWeb } from '#backends/web/search/search-web.ts'
import { openDeployment, openWeb, type SentRequest } from './support/fake-web.ts'

const hit = { title: 'Tides', url: 'https://tides.example/', description: 'High and low' }
const json = (body: unknown, status = 200) => Response.json(body, { status })

/** The answers of the vendors to any search, by host. */
const answers: Readonly<Record<string, () => Response>> = {
  'api.search.brave.com': () => json({ type: 'search', web: { results: [hit] } }),
  'api.tavily.com': () => json({ results: [{ title: hit.title, url: hit.url, content: hit.description, score: 1 }] }),
  'api.exa.ai': () => json({ results: [{ title: hit.title, url: hit.url, highlights: [hit.description] }] }),
  'api.parallel.ai': () => json({ results: [{ title: hit.title, url: hit.url, excerpts: [hit.description] }] }),
  'api.perplexity.ai': () => json({ results: [{ title: hit.title, url: hit.url, snippet: hit.description }] }),
  'api.firecrawl.dev': () => json({ success: true, data: { web: [hit] } }),
  'api.keenable.ai': () => json({ results: [{ title: hit.title, url: hit.url, snippet: hit.description }] }),
  'google.serper.dev': () => json({ organic: [{ title: hit.title, link: hit.url, snippet: hit.description }] }),
  'search.example': () => json({ results: [{ title: hit.title, url: hit.url, content: hit.description }] }),
  'mcp.exa.ai': () =>
    new Response(
      `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: `Title: Tides\nURL: ${hit.url}\nPublished: 2026\nHighlights:\nHigh\nand low\n\n---\n\nTitle: B\nURL: https://b.example/\nHighlights: x` }] } })}\n\n`,
      { headers: { 'content-type': 'text/event-stream' } },
    ),
  'search.parallel.ai': () =>
    json({
      result: {
        content: [
          {
            type: 'text',
            text: JSON.stringify({ results: [{ title: hit.title, url: hit.url, excerpts: [hit.description] }] }),
          },
        ],
      },
    }),
}

const hostOf = (url: string) => new URL(url).host
const answerAll = ({ url }: SentRequest) => answers[hostOf(url)]?.() ?? json({}, 404)
const limitedRing = () => json({ error: 'rate limit' }, 429)

let tenants = 0
type Options = Parameters<typeof openDeployment>[0] & { readonly now?: () => number; readonly tenantId?: string }

function openSearch(answer: (request: SentRequest) => Response | Promise<Response>, options: Options = {}) {
  const web = openWeb(answer)
  const context: SearchContext = {
    tenantId: options.tenantId ?? `tenant-${++tenants}`,
    deployment: openDeployment(options),
    send: web.send,
    sessionId: 'random',
    now: options.now ?? (() => 0),
    inFlight: new Map(),
  }
  const search = (query = 'tides today', limit = 5) =>
    searchWeb({ query, limit, signal: new AbortController().signal }, context)
  return { search, sent: web.sent, context }
}

describe('a vendor with a key', () => {
  const keyed: readonly (readonly [name: string, variables: Readonly<Record<string, string>>, sent: object])[] = [
    [
      'brave',
      { BRAVE_API_KEY: 'k1' },
      {
        url: 'https://api.search.brave.com/res/v1/web/search?q=tides+today&count=10',
        headers: { 'x-subscription-token': 'k1' },
      },
    ],
    [
      'tavily',
      { TAVILY_API_KEY: 'k1' },
      {
        url: 'https://api.tavily.com/search',
        headers: { authorization: 'Bearer k1' },
        json: { query: 'tides today', max_results: 10 },
      },
    ],
    [
      'exa',
      { EXA_API_KEY: 'k1' },
      {
        url: 'https://api.exa.ai/search',
        headers: { 'x-api-key': 'k1' },
        json: { query: 'tides today', numResults: 10 },
      },
    ],
    [
      'parallel',
      { PARALLEL_API_KEY: 'k1' },
      { headers: { 'x-api-key': 'k1' }, json: { objective: 'tides today', search_queries: ['tides today'] } },
    ],
    [
      'perplexity',
      { PERPLEXITY_API_KEY: 'k1' },
      {
        url: 'https://api.perplexity.ai/search',
        headers: { authorization: 'Bearer k1' },
        json: { query: 'tides today', max_results: 10 },
      },
    ],
    [
      'firecrawl',
      { FIRECRAWL_API_KEY: 'k1' },
      {
        url: 'https://api.firecrawl.dev/v2/search',
        headers: { authorization: 'Bearer k1' },
        json: { query: 'tides today', limit: 10 },
      },
    ],
    [
      'keenable',
      { KEENABLE_API_KEY: 'k1' },
      {
        url: 'https://api.keenable.ai/v1/search',
        headers: { authorization: 'Bearer k1' },
        json: { query: 'tides today', max_results: 10 },
      },
    ],
    [
      'serper',
      { SERPER_API_KEY: 'k1' },
      { url: 'https://google.serper.dev/search', headers: { 'x-api-key': 'k1' }, json: { q: 'tides today', num: 10 } },
    ],
    [
      'searxng',
      { SEARXNG_URL: 'https://search.example/' },
      { url: 'https://search.example/search?q=tides+today&format=json' },
    ],
  ]
  it.each(keyed)('%s is asked in its own form', async (name, variables, expected) => {
    const { search, sent } = openSearch(answerAll, { variables })
    expect(await search()).toEqual({ kind: 'found', hits: [{ ...hit, position: 1 }], servedBy: name })
    expect(sent).toHaveLength(1)
    expect(sent[0]).toMatchObject(expected)
    expect(sent[0]).toMatchObject({ isTrusted: true })
  })

  it.each([
    ['refuses the format', () => new Response('<html>Forbidden</html>', { status: 403 })],
    ['answers with a web page', () => new Response('<!doctype html><html></html>')],
  ])('searxng that %s says which setting is missing', async (_name, answer) => {
    const { search } = openSearch(answer, { variables: { SEARXNG_URL: 'https://search.example/' } })
    expect(await search()).toMatchObject({
      kind: 'failed',
      error: expect.stringContaining('enable `json` under `search.formats`') as string,
    })
  })

  it('is called below the base that a variable of the deployment names', async () => {
    const { search, sent } = openSearch(() => answers['api.tavily.com']?.() as Response, {
      variables: { TAVILY_API_KEY: 'k', TAVILY_BASE_URL: 'http://127.0.0.1:9001/t/' },
    })
    await search()
    expect(sent[0]?.url).toBe('http://127.0.0.1:9001/t/search')
  })

  it('of the tenant comes before that of the deployment, and both before the ring', async () => {
    const both = { variables: { BRAVE_API_KEY: 'theirs', TAVILY_API_KEY: 'theirs' }, tenantKeys: { tavily: 'own' } }
    const { search, sent } = openSearch(answerAll, both)
    expect(await search()).toMatchObject({ servedBy: 'tavily' })
    expect(sent[0]?.headers).toMatchObject({ authorization: 'Bearer own' })
  })

  it('that is limited is followed by its other keys, the next vendor and the ring', async () => {
    const { search, sent } = openSearch(
      (request) =>
        request.headers?.['authorization'] || request.headers?.['x-subscription-token']
          ? json({}, 429)
          : answerAll(request),
      { variables: { BRAVE_API_KEY: 'a,b', TAVILY_API_KEY: 'c' } },
    )
    const found = await search()
    expect(found.kind).toBe('found')
    expect(sent.slice(0, 3).map(({ url }) => hostOf(url))).toEqual([
      'api.search.brave.com',
      'api.search.brave.com',
      'api.tavily.com',
    ])
    expect(sent).toHaveLength(4)
  })

  it('whose answer contains invisible characters is shown without them', async () => {
    const hidden = { title: 'Ti\u200Bdes', url: `${hit.url}\u2060`, content: `High\u{E0041} and low` }
    const { search } = openSearch(() => json({ results: [hidden] }), { variables: { TAVILY_API_KEY: 'k' } })
    expect(await search()).toMatchObject({ hits: [hit] })
  })

  it('of SearXNG whose engines did not answer is an error, which is not cached', async () => {
    let body: object = {
      results: [],
      unresponsive_engines: [
        ['google', 'CAPTCHA'],
        ['bing', 'timeout'],
      ],
    }
    const { search } = openSearch(() => json(body), {
      web: { keyless_fallback: false },
      variables: { SEARXNG_URL: 'https://search.example' },
    })
    expect(await search()).toMatchObject({
      kind: 'failed',
      error: expect.stringContaining('its engines did not answer: google: CAPTCHA, bing: timeout'),
    })
    body = { results: [], unresponsive_engines: [] }
    expect(await search()).toMatchObject({ kind: 'found', hits: [] })
    body = { results: [{ title: 'T', url: hit.url }], unresponsive_engines: [['google', 'CAPTCHA']] }
    expect(await search('another')).toMatchObject({ kind: 'found', hits: [{ title: 'T' }] })
  })

  it('that the settings choose and that has no key is an error, and nothing is sent', async () => {
    const options = { web: { search_backend: 'tavily' as const } }
    const { search, sent } = openSearch(answerAll, options)
    expect(await search()).toMatchObject({ kind: 'failed', error: expect.stringContaining('TAVILY_API_KEY') })
    expect(sent).toHaveLength(0)
    expect(searchAvailability(openDeployment(options)).reason).toContain('TAVILY_API_KEY')
  })
})

describe('the keyless ring', () => {
  it('answers without any key, each time from another start, and names who did', async () => {
    const names = new Set<string>()
    for (let i = 0; i < 5; i++) {
      const { search, sent } = openSearch(answerAll)
      const found = await search()
      expect(found).toMatchObject({
        kind: 'found',
        hits: [
          { title: 'Tides', url: hit.url },
          ...(hostOf(sent[0]?.url ?? '') === 'mcp.exa.ai' ? [{ title: 'B' }] : []),
        ],
      })
      if (found.kind === 'found') names.add(found.servedBy)
      expect(JSON.stringify(sent)).not.toContain('tenant')
      expect(sent[0]?.headers).not.toHaveProperty('authorization')
    }
    expect([...names].toSorted()).toEqual(['exa', 'firecrawl', 'keenable', 'parallel', 'tavily'])
  })

  it('is called below the bases of the vendors where variables name them', async () => {
    const names = ['EXA', 'PARALLEL', 'FIRECRAWL', 'KEENABLE', 'TAVILY']
    const variables = Object.fromEntries(names.map((name) => [`${name}_BASE_URL`, `http://fake.test/${name}`]))
    const { search, sent } = openSearch(limitedRing, { variables })
    await search()
    expect(sent.map(({ url }) => url.replace('http://fake.test/', '')).toSorted()).toEqual([
      'EXA/mcp',
      'FIRECRAWL/v2/search',
      'KEENABLE/v1/search/public',
      'PARALLEL/mcp',
      'TAVILY/search',
    ])
  })

  it.each([
    ['status 429', () => json({}, 429)],
    ['status 401', () => json({}, 401)],
    ['status 403', () => new Response('<html>denied', { status: 403 })],
    ['a rate limit in text', () => json({ error: 'Rate limit exceeded, slow down' }, 200)],
    ['a rate limit in status 500', () => json({ message: 'Too many requests' }, 500)],
    [
      'a rate limit of an MCP tool',
      () => json({ result: { isError: true, content: [{ type: 'text', text: 'rate limit reached' }] } }),
    ],
  ])('asks the next vendor after %s', async (_name, refusal) => {
    let calls = 0
    const { search, sent } = openSearch((request) => (calls++ ? answerAll(request) : refusal()))
    const found = await search()
    // An MCP error is one only for a vendor with MCP; for others it is an unknown form.
    if (_name.includes('MCP') && hostOf(sent[0]?.url ?? '').includes('api')) return
    expect(found.kind).toBe('found')
    expect(sent).toHaveLength(2)
  })

  it.each([
    ['status 400', () => json({ error: 'bad query' }, 400), /status 400: bad query/],
    ['status 500', () => json({}, 500), /status 500/],
    ['a challenge page', () => new Response('<!doctype html><title>Just a moment', { status: 200 }), /blocked/],
    ['null', () => json(null), /unknown form/],
    ['a list', () => json([]), /unknown form/],
    ['an error with status 200', () => json({ error: { message: 'broken' } }), /broken/],
    ['a refused connection', () => Promise.reject(new Error('connection refused')), /connection refused/],
  ])('stops after %s', async (_name, refusal, message) => {
    const { search, sent } = openSearch(refusal)
    expect(await search()).toMatchObject({ kind: 'failed', error: expect.stringMatching(message) })
    expect(sent).toHaveLength(1)
  })

  it('that is limited everywhere is one error that names the keys', async () => {
    const { search, sent } = openSearch(limitedRing)
    const found = await search()
    expect(sent).toHaveLength(5)
    expect(found).toMatchObject({ kind: 'failed', error: expect.stringMatching(/TAVILY_API_KEY.*BRAVE_API_KEY/) })
  })

  it('can be switched off: then the tool is not available', async () => {
    const options = { web: { keyless_fallback: false } }
    const { search, sent } = openSearch(answerAll, options)
    expect(await search()).toMatchObject({ kind: 'failed', error: expect.stringContaining('TAVILY_API_KEY') })
    expect(sent).toHaveLength(0)
    expect(searchAvailability(openDeployment(options)).reason).toContain('web.keyless_fallback')
    expect(searchAvailability(openDeployment())).toMatchObject({
      by: 'keyless',
      note: expect.stringContaining('share'),
    })
  })
})

describe('results', () => {
  const variables = { TAVILY_API_KEY: 'k' }
  const many = () =>
    json({
      results: Array.from({ length: 10 }, (_, i) => ({ title: `t${i}`, url: `https://x.example/${i}`, content: 'c' })),
    })

  it('come from the cache for the same tenant, query and bucket of limits', async () => {
    let now = 0
    const { search, sent, context } = openSearch(many, { variables, now: () => now })
    expect(await search('Tides  today', 5)).toMatchObject({ hits: { length: 5 } })
    expect(await search(' tides today ', 7)).toMatchObject({ hits: { length: 7 } })
    expect(sent).toHaveLength(1)
    await search('tides today', 11)
    expect(sent).toHaveLength(2)
    const other = openSearch(many, { variables, now: () => now })
    await other.search()
    expect(other.sent).toHaveLength(1)
    now = 20 * 60_000
    await search('tides today', 5)
    expect(sent).toHaveLength(3)
    expect(context.inFlight.size).toBe(0)
  })

  it('are not cached when the search failed, nor when the settings say so', async () => {
    let status = 500
    const failing = openSearch(() => (status === 200 ? many() : json({}, status)), { variables })
    expect((await failing.search()).kind).toBe('failed')
    status = 200
    expect((await failing.search()).kind).toBe('found')
    const uncached = openSearch(many, { variables, web: { cache_ttl_minutes: 0 } })
    await uncached.search()
    await uncached.search()
    expect(uncached.sent).toHaveLength(2)
  })

  it('of equal searches at the same time are asked for once', async () => {
    const { search, sent } = openSearch(many, { variables })
    const found = await Promise.all(Array.from({ length: 5 }, () => search()))
    expect(found.every(({ kind }) => kind === 'found')).toBe(true)
    expect(sent).toHaveLength(1)
  })
})

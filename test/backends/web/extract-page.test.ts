/** Tests the reading of addresses: kinds of content, limits, refusals, and who helps with pages that need a browser. */

import { describe, expect, it } from 'vitest'
import type { PdfAnswer } from '#agent/core/media/document.ts'
import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import { extractPage, type ExtractContext } from '#backends/web/extract/extract-page.ts'
import { readPage } from '#backends/web/page/inside/read-page.ts'
import { createTestClock } from '../../support/clock.ts'
import { openDeployment, openWeb, type SentRequest } from './support/fake-web.ts'
import { forbiddenAddresses } from './support/forbidden-addresses.ts'

type Options = Parameters<typeof openDeployment>[0] &
  Partial<Pick<ExtractContext, 'renderPage' | 'checkAddress' | 'answer'>> & { readonly pdf?: PdfAnswer }

function open(answer: (request: SentRequest) => Response | Promise<Response>, options: Options = {}) {
  const web = openWeb(answer)
  const stored: string[] = []
  const context: ExtractContext = {
    deployment: openDeployment(options),
    userAgent: 'Talaria/test',
    send: web.send,
    checkAddress: options.checkAddress ?? (async (url) => checkPublicAddress(url)),
    readPage: (bytes, request) => readPage(new Response(bytes).body as ReadableStream<Uint8Array>, request),
    documents: {
      pdf: async (bytes) =>
        options.pdf ?? { pages: [`pdf of ${bytes.byteLength} bytes`, 'second'], total: 2, unread: [] },
      office: async (_bytes, format) => ({ text: `text of ${format}` }),
    },
    schedule: createTestClock().schedule,
    renderPage: options.renderPage ?? (async () => undefined),
    ...(options.answer && { answer: options.answer }),
    store: async (text) => `/tmp/results/web-${stored.push(text)}.md`,
  }
  const extract = (url = 'https://site.example/page', maxChars = 15_000) =>
    extractPage({ url, maxChars, signal: new AbortController().signal }, context)
  return { extract, sent: web.sent, stored }
}

const serve =
  (body: BodyInit, type: string, status = 200) =>
  () =>
    new Response(body, { status, headers: { 'content-type': type } })
const bytes = (...values: number[]) => new Uint8Array(values)
const ascii = (text: string) => new TextEncoder().encode(text)

describe('a long page', () => {
  const long = `${'A line of the page.\n'.repeat(500)}The price is 12 euros.`
  const page = serve(long, 'text/plain')

  it('is answered for the question, with a file of the full text', async () => {
    const { extract, stored } = open(page, { answer: async (text) => `12 euros, of ${text.length}` })
    const { content } = await extract(undefined, 2_000)
    expect(content).toMatch(/^12 euros, of \d+\n\n\[Another model has answered .*web-1\.md\.\]$/)
    expect(stored[0]).toContain('The price is 12 euros.')
  })

  it('is cut where no model can answer, and short ones are shown as they are', async () => {
    const { extract } = open(page, { answer: async () => undefined })
    expect((await extract(undefined, 2_000)).content).toContain('characters are left out here')
    const answered: string[] = []
    const answer = async (text: string) => (answered.push(text), 'no')
    const short = open(serve('Short.', 'text/plain'), { answer })
    expect((await short.extract()).content).toBe('Short.')
    expect(answered).toEqual([])
  })
})

describe('an address', () => {
  it.each([
    ['HTML', serve('<title>T</title><h1>Head</h1><p>Text', 'text/html'), { title: 'T', content: '# Head\n\nText' }],
    ['HTML called an image', serve('<!doctype html><p>Text', 'image/png'), { content: 'Text' }],
    [
      'Markdown',
      serve('# Title\n\n<b>kept</b>', 'text/markdown; charset=utf-8'),
      { content: '# Title\n\n<b>kept</b>' },
    ],
    ['JSON', serve('{"a":[1]}', 'application/json'), { content: '{"a":[1]}' }],
    ['JSON called HTML', serve('{"a":[1]}', 'text/html'), { content: '{"a":[1]}' }],
    [
      'RSS',
      serve('<?xml version="1.0"?><rss><item>x</item></rss>', 'text/html'),
      { content: expect.stringContaining('<rss>') },
    ],
    [
      'text in windows-1252',
      serve(bytes(0x63, 0x61, 0x66, 0xe9), 'text/plain; charset=windows-1252'),
      { content: 'café' },
    ],
    [
      'PDF called HTML',
      serve(ascii('%PDF-1.7 …'), 'text/html'),
      { content: expect.stringContaining('[Page 2 of 2]\nsecond') },
    ],
    [
      'an office document',
      serve(ascii('PK\u0003\u0004 …'), 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'),
      { content: 'text of docx' },
    ],
    [
      'an image called HTML',
      serve(bytes(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a), 'text/html'),
      { error: expect.stringContaining('vision_analyze') },
    ],
    ['an archive', serve(ascii('PK\u0003\u0004 …'), 'application/zip'), { error: expect.stringContaining('archive') }],
    ['a binary file', serve(bytes(1, 0, 2, 0, 3), 'text/plain'), { error: expect.stringContaining('binary') }],
    ['nothing', serve('', 'text/html'), { error: 'The page has no text.' }],
  ])('of %s is read by its bytes', async (_name, answer, expected) => {
    expect(await open(answer).extract()).toMatchObject({ url: 'https://site.example/page', ...expected })
  })

  it.each([
    [
      'stops at a limit',
      { pages: ['first'], total: 9, unread: [], stopped: 'pages' },
      /first\n\n\[Pages 2 to 9 are missing/,
    ],
    ['is damaged in part', { pages: ['first', ''], total: 2, unread: [2] }, /\[Page 2 of 2: it could not be read\]/],
  ] as const)('of a PDF that %s says so in the text', async (_name, pdf, text) => {
    const { content, error } = await open(serve(ascii('%PDF-1.7 …'), 'application/pdf'), { pdf }).extract()
    expect(content).toMatch(text)
    expect(error).toBeUndefined()
  })

  it('is asked for as a page, by an agent with a name', async () => {
    const { extract, sent } = open(serve('x', 'text/plain'))
    await extract()
    expect(sent[0]).toMatchObject({ follow: true, timeoutMs: 30_000, headers: { 'user-agent': 'Talaria/test' } })
    expect(sent[0]?.isTrusted).toBeUndefined()
  })

  it.each([
    [204, 'no content'],
    [302, 'no other address'],
    [404, 'no such page'],
    [407, 'proxy'],
    [410, 'removed'],
    [451, 'legal reasons'],
    [500, 'server failed'],
  ])('that answers with status %i is an error', async (status, text) => {
    const { extract } = open(() => new Response(null, { status }))
    expect(await extract()).toMatchObject({ content: '', error: expect.stringContaining(text) })
  })

  it('that the guard refuses is blocked by policy', async () => {
    class BlockedAddress extends Error {
      override readonly name = 'BlockedAddress'
    }
    const { extract } = open(() => Promise.reject(new BlockedAddress('it is private')))
    expect(await extract()).toMatchObject({ isBlocked: true, error: 'it is private' })
  })

  it('that fails in the middle is an error, and never rejects', async () => {
    const broken = new ReadableStream({
      pull: (controller) => controller.error(new Error('the connection was lost')),
    })
    expect(await open(() => new Response(broken)).extract()).toMatchObject({ error: 'the connection was lost' })
  })
})

describe('a long page', () => {
  it('is given with its head, its tail and the path of the full text', async () => {
    const lines = Array.from({ length: 4_000 }, (_, i) => `line ${i} ok`).join('\n')
    const { extract, stored } = open(serve(lines, 'text/plain'))
    const { content } = await extract()
    expect(content.length).toBeLessThan(15_500)
    expect(content.startsWith('line 0 ok\nline 1 ok')).toBe(true)
    expect(content).toContain('line 3999 ok\n\n[The full text is in /tmp/results/web-1.md.')
    expect(content).not.toContain('line 2500')
    expect(stored).toEqual([lines])
  })

  it('of endless text or HTML is read up to its limit', async () => {
    let chunks = 0
    const endless = (first: string) => () => {
      chunks = 0
      const part = ascii('a'.repeat(65_535) + '\n')
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(chunks++ ? part : ascii(first.padEnd(2_000))),
      })
      return new Response(body, { headers: { 'content-type': 'text/plain' } })
    }
    const text = open(endless('start'))
    expect((await text.extract()).content).toContain('Only the first 10 MB')
    expect(chunks).toBeLessThan(200)
    const html = open(endless('<!doctype html><p>start'))
    expect((await html.extract()).content).toContain('Only the first 2 MB')
    expect(chunks).toBeLessThan(50)
  })

  it('loses characters that nobody sees', async () => {
    const { extract } = open(serve('a\u{E0041}b\u200Bc\u202Ed 👩‍👩‍👧', 'text/plain'))
    expect((await extract()).content).toBe('abcd 👩‍👩‍👧')
  })
})

describe('a page of scripts', () => {
  const app = serve('<html><title>App</title><body><div id=root></div><script src=a.js></script>', 'text/html')
  const page = { title: 'Shown', content: 'What the browser shows' }
  const vendorAnswers: readonly (readonly [string, Readonly<Record<string, string>>, unknown])[] = [
    [
      'tavily',
      { TAVILY_API_KEY: 'k' },
      { results: [{ url: 'https://site.example/page', title: 'T', raw_content: 'by vendor' }] },
    ],
    [
      'firecrawl',
      { FIRECRAWL_API_KEY: 'k' },
      {
        success: true,
        data: { markdown: 'by vendor', metadata: { title: 'T', sourceURL: 'https://site.example/page' } },
      },
    ],
    ['exa', { EXA_API_KEY: 'k' }, { results: [{ url: 'https://site.example/page', title: 'T', text: 'by vendor' }] }],
    [
      'parallel',
      { PARALLEL_API_KEY: 'k' },
      { results: [{ url: 'https://site.example/page', title: 'T', full_content: 'by vendor' }] },
    ],
    ['jina', { JINA_API_KEY: 'k' }, { data: { url: 'https://site.example/page', title: 'T', content: 'by vendor' } }],
  ]

  it('is shown by the browser where there is one', async () => {
    expect(await open(app, { renderPage: async () => page }).extract()).toMatchObject(page)
  })

  it.each(vendorAnswers)('is read by %s where it has a key', async (_name, variables, body) => {
    const { extract, sent } = open((request) => (request.isTrusted ? Response.json(body) : app()), { variables })
    expect(await extract()).toEqual({ url: 'https://site.example/page', title: 'T', content: 'by vendor' })
    expect(JSON.stringify(sent[1])).toContain('site.example/page')
    expect(JSON.stringify(sent[1]?.headers)).toContain('k')
  })

  const refusals: readonly (readonly [string, Readonly<Record<string, string>>, (status: number) => unknown])[] = [
    [
      'firecrawl',
      { FIRECRAWL_API_KEY: 'k' },
      (statusCode) => ({ success: true, data: { markdown: '# Access denied', metadata: { title: 'No', statusCode } } }),
    ],
    [
      'exa',
      { EXA_API_KEY: 'k' },
      (httpStatusCode) => ({
        results: [],
        statuses: [{ id: 'x', status: 'error', error: { tag: 'CRAWL_HTTP', httpStatusCode } }],
      }),
    ],
    [
      'jina',
      { JINA_API_KEY: 'k' },
      (status) => ({ data: { title: 'No', content: 'denied', warning: `Target URL returned error ${status}: No` } }),
    ],
  ]

  it.each(refusals)('is an error where %s says that its server refused', async (name, variables, body) => {
    for (const status of [401, 403, 404, 429, 451, 503]) {
      const chosen = { web: { extract_backend: name as 'exa' }, variables }
      const { extract } = open(() => Response.json(body(status)), chosen)
      expect(await extract()).toMatchObject({ content: '', error: expect.stringContaining(`Status ${status}`) })
    }
  })

  it('is content where a vendor names a status of success', async () => {
    const metadata = { title: 'T', sourceURL: 'https://site.example/page', statusCode: 200 }
    const { extract } = open(() => Response.json({ success: true, data: { markdown: 'The page', metadata } }), {
      web: { extract_backend: 'firecrawl' },
      variables: { FIRECRAWL_API_KEY: 'k' },
    })
    expect(await extract()).toEqual({ url: 'https://site.example/page', title: 'T', content: 'The page' })
  })

  it.each([401, 403, 429, 451])('is an error with status %i also where a browser has shown it', async (status) => {
    const answer = await open(app, { renderPage: async () => ({ status }) }).extract()
    expect(answer).toMatchObject({ content: '', error: expect.stringContaining(`Status ${status}`) })
  })

  it('says so where nothing shows it', async () => {
    expect(await open(app).extract()).toMatchObject({ title: 'App', error: expect.stringContaining('need a browser') })
  })

  it.each(forbiddenAddresses)('that leads a vendor or the browser to %s is refused', async (url) => {
    for (const [vendor, variables, body] of vendorAnswers) {
      const led = JSON.parse(JSON.stringify(body).replaceAll('https://site.example/page', url)) as unknown
      const { extract } = open((request) => (request.isTrusted ? Response.json(led) : app()), { variables })
      expect([vendor, await extract()]).toMatchObject([vendor, { isBlocked: true, content: '' }])
    }
    const shown = { url, title: 'T', content: 'secret of the network' }
    const { extract } = open(app, { renderPage: async () => shown })
    expect(await extract()).toMatchObject({ isBlocked: true, title: '', content: '' })
  })

  it('is read by no vendor, and no browser shows it, at an address that the guard refuses', async () => {
    const checkAddress = async (url: string) => (url.startsWith('https://own.example') ? 'it is our own' : undefined)
    const chosen = { web: { extract_backend: 'exa' as const }, variables: { EXA_API_KEY: 'k' }, checkAddress }
    const { extract, sent } = open(() => Response.json({ results: [{ title: 'T', text: 'by exa' }] }), chosen)
    expect(await extract('https://own.example/')).toMatchObject({
      isBlocked: true,
      error: expect.stringContaining('own'),
    })
    expect(sent).toEqual([])
    const shown = { url: 'https://own.example/', title: 'T', content: 'secret of the deployment' }
    const led = open(app, { renderPage: async () => shown, checkAddress })
    expect(await led.extract()).toMatchObject({ isBlocked: true, content: '' })
  })

  it('is read by the chosen vendor alone, and never at a private address', async () => {
    const options = { web: { extract_backend: 'exa' as const }, variables: { EXA_API_KEY: 'k' } }
    const { extract, sent } = open(() => Response.json({ results: [{ title: 'T', text: 'by exa' }] }), options)
    expect(await extract()).toMatchObject({ content: 'by exa' })
    expect(await extract('http://10.0.0.1/')).toMatchObject({ isBlocked: true })
    expect(sent.map(({ url }) => url)).toEqual(['https://api.exa.ai/contents'])
  })
})

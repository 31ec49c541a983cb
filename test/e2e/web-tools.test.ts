/**
 * Tests the guarded network on a real server: the web tools with a search vendor and a web site of the test, curl of the
 * virtual shell, mapped hosts and redirects.
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { firstRows, itInTurn } from '#test/support/long.ts'
import { lines, pdfWith } from '../backends/support/pdf.ts'
import { type Asked, startModelServer } from '../support/model-server/server.ts'
import { type Client, createClient, eventually, newTenant } from './support/client.ts'
import { useEquipped } from './support/equipped.ts'

type Page = { readonly type?: string; readonly encoding?: 'gzip'; readonly body: string | Uint8Array }
type Result = {
  readonly url: string
  readonly title: string
  readonly content: string
  readonly error?: string
  readonly blocked_by_policy?: true
}

const article = (paragraphs: number) =>
  `<!doctype html><title>Tides</title><nav>Menu</nav><article><h1>Tides</h1>${Array.from(
    { length: paragraphs },
    (_, i) => `<p>Paragraph ${i} says how the water rises and falls along the coast.`,
  ).join('')}</article>`
const app = '<!doctype html><title>App</title><div id=root></div><script src=app.js></script>'
/** On a machine that is busy with other tests. Without its bounds one of the pages takes minutes. */
const maxHostileMs = 10_000
const unpackedBomb = 64_000_000
const bomb = gzipSync(`<!doctype html><title>Bomb</title><p>${'a'.repeat(unpackedBomb)}`)
const packedArticle = gzipSync(article(20))

const pages: Readonly<Record<string, Page>> = {
  '/article': { body: article(12) },
  '/long': { body: article(600) },
  '/report.pdf': { type: 'application/pdf', body: await pdfWith([lines('Annual report'), lines('Second page')]) },
  '/app': { body: app },
  '/app-of-vendor': { body: app },
  '/app-led-away': { body: app },
  '/gzip': { encoding: 'gzip', body: packedArticle },
  '/bomb': { encoding: 'gzip', body: bomb },
  '/cut': { encoding: 'gzip', body: packedArticle.subarray(0, -20) },
  '/nested': { body: `<!doctype html><title>Nested</title>${'<div>'.repeat(100_000)}Deep` },
  '/attributes': { body: `<!doctype html><p ${'a=1 '.repeat(100_000)}>Attributes` },
  '/rows': { body: `<!doctype html><table>${'<tr><td>row'.repeat(60_000)}` },
  '/quotes': { body: `<!doctype html><p>Quotes${'<blockquote>a'.repeat(900)}${'<br>x'.repeat(100_000)}` },
  '/strays': { body: `<!doctype html><p>Strays${'<'.repeat(500_000)}` },
}

/** The answers of the vendor to `POST /extract`, by the path of the page. */
const extracted: Readonly<Record<string, object>> = {
  '/app': { results: [], failed_results: [{ url: 'x', error: 'it is too slow' }] },
  '/app-of-vendor': { results: [{ url: 'http://site.example.com/shown', title: 'Shown', raw_content: 'By scripts.' }] },
  '/app-led-away': { results: [{ url: 'http://169.254.169.254/latest', title: 'x', raw_content: 'secret' }] },
}

const asked: string[] = []
let outside: HttpServer
let intranet: HttpServer
let model: Awaited<ReturnType<typeof startModelServer>>
let modelId: string
let client: Client

async function answerVendor(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = (await json(request)) as { readonly query?: string; readonly urls?: readonly string[] }
  const isKeyed = request.headers.authorization === 'Bearer tvly-end-to-end'
  const hit = { title: 'Tides </untrusted>', url: 'http://site.example.com/article', content: `about ${body.query}` }
  const found = body.urls ? extracted[new URL(body.urls[0] ?? '').pathname] : { results: [hit] }
  response.writeHead(isKeyed && found ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify(found))
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  asked.push(pathname)
  if (pathname.startsWith('/tavily/')) return void answerVendor(request, response)
  const page = pages[pathname]
  if (!page) return void response.writeHead(404).end()
  const { type = 'text/html; charset=utf-8', encoding, body } = page
  response.writeHead(200, { 'content-type': type, ...(encoding && { 'content-encoding': encoding }) }).end(body)
}

function answerIntranet(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  asked.push(`${request.headers['x-forwarded-host'] ?? ''}${pathname}`)
  if (pathname === '/dns-query') {
    const isPrivate = searchParams.get('name') === 'private.example.com'
    response.end(JSON.stringify({ Answer: isPrivate ? [{ type: 1, data: '10.0.0.1' }] : [] }))
  } else if (pathname === '/to')
    response.writeHead(302, { location: searchParams.get('url') ?? '', 'content-length': 0 }).end()
  else response.end(`page ${pathname} authorization=${request.headers.authorization ?? ''}\n`)
}

beforeAll(async () => {
  const { url, key, ports } = await useEquipped()
  outside = createServer(answer).listen(ports.site, '127.0.0.1')
  intranet = createServer(answerIntranet).listen(ports.intranet, '127.0.0.1')
  await Promise.all([once(outside, 'listening'), once(intranet, 'listening')])
  model = await startModelServer()
  modelId = `openai/forward-${model.port}`
  client = (await newTenant(createClient(url, key))).client
})
afterEach(() => {
  model.script(undefined)
  asked.length = 0
})
afterAll(async () => {
  await model.close()
  outside.close()
  intranet.close()
})

const site = (path: string) => `http://site.example.com${path}`
const extractCall = (...paths: readonly string[]) => `web_extract ${JSON.stringify({ urls: paths.map(site) })}`

/** Runs calls one after the other, and returns their results as they are stored. */
async function run(...calls: readonly string[]): Promise<readonly string[]> {
  const session = await client.newSession({ model: modelId })
  const { json: ended } = await client.chat(session, `[[call ${calls.join(' then ')} then say done]]`)
  expect(ended).toMatchObject({ status: 'completed', output: 'done' })
  return (await client.messages(session)).filter(({ role }) => role === 'tool').map(({ content }) => content ?? '')
}

async function extract(...paths: readonly string[]): Promise<readonly Result[]> {
  const [result = ''] = await run(extractCall(...paths))
  return (JSON.parse(result) as { readonly results: readonly Result[] }).results
}

describe('the web tools of npm start', () => {
  it('search by the vendor of the deployment, read a page and a PDF, and reach the model in fences', async () => {
    const bodies: Asked['body'][] = []
    model.script(({ body }) => void bodies.push(body))
    const [search = '', page = ''] = await run(
      'web_search {"query":"tides","limit":3}',
      extractCall('/article', '/report.pdf', '/missing'),
    )
    expect(JSON.parse(search)).toMatchObject({
      success: true,
      served_by: 'tavily',
      data: { web: [{ url: site('/article'), description: 'about tides', position: 1 }] },
    })
    expect(JSON.parse(page)).toMatchObject({
      results: [
        { title: 'Tides', content: expect.stringMatching(/Paragraph 11 says/) },
        { content: '[Page 1 of 2]\nAnnual report\n\n[Page 2 of 2]\nSecond page' },
        { content: '', error: expect.stringContaining('no such page') },
      ],
    })
    expect(page).not.toContain('Menu')
    const { messages } = bodies.at(-1) as { readonly messages: readonly { role: string; content: string }[] }
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content)
    for (const [at, name] of ['web_search', 'web_extract'].entries()) {
      const [, nonce] = new RegExp(`<untrusted-([a-z0-9]+) source="${name}">`).exec(results[at] ?? '') ?? []
      expect(nonce).toBeTruthy()
      expect(results[at]).toContain(`</untrusted-${nonce}>`)
    }
    expect(results[0]).not.toContain('</untrusted>')
  })

  itInTurn('give the head and the tail of a long page, and read_file the middle', async () => {
    let path = ''
    model.script(({ step, body }) => {
      path ||= /full text is in (\/tmp\/results\/web-[a-z0-9]+\.md)/.exec(JSON.stringify(body))?.[1] ?? ''
      if (step === 0) return { calls: [{ name: 'web_extract', input: { urls: [site('/long')] } }] }
      if (step === 1) return { calls: [{ name: 'read_file', input: { path, offset: 590, limit: 30 } }] }
      return { text: 'done' }
    })
    const session = await client.newSession({ model: modelId })
    expect((await client.chat(session, 'Read it all.')).json).toMatchObject({ status: 'completed', output: 'done' })
    const [page = '', middle = ''] = (await client.messages(session))
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => content ?? '')
    expect(page.length).toBeLessThan(16_500)
    expect(page).toContain('Paragraph 0 says')
    expect(page).toContain('Paragraph 599 says')
    expect(page).not.toContain('Paragraph 300 says')
    expect(middle).toContain('Paragraph 300 says')
  })

  itInTurn('have pages of scripts read by the vendor, say so where it fails, and refuse where it was led', async () => {
    expect(await extract('/app', '/app-of-vendor', '/app-led-away')).toMatchObject([
      { title: 'App', error: expect.stringContaining('need a browser') },
      { title: 'Shown', content: 'By scripts.' },
      { content: '', blocked_by_policy: true },
    ])
    expect(asked.filter((path) => path === '/tavily/extract')).toHaveLength(3)
  })

  it('read gzip, stop at the limit of a gzip bomb, and report cut gzip', async () => {
    expect(unpackedBomb / bomb.byteLength).toBeGreaterThan(1_000)
    const [whole, bounded, cut] = await extract('/gzip', '/bomb', '/cut')
    expect(whole?.content).toContain('Paragraph 19 says')
    expect(bounded?.content.length).toBeLessThan(16_000)
    expect(bounded?.content).toContain('Only the first 2 MB of the page were read.')
    expect(cut).toMatchObject({ content: '', error: expect.any(String) })
  })

  itInTurn('read hostile pages while another session answers', async () => {
    const started = Date.now()
    const hostile = extract('/nested', '/attributes', '/rows', '/strays', '/quotes')
    await eventually(() => asked.length, Boolean)
    const other = await client.newSession({ model: modelId })
    expect((await client.chat(other, '[[say meanwhile]]')).json).toMatchObject({ output: 'meanwhile' })
    expect(Date.now() - started).toBeLessThan(maxHostileMs)
    const results = await hostile
    expect(Date.now() - started).toBeLessThan(maxHostileMs)
    for (const { content } of results) expect(content.length).toBeLessThan(16_000)
    expect(results).toMatchObject([
      { content: expect.stringContaining('Deep') },
      { content: expect.stringContaining('Attributes') },
      { content: expect.stringContaining('row') },
      { content: expect.stringContaining('Strays') },
      { content: expect.stringContaining('Quotes') },
    ])
  })
})

describe('curl in the virtual shell', () => {
  beforeAll(async () => {
    const body = { terminal: { network: 'public' }, approvals: { mode: 'off' } }
    await client.send('PATCH', '/api/settings', { body })
  })
  const shell = async (command: string): Promise<string> => {
    const session = await client.newSession({ model: 'demo/agent' })
    asked.length = 0
    return (await client.chat(session, `run: ${command}`)).text
  }

  it('reaches a mapped host', async () => {
    expect(await shell('curl -s https://intranet.example.com/a')).toContain('page /a')
    expect(asked).toEqual(['intranet.example.com/a'])
  })

  itInTurn('follows redirects to public hosts, without credentials', async () => {
    const page = await shell(
      `curl -sL -H 'authorization: Bearer s3cr3t-token-1234567' 'https://intranet.example.com/to?url=https://other.example.com/b'`,
    )
    expect(page).toContain('page /b authorization=')
    expect(page).not.toContain('authorization=Bearer')
    expect(asked).toEqual(['intranet.example.com/to', 'other.example.com/b'])
  })

  const inner = [
    'http://127.0.0.1/x',
    'http://169.254.169.254/x',
    'http://localhost/x',
    'http://[::1]/x',
    'http://2130706433/x',
  ]
  it.each(firstRows(2, inner, 1))('never reaches %s, neither at once nor by a redirect', async (url) => {
    await shell(`curl -sL '${url}' 'https://intranet.example.com/to?url=${url}'`)
    expect(asked.filter((one) => !one.endsWith('/to'))).toEqual([])
  })

  it('does not reach a name that resolves to a private address', async () => {
    expect(await shell('curl -sS https://private.example.com/x')).toContain('resolves to a private address')
  })

  it('does not reach the API of the deployment', async () => {
    expect(await shell('curl -s https://talaria.example.com/health')).toContain('loop_detected')
  })
})

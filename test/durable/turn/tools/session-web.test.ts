/** Tests the web tools in a session: over the guarded fetch, with the bases and the map of the deployment. */

import { beforeAll, describe, expect, it, vi } from 'vitest'
import { deployment } from '#test/support/deployment.ts'
import { calls, model, says, until } from '#test/support/scripted-model.ts'
import { applyMigrations, call, newSession, newTenant } from '#test/worker/client.ts'
import { ScriptedBrowser } from './browser/scripted-browser.ts'

beforeAll(applyMigrations)

type Answer = (url: string, request: Request) => Response | undefined
let answer: Answer = () => undefined
let sent: string[] = []

/** Answers requests to the web; all others go on, such as those to the scripted model. */
function answerWeb(next: Answer): void {
  answer = next
  sent = []
}

const goOn = globalThis.fetch
vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
  const request = new Request(input as RequestInfo, init as RequestInit)
  const found = answer(request.url, request)
  if (!found) return goOn(input as RequestInfo, init as RequestInit)
  sent.push(`${request.method} ${request.url}`)
  return found
})

const article = `<!doctype html><title>Tides</title><nav>Menu</nav><article><h1>Tides</h1>${'<p>The water rises and falls twice each day, as the moon pulls it along the coast.</p>'.repeat(9)}<p>Middle <a href="/more">more</a></p></article>`

const page = (url: string): Response | undefined => {
  if (url.startsWith('https://web-site.example/article'))
    return new Response(article, { headers: { 'content-type': 'text/html' } })
  if (url.startsWith('https://web-site.example/away')) return Response.redirect('http://169.254.169.254/latest', 302)
  if (url.startsWith('https://web-site.example/long')) return new Response('line of text\n'.repeat(4_000))
  return undefined
}

async function run(steps: Parameters<typeof model>[0]) {
  const scripted = model(steps)
  const { key } = await newTenant()
  await call('POST', '/api/credentials', { key, body: { provider: 'tavily', key: 'tavily-key-of-tenant' } })
  const { id } = await newSession({ model: scripted.id }, key)
  const answer = await call<{ status: string }>('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'Go.' } })
  return { scripted, key, id, answer }
}

describe('the web tools of a session', () => {
  it('let another model answer a question from a long page', async () => {
    answerWeb(page)
    const input = { urls: ['https://web-site.example/long'], question: 'What does each line say?', char_limit: 2_000 }
    const { scripted } = await run([
      calls({ name: 'web_extract', input }),
      says('Each is a line of text.'),
      says('Done.'),
    ])
    const [, side, last] = scripted.requests
    expect(JSON.stringify(side?.messages)).toMatch(/Question: What does each line say[^]*line of text[^]*<.page>/)
    expect(side?.tools ?? []).toEqual([])
    expect(JSON.stringify(last?.messages)).toMatch(
      /<untrusted-[^]*Each is a line of text\.[^]*Another model has answered/,
    )
  })

  it('search with the key of the tenant, read pages, and give results in a fence', async () => {
    answerWeb((url, request) =>
      url === 'https://api.tavily.com/search'
        ? Response.json({
            results: [
              {
                title: `by ${request.headers.get('authorization')?.slice(-6)}`,
                url: 'https://web-site.example/article',
                content: 'about tides',
              },
            ],
          })
        : page(url),
    )
    const { scripted } = await run([
      calls({ name: 'web_search', input: { query: 'tides' } }),
      calls({
        name: 'web_extract',
        input: {
          urls: [
            'https://web-site.example/article',
            'https://web-site.example/away',
            'http://127.0.0.1/x',
            'https://web-site.example/long',
          ],
        },
      }),
      says('Done.'),
    ])
    const messages = JSON.stringify(scripted.requests.at(-1)?.messages)
    expect(messages).toMatch(/<untrusted-[a-z0-9]+ source=\\"web_search\\">/)
    expect(messages).toContain('by tenant')
    expect(messages).toContain('# Tides')
    expect(messages).toContain('https://web-site.example/more')
    expect(messages.match(/blocked_by_policy/g)).toHaveLength(2)
    expect(messages).toMatch(/full text is in \/tmp\/results\/web-[a-z0-9]+\.md/)
    expect(sent).toContain('POST https://api.tavily.com/search')
    expect(sent.some((each) => each.includes('169.254') || each.includes('127.0.0.1'))).toBe(false)
  })

  it('read pages of scripts one after the other, with one browser', async () => {
    const browser = new ScriptedBrowser()
    deployment.browser = browser as unknown as NonNullable<typeof deployment.browser>
    const urls = [1, 2, 3].map((n) => `https://web-site.example/app-${n}`)
    const app = '<div id=root></div><script src=app.js></script>'
    answerWeb((url) =>
      urls.includes(url) ? new Response(app, { headers: { 'content-type': 'text/html' } }) : undefined,
    )
    const { scripted } = await run([calls({ name: 'web_extract', input: { urls } }), says('Done.')]).finally(
      () => delete deployment.browser,
    )
    const messages = JSON.stringify(scripted.requests.at(-1)?.messages)
    for (const url of urls) expect(messages).toContain(`The text of ${url}`)
    expect(browser.countOf('POST')).toBe(1)
  })

  it('wait for a person once the turn has read a page and a file', async () => {
    answerWeb((url) => (url === 'https://api.tavily.com/search' ? Response.json({ results: [] }) : page(url)))
    const scripted = model([
      calls({ name: 'write_file', input: { path: 'a.txt', content: 'mine' } }),
      calls({ name: 'web_extract', input: { urls: ['https://web-site.example/article'] } }),
      calls({ name: 'read_file', input: { path: 'a.txt' } }),
      calls({ name: 'web_search', input: { query: 'mine' } }),
      says('Done.'),
    ])
    const { key } = await newTenant()
    const { id } = await newSession({ model: scripted.id }, key)
    const answer = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'Go.', wait: false } })
    expect(answer.status).toBeLessThan(300)
    await until(() => scripted.requests.length === 4)
    const approvals = await vi.waitFor(
      async () => {
        const { body } = await call<{ data: { tool: string }[] }>('GET', '/api/approvals', { key })
        expect(body.data).toHaveLength(1)
        return body.data
      },
      { timeout: 20_000 },
    )
    expect(approvals[0]?.tool).toBe('web_search')
    expect(sent.filter((each) => each.includes('search'))).toEqual([])
  })
})

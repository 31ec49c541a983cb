/** Tests the browser through `npm start`: the Chromium of the system, started by the first page. Skipped without one. */

import { once } from 'node:events'
import { createServer, type Server as HttpServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromium } from './support/chromium.ts'
import { owner, server } from './support/here.ts'

const pages: Readonly<Record<string, string>> = {
  '/': '<!doctype html><title>Shop</title><h1>Welcome</h1><a href="/second">Second</a>',
  '/app':
    '<!doctype html><title>App</title><main></main><script>document.querySelector("main").innerHTML = "<h1>Made by a script</h1><p>Only browsers see this.</p>"</script>',
  '/second': '<!doctype html><title>Second</title><h1>Second page</h1>',
}

describe.skipIf(chromium === undefined)('the browser of npm start (needs Chromium)', () => {
  let site: HttpServer

  beforeAll(async () => {
    site = createServer((request, response) => {
      const page = pages[request.url ?? '']
      response.writeHead(page ? 200 : 404, { 'content-type': 'text/html' }).end(page)
    }).listen(server.shopPort, '127.0.0.1')
    await once(site, 'listening')
  })
  afterAll(() => void site.close())

  it('reads a page that scripts make, opens another, follows its link by keys, and goes back; a private address is refused', async () => {
    const session = await owner.newSession()
    const steps = [
      'web_extract {"urls":["http://shop.example.com/app"]}',
      'browser_navigate {"url":"http://shop.example.com/"}',
      'browser_press {"key":"Tab"}',
      'browser_press {"key":"Enter"}',
      'browser_snapshot {}',
      'browser_back {}',
      'browser_navigate {"url":"http://127.0.0.1/"}',
    ]
    const run = await owner.chat(session, `[[call ${steps.join(' then ')} then say done]]`)
    expect(run.json).toMatchObject({ status: 'completed', output: 'done' })
    const results = (await owner.messages(session))
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => JSON.parse(content ?? '') as Readonly<Record<string, unknown>>)
    expect(results).toMatchObject([
      { results: [{ title: 'App', content: expect.stringContaining('Only browsers see this.') }] },
      { success: true, title: 'Shop', snapshot: expect.stringContaining('link "Second" [ref=e') },
      { success: true, pressed: 'Tab' },
      { success: true, pressed: 'Enter', url: 'http://shop.example.com/second' },
      { snapshot: expect.stringContaining('heading "Second page"') },
      { url: 'http://shop.example.com/' },
      { error: expect.stringContaining('loopback') },
    ])
    expect((await owner.send('DELETE', `/api/sessions/${session}`)).status).toBe(204)
  })
})

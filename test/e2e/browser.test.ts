/** Tests the browser through `npm start`: the Chromium of the system, started by the first page. Skipped without one. */

import { once } from 'node:events'
import { createServer, type Server as HttpServer } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromium } from './support/chromium.ts'
import { type Client, eventually } from './support/client.ts'
import { createTenant, server } from './support/here.ts'

const pages: Readonly<Record<string, string>> = {
  '/': '<!doctype html><title>Shop</title><h1>Welcome</h1><a href="/second">Second</a>',
  '/app':
    '<!doctype html><title>App</title><main></main><script>document.querySelector("main").innerHTML = "<h1>Made by a script</h1><p>Only browsers see this.</p>"</script>',
  '/login':
    '<!doctype html><title>Login</title><form action="/sent"><input name=q aria-label=Code style="position:fixed;inset:0;width:100%"></form>',
  '/sent': '<!doctype html><title>Sent</title><h1>Thanks</h1>',
  '/second': '<!doctype html><title>Second</title><h1>Second page</h1>',
}

describe.skipIf(chromium === undefined)('the browser of npm start (needs Chromium)', () => {
  const asked: string[] = []
  let site: HttpServer
  let client: Client

  beforeAll(async () => {
    site = createServer((request, response) => {
      asked.push(request.url ?? '')
      const page = pages[request.url?.split('?')[0] ?? '']
      response.writeHead(page ? 200 : 404, { 'content-type': 'text/html' }).end(page)
    }).listen(server.shopPort, '127.0.0.1')
    await once(site, 'listening')
    client = (await createTenant()).client
  })
  afterAll(() => void site.close())

  it('reads a page that scripts make, opens another, follows its link by keys, and goes back; a private address is refused', async () => {
    const session = await client.newSession()
    const steps = [
      'web_extract {"urls":["http://shop.example.com/app"]}',
      'browser_navigate {"url":"http://shop.example.com/"}',
      'browser_press {"key":"Tab"}',
      'browser_press {"key":"Enter"}',
      'browser_snapshot {}',
      'browser_back {}',
      'browser_navigate {"url":"http://127.0.0.1/"}',
    ]
    const run = await client.chat(session, `[[call ${steps.join(' then ')} then say done]]`)
    expect(run.json).toMatchObject({ status: 'completed', output: 'done' })
    const results = (await client.messages(session))
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
    expect((await client.send('DELETE', `/api/sessions/${session}`)).status).toBe(204)
  })

  it('is handed to a person, who types what the agent never sees', async () => {
    const session = await client.newSession()
    const base = `/api/sessions/${session}/browser`
    const steps = ['browser_navigate {"url":"http://shop.example.com/login"}', 'request_handoff {"reason":"The code"}']
    const run = client.chat(session, `[[call ${steps.join(' then ')} then browser_snapshot {} then say done]]`)
    const { json } = await eventually(
      () => client.get('/api/questions'),
      ({ json: { data } }) => data.some((one: { session_id: string }) => one.session_id === session),
    )
    const question = json.data.find((one: { session_id: string }) => one.session_id === session)
    expect(question).toMatchObject({ message: 'The code', mode: 'url' })
    expect((await client.get(base)).json).toMatchObject({ open: true, reason: 'The code' })
    const screen = (await client.get(`${base}/screen`)).json
    expect(Buffer.from(screen.jpeg, 'base64').subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]))
    const act = async (body: object) => expect((await client.post(`${base}/input`, body)).status).toBe(200)
    await act({ type: 'click', x: screen.width / 2, y: screen.height / 2 })
    await act({ type: 'text', text: 'kept-from-agents' })
    await act({ type: 'key', key: 'Enter' })
    expect(asked).toContain('/sent?q=kept-from-agents')
    expect((await client.post(`/api/questions/${question.id}`, { action: 'accept' })).status).toBe(200)
    expect((await run).json).toMatchObject({ output: 'done' })
    const told = JSON.stringify(await client.messages(session))
    expect(told).toContain('/sent?q=***')
    expect(told).not.toContain('kept-from-agents')
    expect((await client.post(`${base}/input`, { type: 'key', key: 'Tab' })).status).toBe(409)
  })
})

/** Tests the browser through `npm start`: the Chromium of the system, started by the first page. Skipped without one. */

import { once } from 'node:events'
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startModelServer } from '../support/model-server/server.ts'
import { chromium } from './support/chromium.ts'
import { createClient, eventually } from './support/client.ts'
import { deleteState, newState, type Server, startServer } from './support/server.ts'
import { modelSettings } from './support/shared.ts'

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
  const state = newState()
  const asked: string[] = []
  let site: HttpServer
  let model: Awaited<ReturnType<typeof startModelServer>>
  let server: Server

  beforeAll(async () => {
    site = createServer((request, response) => {
      asked.push(request.url ?? '')
      const page = pages[request.url?.split('?')[0] ?? '']
      response.writeHead(page ? 200 : 404, { 'content-type': 'text/html' }).end(page)
    }).listen(0, '127.0.0.1')
    await once(site, 'listening')
    model = await startModelServer()
    const map = { 'shop.example.com': `http://127.0.0.1:${(site.address() as AddressInfo).port}` }
    server = await startServer({ state, env: { ...modelSettings(model.url), WEB_HOST_MAP: JSON.stringify(map) } })
  })
  afterAll(async () => {
    await server.stop()
    await model.close()
    site.close()
    deleteState(state)
  })

  it('reads a page that scripts make, opens another, follows its link by keys, and goes back; a private address is refused', async () => {
    const owner = createClient(server.url, server.key)
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

  it('is handed to a person, who types what the agent never sees', async () => {
    const owner = createClient(server.url, server.key)
    const session = await owner.newSession()
    const base = `/api/sessions/${session}/browser`
    const steps = ['browser_navigate {"url":"http://shop.example.com/login"}', 'request_handoff {"reason":"The code"}']
    const run = owner.chat(session, `[[call ${steps.join(' then ')} then browser_snapshot {} then say done]]`)
    const { json } = await eventually(
      () => owner.get('/api/questions'),
      ({ json: { data } }) => data.some((one: { session_id: string }) => one.session_id === session),
    )
    const question = json.data.find((one: { session_id: string }) => one.session_id === session)
    expect(question).toMatchObject({ message: 'The code', mode: 'url' })
    expect((await owner.get(base)).json).toMatchObject({ open: true, reason: 'The code' })
    const screen = (await owner.get(`${base}/screen`)).json
    expect(Buffer.from(screen.jpeg, 'base64').subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]))
    const act = async (body: object) => expect((await owner.post(`${base}/input`, body)).status).toBe(200)
    await act({ type: 'click', x: screen.width / 2, y: screen.height / 2 })
    await act({ type: 'text', text: 'kept-from-agents' })
    await act({ type: 'key', key: 'Enter' })
    expect(asked).toContain('/sent?q=kept-from-agents')
    expect((await owner.post(`/api/questions/${question.id}`, { action: 'accept' })).status).toBe(200)
    expect((await run).json).toMatchObject({ output: 'done' })
    const told = JSON.stringify(await owner.messages(session))
    expect(told).toContain('/sent?q=***')
    expect(told).not.toContain('kept-from-agents')
    expect((await owner.post(`${base}/input`, { type: 'key', key: 'Tab' })).status).toBe(409)
  })
})

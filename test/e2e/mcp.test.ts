/**
 * Tests the MCP client against servers of the official SDK in both eras, and against a reference server as npm ships it, the
 * sign-in of the official client to our server, and the screens of both.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import {
  Client as SdkClient,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, createClient, eventually, newTenant } from './support/client.ts'
import { type Equipped, useEquipped } from './support/equipped.ts'
import { giveBack } from './support/idle-pages.ts'
import { onePixel, type SdkServer, serveLegacy, serveModern } from './support/mcp-sdk-server.ts'
import { root } from './support/server.ts'
import { itInTurn } from '../support/long.ts'
import { isRunEnd, subscribe } from './support/sse.ts'
import { startModelServer } from '../support/model-server/server.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
let server: Equipped
let modern: SdkServer
let legacy: SdkServer
let wiki: SdkServer
let everything: ChildProcess
let client: Client
let returns: Awaited<ReturnType<typeof listenForReturn>>

beforeAll(async () => {
  server = await useEquipped()
  const { ports } = server
  modern = await serveModern(ports.modern)
  legacy = await serveLegacy(ports.legacy)
  wiki = await serveModern(ports.wiki)
  const program = join(root, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
  const env = { ...process.env, PORT: String(ports.everything) }
  everything = spawn(process.execPath, [program, 'streamableHttp'], { env })
  returns = await listenForReturn(ports.app)
  client = (await newTenant(createClient(server.url, server.key))).client
  await client.send('PATCH', '/api/settings', { body: { approvals: { mode: 'off' } } })
  await eventually(
    () => client.post('/api/mcp/servers/everything/test'),
    ({ json }) => json.ok,
    20_000,
  )
})

afterAll(() => {
  everything?.kill()
  returns?.close()
  modern?.close()
  legacy?.close()
  wiki?.close()
})

/** Runs one call of the model in a session of its own, and returns its result. */
async function run(tool: string, input: object = {}): Promise<string> {
  const session = await client.newSession()
  await client.chat(session, `[[call ${tool} ${JSON.stringify(input)} then say done]]`)
  return resultIn(session)
}

const resultIn = async (session: string): Promise<string> =>
  (await client.messages(session)).find(({ role }) => role === 'tool')?.content ?? ''

const eras = ['modern', 'legacy'] as const
const serverOf = (era: 'modern' | 'legacy') => (era === 'modern' ? modern : legacy)

describe.each(eras)('a %s server of the official SDK', (era) => {
  it('is found to be one, and its tools are listed', async () => {
    const { json } = await client.post(`/api/mcp/servers/${era}/test`)
    expect(json).toMatchObject({ ok: true, era, reason: null })
    expect(json.protocol_version).toBe(era === 'modern' ? '2026-07-28' : '2025-11-25')
    const tools = (await client.get(`/api/mcp/servers/${era}/tools`)).json.data as { tool: string; state: string }[]
    expect(tools.map(({ tool }) => tool)).toEqual(['broken', 'count', 'echo', 'greet', 'picture', 'weather'])
    expect(new Set(tools.map((tool) => tool.state))).toEqual(new Set(['active']))
  })

  it('answers calls with text, structured results, pictures and errors', async () => {
    expect(await run(`mcp__${era}__echo`, { text: 'grüße' })).toContain('You said grüße')
    expect(await run(`mcp__${era}__weather`, { city: 'Bonn' })).toContain('"structuredContent":{"degrees":20}')
    expect(await run(`mcp__${era}__picture`)).toContain('One pixel.')
    expect(await run(`mcp__${era}__broken`)).toContain('the disk is full')
  })

  it('shows its pictures to a model that sees', async () => {
    const model = await startModelServer()
    model.reset({ bodies: true })
    const id = `openai/forward-${model.port}`
    await client.send('PATCH', '/api/settings', { body: { models: { [id]: { images: true } } } })
    const session = await client.newSession({ model: id })
    await client.chat(session, `[[call mcp__${era}__picture {} then say done]]`)
    expect(JSON.stringify(model.journal())).toContain(onePixel)
    await model.close()
  })

  it('offers its resources and prompts', async () => {
    expect(await run(`mcp__${era}__list_resources`)).toContain('note://1')
    expect(await run(`mcp__${era}__read_resource`, { uri: 'note://1' })).toContain('the note of the server')
    expect(await run(`mcp__${era}__list_prompts`)).toContain('review')
    const prompt = await run(`mcp__${era}__get_prompt`, { name: 'review', arguments: { code: 'x = 1' } })
    expect(prompt).toContain('Review x = 1')
  })

  it('reports progress while a call runs', async () => {
    const session = await client.newSession()
    const path = `/api/sessions/${session}/events`
    const subscriber = await subscribe({ url: server.url, key: client.key ?? '', path })
    const input = `[[call mcp__${era}__count {"steps":1000} then say done]]`
    await client.post(`/api/sessions/${session}/chat`, { input, wait: false })
    // The call goes on until then, because progress that is not sent yet is dropped with the result.
    await subscriber.until(({ type, data }) => type === 'tool.progress' && /step \d/.test(data.delta))
    serverOf(era).isCountedOut = true
    await subscriber.until(isRunEnd)
    serverOf(era).isCountedOut = false
    expect(await resultIn(session)).toContain('counted to ')
    subscriber.close()
  })

  it('learns within two seconds that a call was stopped', async () => {
    const { calls, cancelled } = serverOf(era)
    calls.length = 0
    cancelled.length = 0
    const session = await client.newSession()
    const body = { input: `[[call mcp__${era}__count {"steps":100} then say done]]`, wait: false }
    await client.post(`/api/sessions/${session}/chat`, body)
    await eventually(
      () => calls,
      (made) => made.includes('count'),
    )
    await client.post(`/api/sessions/${session}/stop`)
    const told = await eventually(
      () => cancelled,
      (made) => made.includes('count'),
      2_000,
    )
    expect(told).toEqual(['count'])
  })

  it('asks a person, whose answer reaches it', async () => {
    const session = await client.newSession()
    const body = { input: `[[call mcp__${era}__greet {} then say done]]`, wait: false }
    await client.post(`/api/sessions/${session}/chat`, body)
    const { json } = await eventually(
      () => client.get('/api/questions'),
      (found) => found.json.data.some((one: { session_id: string }) => one.session_id === session),
      20_000,
    )
    const asked = json.data.find((one: { session_id: string }) => one.session_id === session)
    expect(asked).toMatchObject({ kind: 'elicitation', server: era, mode: 'form', schema: { required: ['name'] } })
    await client.post(`/api/questions/${asked.id}`, { action: 'accept', content: { name: 'Ada' } })
    expect(
      await eventually(
        () => resultIn(session),
        (text) => text !== '',
        20_000,
      ),
    ).toContain('Hello Ada')
  })

  it('may change its list, which a refresh and then the next turn notice', async () => {
    const { more } = serverOf(era)
    more.push('later')
    expect((await client.post(`/api/mcp/servers/${era}/refresh`)).json.tool_count).toBeGreaterThan(0)
    expect(await run(`mcp__${era}__later`)).toContain('later')
    more.length = 0
    await client.post(`/api/mcp/servers/${era}/refresh`)
    expect(await run(`mcp__${era}__later`)).not.toContain('"result"')
  })
})

describe('the reference server "everything"', () => {
  it('answers each kind of call', async () => {
    const tools = (await client.get('/api/mcp/servers/everything/tools')).json.data as { tool: string; state: string }[]
    expect(tools.filter(({ state: one }) => one !== 'active')).toEqual([])
    expect(await run('mcp__everything__echo', { message: 'hello' })).toContain('Echo: hello')
    expect(await run('mcp__everything__get-sum', { a: 2, b: 3 })).toContain('5')
    expect(await run('mcp__everything__get-structured-content', { location: 'Chicago' })).toContain('structuredContent')
    expect(await run('mcp__everything__get-tiny-image')).toContain('[image, image/png')
    expect(await run('mcp__everything__get-resource-links', { count: 2 })).toContain('[resource ')
    const slow = await run('mcp__everything__trigger-long-running-operation', { duration: 1, steps: 2 })
    expect(slow).toContain('Long running operation completed')
    expect(await run('mcp__everything__list_resources')).toContain('demo://resource')
    expect(await run('mcp__everything__list_prompts')).toContain('simple-prompt')
  })
})

const documentUrl = 'https://app.example.com/client.json'

/** Receives the browser that returns to an app, and publishes the metadata document of one. */
function listenForReturn(port: number) {
  let next = Promise.withResolvers<URLSearchParams>()
  const http = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://127.0.0.1')
    if (pathname === '/client.json')
      return void response.setHeader('content-type', 'application/json').end(
        JSON.stringify({
          client_id: documentUrl,
          client_name: 'Document app',
          redirect_uris: ['http://127.0.0.1/callback'],
          token_endpoint_auth_method: 'none',
        }),
      )
    response.end('<!doctype html><title>Connected</title>')
    if (pathname !== '/callback') return
    next.resolve(searchParams)
    next = Promise.withResolvers()
  })
  return new Promise<{ origin: string; url: string; next: () => Promise<URLSearchParams>; close: () => void }>(
    (resolve) => {
      http.listen(port, '127.0.0.1', () => {
        const origin = `http://127.0.0.1:${port}`
        resolve({ origin, url: `${origin}/callback`, next: () => next.promise, close: () => void http.close() })
      })
    },
  )
}

/** An app of the official SDK, which keeps everything in memory. `open` is its browser. */
function createApp(redirectUrl: string, open: (url: URL) => void, more: Partial<OAuthClientProvider> = {}) {
  const kept: { client?: unknown; tokens?: unknown; verifier: string } = { verifier: '' }
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: { client_name: 'SDK app', redirect_uris: [redirectUrl], token_endpoint_auth_method: 'none' },
    state: () => 'the state',
    clientInformation: () => kept.client as never,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens as never,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization: open,
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier,
    ...more,
  }
  const connect = async (authorize?: (transport: StreamableHTTPClientTransport) => Promise<void>) => {
    const transport = () => new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { authProvider: provider })
    const sdk = new SdkClient({ name: 'app', version: '1' })
    const first = transport()
    try {
      await sdk.connect(first)
    } catch (error) {
      if (!(error instanceof UnauthorizedError) || !authorize) throw error
      await authorize(first)
      await sdk.connect(transport())
    }
    return sdk
  }
  return { kept, connect }
}

describe('an app of the official SDK', () => {
  it('goes from a 401 to calls, renews its tokens, and ends when it is disconnected', async () => {
    let address = new URL(server.url)
    const app = createApp('http://127.0.0.1:9/callback', (url) => void (address = url))
    const sdk = await app.connect(async (transport) => {
      const headers = { authorization: `Bearer ${client.key}` }
      const html = await (await fetch(address, { headers })).text()
      const form = new URLSearchParams(address.searchParams)
      form.set('holder', /name="holder" value="(\w+)"/.exec(html)?.[1] ?? '')
      form.set('action', 'allow')
      for (const scope of ['chat', 'read']) form.append('grant', scope)
      const answer = await fetch(`${server.url}/oauth/authorize`, {
        method: 'POST',
        body: form,
        headers,
        redirect: 'manual',
      })
      expect(answer.status).toBe(303)
      await transport.finishAuth(new URL(answer.headers.get('location') ?? '').searchParams)
    })
    const { tools } = await sdk.listTools()
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['chat', 'sessions_list']))
    const answer = await sdk.callTool({ name: 'chat', arguments: { message: '[[say hello]]', wait: 20 } })
    expect(answer.structuredContent).toMatchObject({ status: 'completed' })
    const before = app.kept.tokens as { access_token: string }
    app.kept.tokens = { ...before, access_token: 'talat_expired' }
    const renewed = await app.connect()
    expect((await renewed.listTools()).tools).toHaveLength(tools.length)
    expect(app.kept.tokens).not.toMatchObject({ access_token: before.access_token })
    const { json } = await client.get('/api/apps')
    const own = json.data.find(({ name }: { name: string }) => name === 'SDK app')
    expect((await client.send('DELETE', `/api/apps/${own.id}`)).status).toBe(204)
    await expect(renewed.listTools()).rejects.toThrow(/./)
  })
})

describe.skipIf(chromium === undefined)('the screen of MCP servers in Chromium', () => {
  let browser: Browser
  let page: Page

  beforeAll(async () => {
    await client.post('/api/mcp/servers/wiki/refresh')
    browser = await launchBrowser()
    page = await browser.takePage({ locale: 'en-US', viewport: { width: 1280, height: 800 } })
    page.setDefaultTimeout(30_000)
    await page.goto((await client.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    await page.evaluate(`location.hash = '#/mcp'`)
  })
  afterAll(async () => browser?.close())
  const leave = (one: Page) => giveBack(one, server.url.replace('127.0.0.1', 'localhost'))

  itInTurn('shows the health of a server, tests it, and lists its tools with their cost', async () => {
    const card = page.locator('#mcp-wiki')
    await card.getByText('Ready').waitFor()
    await card.getByRole('button', { name: 'Test' }).click()
    await page.getByText(/It works: 6 tools/).waitFor()
    await card.getByRole('button', { name: 'Show tools' }).click()
    await card.getByText('Repeats a text.').waitFor()
    expect(await card.getByText('Active').count()).toBe(6)
    expect(await card.getByText(/About \d+ tokens in each prompt/).count()).toBe(1)
    await card.getByRole('button', { name: 'Hide tools' }).click()
  })

  it('shows what has changed in a tool, and approves it', async () => {
    wiki.description = 'Repeats a text, and sends it to a printer.'
    await client.post('/api/mcp/servers/wiki/refresh')
    const card = page.locator('#mcp-wiki')
    await card.getByRole('button', { name: 'Show tools' }).click()
    await card.getByText('Changed').waitFor()
    const diff = card.getByRole('group')
    expect(await diff.innerText()).toMatch(/-Repeats a text\.\n+\+Repeats a text, and sends it to a printer\./)
    await card.getByRole('button', { name: 'Approve' }).click()
    await card.getByText('Changed').waitFor({ state: 'detached' })
    const tools = (await client.get('/api/mcp/servers/wiki/tools')).json.data as { tool: string; state: string }[]
    expect(tools.find(({ tool }) => tool === 'echo')?.state).toBe('active')
  })

  itInTurn('adds a server, says why it cannot be used, and removes it', async () => {
    const form = page.getByRole('form', { name: 'Add an MCP server' })
    await form.getByLabel('Name').fill('gone')
    await form.getByLabel('Address').fill('http://127.0.0.1:9/mcp')
    await form.getByRole('button', { name: 'Add' }).click()
    await form.getByRole('alert').waitFor()
    await form.getByLabel('Address').fill('https://gone.example.com/mcp')
    await form.getByRole('button', { name: 'Add' }).click()
    const card = page.locator('#mcp-gone')
    await card.getByText('Unavailable').waitFor()
    await card.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await card.waitFor({ state: 'detached' })
    expect((await client.get('/api/mcp/servers/gone')).status).toBe(404)
  })

  itInTurn('imports a configuration', async () => {
    const form = page.getByRole('form', { name: 'Import servers' })
    await form.getByLabel('Configuration').fill('{"mcpServers": {"other": {"url": "https://gone.example.com/other"}}}')
    await form.getByRole('button', { name: 'Import servers' }).click()
    await page.locator('#mcp-other').waitFor()
    expect((await client.get('/api/mcp/servers/other')).json.alias).toBe('other')
  })

  it('lets a person decide about an app that a browser comes from, and disconnect it', async () => {
    let address = new URL(server.url)
    const sdk = createApp(returns.url, (url) => void (address = url))
    const connecting = sdk.connect(async (transport) => {
      const consent = await browser.takePage({ locale: 'de-DE', viewport: { width: 390, height: 844 } })
      // From a page of another site, as apps do.
      await consent.goto(returns.origin.replace('127.0.0.1', 'localhost'))
      await consent.evaluate(`location.href = ${JSON.stringify(address.href)}`)
      await consent.getByLabel('Dein Schlüssel von Talaria').fill(client.key ?? '')
      await consent.getByRole('button', { name: 'Anmelden' }).click()
      await consent.getByRole('heading', { name: 'Darf SDK app Talaria benutzen?' }).waitFor()
      await consent.evaluate(axe)
      const found = await consent.evaluate(`axe.run().then(({ violations }) => violations.map(({ id }) => id))`)
      expect(found).toEqual([])
      expect(await consent.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
      await consent.getByRole('checkbox', { name: /Aufträge anlegen/ }).uncheck()
      const returned = returns.next()
      await consent.getByRole('button', { name: 'Erlauben' }).click()
      const searchParams = await returned
      expect(searchParams.get('state')).toBe('the state')
      await transport.finishAuth(searchParams)
      await leave(consent)
    })
    const { tools } = await (await connecting).listTools()
    expect(tools.map(({ name }) => name)).not.toContain('jobs_create')
    await page.evaluate(`location.hash = '#/account'`)
    const row = page.getByRole('listitem').filter({ hasText: 'SDK app' })
    await row.getByText('Chat, Read, Change').waitFor()
    await row.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click()
    await row.waitFor({ state: 'detached' })
    await page.evaluate(`location.hash = '#/mcp'`)
  })

  it('knows an app by its metadata document, and gives it what the person allows, once and in their tenant', async () => {
    const other = (await newTenant(createClient(server.url, server.key))).client
    const foreign = await client.newSession()
    const consent = await browser.takePage({ locale: 'en-US' })
    let address = new URL(server.url)
    const app = createApp(returns.url, (url) => void (address = url), { clientMetadataUrl: documentUrl })
    const decide = async (button: 'Allow' | 'Refuse') => {
      await consent.goto(address.href)
      const key = consent.getByLabel('Your key of Talaria')
      if (await key.isVisible()) {
        await key.fill(other.key ?? '')
        await consent.getByRole('button', { name: 'Sign in' }).click()
      }
      await consent.getByRole('heading', { name: 'Let Document app use Talaria?' }).waitFor()
      expect(await consent.getByText('127.0.0.1').count()).toBeGreaterThan(0)
      const returned = returns.next()
      await consent.getByRole('button', { name: button }).click()
      return returned
    }
    const refused = app.connect(async (transport) => transport.finishAuth(await decide('Refuse')))
    await expect(refused).rejects.toThrow(/access_denied|refused/i)
    let code = ''
    const sdk = await app.connect(async (transport) => {
      const answer = await decide('Allow')
      code = answer.get('code') ?? ''
      await transport.finishAuth(answer)
    })
    expect(app.kept.client).toMatchObject({ client_id: documentUrl })
    const hidden = await sdk.callTool({ name: 'session_messages', arguments: { session_id: foreign } })
    expect(hidden.isError).toBe(true)
    const { access_token: token, refresh_token: refresh } = app.kept.tokens as Record<string, string>
    // It opens nothing but the MCP server.
    expect((await createClient(server.url, token).get('/api/sessions')).status).toBe(401)
    const form = (fields: Record<string, string>) => ({
      method: 'POST',
      body: new URLSearchParams({ client_id: documentUrl, ...fields }),
    })
    const elsewhere = {
      grant_type: 'refresh_token',
      refresh_token: refresh ?? '',
      resource: 'https://evil.example/mcp',
    }
    const wrong = await fetch(`${server.url}/oauth/token`, form(elsewhere))
    expect([wrong.status, ((await wrong.json()) as { error: string }).error]).toEqual([400, 'invalid_target'])
    expect((await sdk.listTools()).tools.length).toBeGreaterThan(0)
    const again = {
      grant_type: 'authorization_code',
      code,
      code_verifier: app.kept.verifier,
      redirect_uri: returns.url,
    }
    const reused = await fetch(`${server.url}/oauth/token`, form(again))
    expect([reused.status, ((await reused.json()) as { error: string }).error]).toEqual([400, 'invalid_grant'])
    // A code that came twice was copied: what it has given ends.
    await expect(sdk.listTools()).rejects.toThrow(/./)
    delete app.kept.tokens
    const last = await app.connect(async (transport) => transport.finishAuth(await decide('Allow')))
    const { refresh_token: given = '' } = app.kept.tokens as Record<string, string>
    expect((await fetch(`${server.url}/oauth/revoke`, form({ token: given }))).status).toBe(200)
    await expect(last.listTools()).rejects.toThrow(/./)
    await leave(consent)
  })

  it('shows what a server asks as a form, which keys fill in and send, also on a German phone', async () => {
    const session = await client.newSession()
    const input = '[[call mcp__wiki__greet {} then say done]]'
    await client.post(`/api/sessions/${session}/chat`, { input, wait: false })
    const own = await browser.takePage({ locale: 'de-DE', viewport: { width: 320, height: 740 } })
    await own.goto((await client.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
    await own.getByRole('textbox').first().waitFor()
    await own.evaluate(`location.hash = '#/chat/${session}'`)
    const card = own.getByRole('alertdialog')
    await card.getByText('Der MCP-Server wiki fragt').waitFor()
    await card.getByText('Under which name?').waitFor()
    const types = await card.locator('input').evaluateAll((all) => all.map((one) => one.getAttribute('type')))
    expect(types).toEqual(['text', 'email', 'date', 'number', 'checkbox'])
    expect(await own.evaluate('document.documentElement.scrollWidth')).toBe(320)
    const buttons = await card.getByRole('button').all()
    const boxes = await Promise.all(buttons.map((button) => button.boundingBox()))
    expect(boxes.every((box) => box !== null && box.x >= 0 && box.x + box.width <= 320 && box.y < 740)).toBe(true)
    await own.evaluate(axe)
    expect(await own.evaluate(`axe.run('.pending').then(({ violations }) => violations.map(({ id }) => id))`)).toEqual(
      [],
    )
    const name = card.getByLabel('Name')
    await name.focus()
    // A required field that is empty is not sent.
    await own.keyboard.press('Enter')
    expect(await name.evaluate((field) => (field as unknown as { validity: { valid: boolean } }).validity.valid)).toBe(
      false,
    )
    await own.keyboard.type('Ada')
    await own.keyboard.press('Tab')
    await own.keyboard.type('ada@example.com')
    await card.getByLabel('Day').fill('2026-02-03')
    await card.getByLabel('Age').fill('7')
    await card.getByLabel('News').focus()
    await own.keyboard.press('Space')
    await card.getByLabel('Size').selectOption({ label: 'Medium' })
    await name.focus()
    await own.keyboard.press('Enter')
    await card.waitFor({ state: 'detached' })
    const wanted = { name: 'Ada', mail: 'ada@example.com', day: '2026-02-03', age: 7, news: true, size: 'm' }
    const answer = await eventually(
      () => resultIn(session),
      (text) => text !== '',
      20_000,
    )
    for (const [field, value] of Object.entries(wanted))
      expect(answer.replaceAll('\\', '')).toContain(`${JSON.stringify(field)}:${JSON.stringify(value)}`)
    await leave(own)
  })

  itInTurn('is refused by a button', async () => {
    const session = await client.newSession()
    const input = '[[call mcp__wiki__greet {} then say done]]'
    await client.post(`/api/sessions/${session}/chat`, { input, wait: false })
    await page.evaluate(`location.hash = '#/chat/${session}'`)
    await page.getByRole('alertdialog').getByRole('button', { name: 'Deny' }).click()
    expect(
      await eventually(
        () => resultIn(session),
        (text) => text !== '',
        20_000,
      ),
    ).toContain('The user said decline.')
  })

  itInTurn(
    'has no defects for people who use other means than eyes and a mouse, also on a phone and in German',
    async () => {
      await page.evaluate(`location.hash = '#/mcp'`)
      await page.locator('#mcp-wiki').waitFor()
      await page.evaluate(axe)
      const found = (await page.evaluate(
        `axe.run('.screen').then(({ violations }) => violations.map(({ id }) => id))`,
      )) as string[]
      expect(found).toEqual([])
      await page.setViewportSize({ width: 390, height: 844 })
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
      const german = await browser.takePage({ locale: 'de-DE', viewport: { width: 1280, height: 720 } })
      await german.goto((await client.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
      await german.getByRole('textbox').first().waitFor()
      await german.evaluate(`location.hash = '#/mcp'`)
      await german.locator('#mcp-wiki').getByText('Bereit').waitFor()
      expect(await german.getByRole('heading', { name: 'MCP-Server', exact: true }).count()).toBe(1)
    },
  )
})

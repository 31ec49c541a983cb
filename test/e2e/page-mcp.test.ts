/** Tests the screen of MCP servers in Chromium, with a server of the official SDK. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromium, launchBrowser } from './support/chromium.ts'
import { type Client, createClient, newTenant } from './support/client.ts'
import { type SdkServer, serveModern } from './support/mcp-sdk-server.ts'
import { deleteState, newState, type Server, startServer } from './support/server.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

describe.skipIf(chromium === undefined)('the screen of MCP servers in Chromium', () => {
  const state = newState()
  let wiki: SdkServer
  let server: Server
  let browser: Browser
  let client: Client
  let page: Page

  beforeAll(async () => {
    wiki = await serveModern()
    const MCP_SERVERS = JSON.stringify({ wiki: { url: wiki.url } })
    // A public name behind which nobody listens.
    const WEB_HOST_MAP = JSON.stringify({ 'gone.example.com': 'http://127.0.0.1:9' })
    server = await startServer({ state, env: { MCP_SERVERS, WEB_HOST_MAP } })
    client = (await newTenant(createClient(server.url, server.key))).client
    await client.post('/api/mcp/servers/wiki/refresh')
    browser = await launchBrowser()
    page = await (await browser.newContext({ locale: 'en-US', viewport: { width: 1280, height: 800 } })).newPage()
    page.setDefaultTimeout(30_000)
    await page.goto((await client.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    await page.evaluate(`location.hash = '#/mcp'`)
  })
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    wiki?.close()
    deleteState(state)
  })

  it('shows the health of a server, tests it, and lists its tools with their cost', async () => {
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

  it('adds a server, says why it cannot be used, and removes it', async () => {
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

  it('imports a configuration', async () => {
    const form = page.getByRole('form', { name: 'Import servers' })
    await form.getByLabel('Configuration').fill('{"mcpServers": {"other": {"url": "https://gone.example.com/other"}}}')
    await form.getByRole('button', { name: 'Import servers' }).click()
    await page.locator('#mcp-other').waitFor()
    expect((await client.get('/api/mcp/servers/other')).json.alias).toBe('other')
  })

  it('has no defects for people who use other means than eyes and a mouse, also on a phone and in German', async () => {
    await page.evaluate(axe)
    const found = (await page.evaluate(
      `axe.run('.screen').then(({ violations }) => violations.map(({ id }) => id))`,
    )) as string[]
    expect(found).toEqual([])
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    const german = await (await browser.newContext({ locale: 'de-DE' })).newPage()
    await german.goto((await client.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
    await german.getByRole('textbox').first().waitFor()
    await german.evaluate(`location.hash = '#/mcp'`)
    await german.getByText('Bereit').waitFor()
    expect(await german.getByRole('heading', { name: 'MCP-Server', exact: true }).count()).toBe(1)
  })
})

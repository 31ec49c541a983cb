/** Tests /docs in Chromium. Without one (apt-get install chromium) only the served bytes are tested. */

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { type Browser, chromium, launchBrowser, watchPage } from './support/chromium.ts'
import { eventually } from './support/client.ts'
import { owner, server } from './support/here.ts'

const nobody = owner.as(undefined)
const viewport = { width: 1300, height: 900 }

describe('the bytes of /docs', () => {
  it('come from our own origin, under a policy that allows no other', async () => {
    const { status, headers, text } = await nobody.get('/docs')
    expect(status).toBe(200)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain(`default-src 'none'`)
    expect(policy).toContain(`script-src 'self';`)
    expect(policy).not.toMatch(/https?:|unsafe-eval|script-src[^;]*unsafe-inline/)
    expect(text).not.toMatch(/(src|href)="(https?:)?\/\//)
  })

  it('list the routes without JavaScript', async () => {
    const { text } = await nobody.get('/docs')
    expect(text).toContain('<code>POST /v1/chat/completions</code> Chat with the agent')
    expect(text).toContain('<code>GET /api/sessions/{id}/events</code>')
  })

  itInTurn.each(['page.js', 'page.css', 'reference.js'])('%s is a static file', async (name) => {
    const { status, headers, text } = await nobody.get(`/docs/${name}`)
    expect([status, headers.get('content-type')?.split(';')[0]]).toEqual([
      200,
      name.endsWith('js') ? 'text/javascript' : 'text/css',
    ])
    expect(text.length).toBeGreaterThan(100)
  })
})

describe.skipIf(chromium === undefined)('/docs in Chromium', () => {
  let browser: Browser
  let page: Page
  let watched: ReturnType<typeof watchPage>

  /** The text of the page, shadow roots and inputs aside. The page is long, so that it is read from time to time. */
  const readText = (of: Page) => of.evaluate<string>('document.body.innerText')
  const shows = (words: string, of = page) =>
    eventually(
      () => readText(of),
      (text) => text.includes(words),
      80_000,
    )

  beforeAll(async () => {
    browser = await launchBrowser()
    page = await (await browser.newContext({ colorScheme: 'dark', viewport })).newPage()
    watched = watchPage(page)
    await page.goto(`${server.url}/docs`)
    await shows('Client Libraries')
  })
  afterAll(async () => browser?.close())

  it('shows groups, operations and the field of the key', async () => {
    const shown = await shows('This deployment')
    for (const part of ['Sessions', 'Chat with the agent', 'Bearer Token', 'This deployment'])
      expect(shown).toContain(part)
    expect(await page.locator('.dark-mode').count()).toBeGreaterThan(0)
    // The list of routes is only for pages without JavaScript.
    expect(await page.locator('#plain').count()).toBe(0)
  })

  itInTurn('shows the description of an operation, snippets of SDKs, and the form to try it', async () => {
    // The reference renders an operation when it comes into view, which the address of a new page chooses.
    const linked = await page.context().newPage()
    const { errors } = watchPage(linked)
    await linked.goto(`${server.url}/docs#tag/openai/POST/v1/chat/completions`)
    const shown = await shows('client.chat.completions.create', linked)
    expect(errors).toEqual([])
    for (const part of ['uses its own tools', 'OpenAI SDK (JavaScript)', 'Test Request', `${server.url}/v1`])
      expect(shown).toContain(part)
    await linked.close()
  })

  itInTurn('finds an operation by a word', async () => {
    await page.getByRole('button', { name: 'Search' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.locator('input').focus()
    await page.keyboard.insertText('checkpoint')
    await expect.poll(() => dialog.innerText()).toContain('unified diff')
    expect(await dialog.innerText()).toContain('/api/sessions/{id}/checkpoints/{n}/diff')
  })

  it('asks no foreign host and logs no error', () => {
    const { requests, errors } = watched
    expect(requests.filter((url) => !url.startsWith(server.url) && !/^(data|blob):/.test(url))).toEqual([])
    expect(errors).toEqual([])
  })

  it('lists the routes when scripts are off, in a light scheme', async () => {
    const plain = await (await browser.newContext({ colorScheme: 'light', javaScriptEnabled: false })).newPage()
    await plain.goto(`${server.url}/docs`)
    await plain.getByText('POST /v1/chat/completions').first().waitFor()
    expect(await plain.locator('body').innerText()).toContain('This is the list of routes.')
    await plain.context().close()
  })
})

/** Tests /docs in Chromium. Without one (apt-get install chromium) only the served bytes are tested. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { chromium, openBrowser, type Page } from './support/chromium.ts'
import { owner, server } from './support/here.ts'

const nobody = owner.as(undefined)

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

/** The text of the page, shadow roots and inputs aside. */
const text = 'document.body.innerText'
const findButton = (label: string) =>
  `[...document.querySelectorAll('button')].find((one) => one.innerText.includes(${JSON.stringify(label)}))`

describe.skipIf(chromium === undefined)('/docs in Chromium', () => {
  let browser: Awaited<ReturnType<typeof openBrowser>>
  let page: Page

  beforeAll(async () => {
    browser = await openBrowser()
    page = await browser.newPage()
    await page.setScheme('dark')
    await page.goTo(`${server.url}/docs`)
    await page.until(`${text}.includes('Client Libraries')`, 80_000)
  })
  afterAll(() => browser.close())

  it('shows groups, operations and the field of the key', async () => {
    await page.until(`${text}.includes('This deployment')`)
    const shown = await page.evaluate<string>(text)
    for (const part of ['Sessions', 'Chat with the agent', 'Bearer Token', 'This deployment'])
      expect(shown).toContain(part)
    expect(await page.evaluate(`document.querySelector('.dark-mode') !== null`)).toBe(true)
    // The list of routes is only for pages without JavaScript.
    expect(await page.evaluate(`document.getElementById('plain')`)).toBe(null)
  })

  itInTurn('shows the description of an operation, snippets of SDKs, and the form to try it', async () => {
    // The reference renders an operation when it comes into view, which the address of a new page chooses.
    const linked = await browser.newPage()
    await linked.goTo(`${server.url}/docs#tag/openai/POST/v1/chat/completions`)
    await linked.until(`${text}.includes('client.chat.completions.create')`)
    const shown = await linked.evaluate<string>(text)
    expect(linked.errors).toEqual([])
    for (const part of ['uses its own tools', 'OpenAI SDK (JavaScript)', 'Test Request', `${server.url}/v1`])
      expect(shown).toContain(part)
  })

  itInTurn('finds an operation by a word', async () => {
    await page.evaluate(`${findButton('Search')}.click()`)
    await page.until(`document.querySelector('[role=dialog] input')`)
    await page.evaluate(`document.querySelector('[role=dialog] input').focus()`)
    await page.type('checkpoint')
    await page.until(`document.querySelector('[role=dialog]').innerText.includes('unified diff')`)
    expect(await page.evaluate<string>(`document.querySelector('[role=dialog]').innerText`)).toContain(
      '/api/sessions/{id}/checkpoints/{n}/diff',
    )
  })

  it('asks no foreign host and logs no error', () => {
    const foreign = page.requests.filter((url) => !url.startsWith(server.url) && !/^(data|blob):/.test(url))
    expect(foreign).toEqual([])
    expect(page.errors).toEqual([])
  })

  it('lists the routes when scripts are off, in a light scheme', async () => {
    const plain = await browser.newPage()
    await plain.setScheme('light')
    await plain.setScripts(false)
    await plain.goTo(`${server.url}/docs`)
    await plain.until(`${text}.includes('POST /v1/chat/completions')`)
    expect(await plain.evaluate<string>(text)).toContain('This is the list of routes.')
  })
})

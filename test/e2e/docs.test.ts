/** Tests the documentation site: its pages as served, and its search in Chromium. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { type Browser, chromium, launchBrowser, readBoxes, watchPage } from './support/chromium.ts'
import { owner, server } from './support/here.ts'
import { root } from './support/server.ts'

const nobody = owner.as(undefined)
/** What a browser sends when a person opens an address. */
const navigation = {
  accept: 'text/html,application/xhtml+xml',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
}
const visit = (path: string) => fetch(`${server.url}${path}`, { headers: navigation, redirect: 'manual' })
const guides = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))

describe('the pages', () => {
  it('serves every page of docs as HTML and as Markdown, under the policy of the page', async () => {
    for (const name of guides) {
      const path = name === 'README.md' ? '/docs/' : `/docs/${name.slice(0, -3)}`
      const page = await visit(path)
      expect([path, page.status, page.headers.get('content-type')?.split(';')[0]]).toEqual([path, 200, 'text/html'])
      expect(page.headers.get('content-security-policy')).toContain(`script-src 'self'; style-src 'self'`)
      const html = await page.text()
      expect(html).toContain('href="/docs"')
      expect(html).not.toMatch(/<script(?! src="\/docs\/site\.js)|<style|<[^>]* (?:style|on[a-z]+)=|href="javascript:/)
    }
    const markdown = await nobody.get('/docs/cli.md')
    expect([markdown.status, markdown.headers.get('content-type')?.split(';')[0]]).toEqual([200, 'text/markdown'])
    expect(markdown.text).toContain('# Command line')
  })

  itInTurn('links only pages, sections and files that exist', async () => {
    const anchors = new Map<string, Set<string>>()
    const links: [string, string][] = []
    const dead: string[] = []
    const open = ['/docs/']
    for (let path = open.shift(); path !== undefined; path = open.shift()) {
      if (anchors.has(path)) continue
      const { status, text } = await nobody.get(path)
      if (status !== 200) dead.push(path)
      anchors.set(path, new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id)))
      const isPage = path.startsWith('/docs/') && !/\.\w+(?:\?|$)/.test(path)
      for (const [, href = ''] of isPage ? text.matchAll(/(?:href|src)="([#/][^"]*)"/g) : []) {
        const [to = '', anchor] = href.split('#')
        if (anchor) links.push([to || path, anchor])
        if (to) open.push(to)
      }
    }
    expect(dead).toEqual([])
    expect(links.filter(([path, anchor]) => path.startsWith('/docs/') && !anchors.get(path)?.has(anchor))).toEqual([])
  })

  itInTurn('gives programs a list of the pages', async () => {
    const { text } = await nobody.get('/llms.txt')
    expect(text).toMatch(/^# Talaria\n\n> /)
    for (const [, path = ''] of text.matchAll(/\]\((\/docs\/[^)]+\.md)\)/g))
      expect((await nobody.get(path)).status).toBe(200)
  })
})

itInTurn('opens no route of the API as a file, also for a browser', async () => {
  const { json } = await nobody.get('/openapi.json')
  const paths = Object.entries(json.paths as Record<string, object>)
    .filter(([path, methods]) => 'get' in methods && !path.includes('events'))
    .map(([path]) => path.replaceAll(/\{[^}]*\}/g, 'none'))
  expect(paths.length).toBeGreaterThan(40)
  const answers = await Promise.all(
    paths.map(async (path) => {
      const answer = await visit(path)
      const text = await answer.text()
      return { path, isFile: text.includes('id="app"') || text.includes('docs/site.js') }
    }),
  )
  expect(answers.filter(({ isFile }) => isFile)).toEqual([])
  expect((await visit('/docs')).headers.get('content-security-policy')).toContain('connect-src')
  expect(await (await visit('/docs')).text()).toContain('href="/docs/"')
  expect((await visit('/docs/nothing')).status).toBe(404)
})

describe.skipIf(chromium === undefined)('the site in Chromium', () => {
  let browser: Browser

  beforeAll(async () => void (browser = await launchBrowser()))
  afterAll(async () => browser?.close())

  it('draws diagrams, follows the scheme, and loads the search when it is used', async () => {
    const page = await (await browser.newContext({ colorScheme: 'dark' })).newPage()
    const { requests, errors } = watchPage(page)
    await page.goto(`${server.url}/docs/design/tenant`)
    await page.locator('.search').waitFor()
    await expect
      .poll(() => page.evaluate<number>(`document.querySelector('img.diagram')?.naturalWidth ?? 0`))
      .toBeGreaterThan(0)
    expect(await page.evaluate(`getComputedStyle(document.documentElement).backgroundColor`)).toBe('rgb(27, 24, 23)')
    expect(requests.some((url) => url.endsWith('search.json'))).toBe(false)
    await page.locator('#search').focus()
    await page.keyboard.insertText('exit codes')
    const found = page.locator('#results a').first()
    await found.waitFor()
    expect(await found.getAttribute('href')).toBe('/docs/cli#exit-codes')
    expect(errors).toEqual([])
    expect(requests.filter((url) => !url.startsWith(server.url))).toEqual([])
    await page.context().close()
  })

  itInTurn('folds its menu on a phone', async () => {
    const small = await (await browser.newContext({ viewport: { width: 320, height: 640 } })).newPage()
    await small.goto(`${server.url}/docs/cli`)
    const link = small.locator('.sections').getByRole('link', { name: 'Providers', exact: true })
    expect(await link.isVisible()).toBe(false)
    const [heading] = await readBoxes(small.getByRole('heading', { level: 1 }))
    expect(heading.y).toBeLessThan(260)
    await small.getByText('All pages').click()
    await link.waitFor()
    const [box] = await readBoxes(link)
    expect(box.height).toBeGreaterThanOrEqual(40)
    await link.click()
    await small.getByRole('heading', { level: 1, name: 'Providers' }).waitFor()
    // The style may come after the heading.
    await link.waitFor({ state: 'hidden' })
    expect(await small.evaluate('document.documentElement.scrollWidth')).toBe(320)
    await small.setViewportSize({ width: 1200, height: 800 })
    expect(await link.isVisible()).toBe(true)
    expect(await small.getByText('All pages').isVisible()).toBe(false)
    await small.context().close()
  })
})

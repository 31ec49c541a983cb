/** Opens the page for a client in Playwright's browser, and its screens. */

import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { eventually, type Client } from './client.ts'
import { server } from './here.ts'

export const origin = server.url.replace('127.0.0.1', 'localhost')

/** Signs in, in a context of its own. */
export async function signIn(browser: Browser, client: Client, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 740 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  await page.goto((await client.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
  await page.locator('.composer textarea').waitFor()
  return page
}

/** Resolves when the screen and all its panels are loaded. */
export async function openScreen(page: Page, screen: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${screen}`)}`)
  await page.locator('.screen').waitFor()
  await eventually(
    () => page.locator('.skeleton').count(),
    (count) => count === 0,
  )
}

/** Whether nothing has to be scrolled sideways. */
export const fits = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth')

/** Opens the page in Chromium for the tests of its parts, and checks it with axe. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import { eventually, type Client } from './client.ts'
import { server } from './here.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const fields = { 'en-US': 'Message', 'de-DE': 'Nachricht' }
export type Locale = keyof typeof fields

export const origin = server.url.replace('127.0.0.1', 'localhost')

/** Signs in, in a context of its own. `errors` gets what the console of the page reports. */
export async function signIn(
  browser: Browser,
  client: Client,
  { errors = [], ...options }: BrowserContextOptions & { readonly errors?: string[] },
): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 740 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  page.on('pageerror', (error) => errors.push(error.message))
  await page.goto((await client.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
  await page.locator('.composer textarea').waitFor()
  return page
}

export const openPage = (
  browser: Browser,
  client: Client,
  { locale, width, errors }: { readonly locale: Locale; readonly width: number; readonly errors: string[] },
): Promise<Page> => signIn(browser, client, { locale, viewport: { width, height: 740 }, errors })

/** The field of the message. */
export const fieldOf = (page: Page, locale: Locale) => page.getByRole('textbox', { name: fields[locale] })

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

export async function audit(page: Page): Promise<void> {
  await page.evaluate(axe)
  const found = (await page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html)))`,
  )) as readonly string[]
  expect(found).toEqual([])
}

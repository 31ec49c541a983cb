/** Opens the page in Chromium for the tests of its parts, and checks it with axe. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Client } from './client.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const fields = { 'en-US': 'Message', 'de-DE': 'Nachricht' }
export type Locale = keyof typeof fields

/** `errors` gets what the console of the page reports. */
export async function openPage(
  browser: Browser,
  client: Client,
  { locale, width, errors }: { readonly locale: Locale; readonly width: number; readonly errors: string[] },
): Promise<Page> {
  const context = await browser.newContext({ locale, viewport: { width, height: 740 } })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  page.on('pageerror', (error) => errors.push(error.message))
  await page.goto((await client.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
  await fieldOf(page, locale).waitFor()
  return page
}

/** The field of the message. */
export const fieldOf = (page: Page, locale: Locale) => page.getByRole('textbox', { name: fields[locale] })

export async function audit(page: Page): Promise<void> {
  await page.evaluate(axe)
  const found = (await page.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html)))`,
  )) as readonly string[]
  expect(found).toEqual([])
}

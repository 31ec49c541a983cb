/** Tests in Chromium how people find their way back: to a session, and to a place in it. */

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstRows } from '../support/long.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { openPage, origin } from './support/page.ts'

const words = {
  'en-US': {
    more: 'Search and export',
    field: 'Search in this session',
    day: 'Go to a day',
    open: 'Open',
    read: 'Read aloud',
  },
  'de-DE': {
    more: 'Suchen und exportieren',
    field: 'In dieser Sitzung suchen',
    day: 'Zu einem Tag',
    open: 'Öffnen',
    read: 'Vorlesen',
  },
} as const

const screens = [
  ['de-DE', 360],
  ['en-US', 1280],
] as const

describe.skipIf(chromium === undefined)('a session', () => {
  let browser: Browser
  let client: Client
  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
  })
  afterAll(async () => browser?.close())

  it.each(firstRows(1, screens))(
    'is searched, left for another day, exported and read aloud, %s, %i px',
    async (locale, width) => {
      const { more, field, day, open, read } = words[locale]
      const at = (date: string) => ({ created_at: `${date}T12:00:00.000Z` })
      const { json } = await client.post('/api/sessions/import', {
        format: 'talaria.session',
        version: 1,
        session: { title: `About trees, ${locale}` },
        messages: [
          { role: 'user', content: 'Which tree has walnuts?', ...at('2025-03-01') },
          { role: 'assistant', content: '**The walnut.** See [this](https://example.org).', ...at('2025-03-01') },
          { role: 'user', content: 'And acorns?', ...at('2025-06-01') },
          { role: 'assistant', content: 'The oak.', ...at('2025-06-01') },
        ],
      })
      const script = `window.said = []; speechSynthesis.speak = (one) => said.push([one.lang, one.text]); speechSynthesis.cancel = () => said.push('stop')`
      const page = await openPage(browser, client, { locale, width, script })
      await page
        .getByRole('main')
        .getByRole('link', { name: `About trees, ${locale}` })
        .click()
      await page.locator('.block.text', { hasText: 'The oak.' }).waitFor()
      await page.getByRole('button', { name: more }).click()
      const dialog = page.getByRole('dialog')
      const box = await dialog.boundingBox()
      expect((box?.x ?? 0) + (box?.width ?? 999)).toBeLessThanOrEqual(width)
      await dialog.getByLabel(field).fill('walnuts')
      await dialog.locator('.hits a').first().click()
      await page.locator('.block[aria-current]', { hasText: 'walnuts' }).waitFor()
      await page.getByRole('button', { name: more }).click()
      const saved = page.waitForEvent('download')
      await dialog.getByRole('button', { name: 'Markdown' }).click()
      const file = await saved
      expect(file.suggestedFilename()).toBe(`About trees ${locale}.md`)
      expect(readFileSync(await file.path(), 'utf8')).toContain('Which tree has walnuts?')
      await dialog.getByLabel(day).fill('2099-01-01')
      await dialog.getByRole('button', { name: open }).click()
      await page.locator('.block[aria-current]', { hasText: 'The oak.' }).waitFor()
      await page.goto(`${origin}/#/chat/${json.id}`)
      const answer = page.locator('.block.text', { hasText: 'The walnut.' })
      await answer.getByRole('button', { name: read }).click()
      const said = (await page.evaluate('said.filter((one) => one !== "stop")')) as readonly string[][]
      expect(said).toEqual([
        [locale.slice(0, 2), 'The walnut.'],
        [locale.slice(0, 2), 'See this.'],
      ])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      await page.context().close()
    },
  )
})

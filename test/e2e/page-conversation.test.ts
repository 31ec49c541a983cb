/** Tests in Chromium what people do with a conversation: rate it, share it, keep none of it, and reuse their words. */

import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromium, launchBrowser, readBoxes } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner, server } from './support/here.ts'
import { audit, fieldOf, type Locale, openPage } from './support/page.ts'

const origin = server.url.replace('127.0.0.1', 'localhost')
const screens = [
  ['en-US', 1280],
  ['de-DE', 360],
] as const

describe.skipIf(chromium === undefined)('a conversation', () => {
  let browser: Browser
  let client: Client
  const errors: string[] = []
  const signIn = (locale: Locale, width: number) => openPage(browser, client, { locale, width, errors })
  const send = async (page: Page, locale: Locale, text: string) => {
    await fieldOf(page, locale).fill(text)
    await page.locator('.composer .send').click()
  }
  const expectWithin = async (page: Page, width: number) =>
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
  })
  afterAll(async () => browser?.close())

  describe.each(screens)('%s, %i px', (locale, width) => {
    const words = {
      'en-US': { bad: 'Bad answer', why: 'What was wrong? (optional)', save: 'Save' },
      'de-DE': { bad: 'Schlechte Antwort', why: 'Was war falsch? (freiwillig)', save: 'Speichern' },
    }[locale]

    it('is rated with a word, which stays, is changed and taken back', async () => {
      const id = await client.newSession()
      await client.chat(id, '[[say one]]')
      await client.chat(id, '[[say two]]')
      const page = await signIn(locale, width)
      await page.goto(`${origin}/#/chat/${id}`)
      const newest = page.locator('.end-of-run')
      const bad = newest.getByRole('button', { name: words.bad })
      await bad.click()
      await newest.getByRole('textbox', { name: words.why }).fill('Too short.')
      const [field] = await readBoxes(newest.getByRole('textbox'))
      expect([field.x >= 0, field.x + field.width <= width, field.width > 100]).toEqual([true, true, true])
      await audit(page)
      await newest.getByRole('button', { name: words.save }).click()
      await newest.getByText('Too short.').waitFor()
      await page.locator('.block.text').first().getByRole('button', { name: words.bad }).click()
      await expectWithin(page, width)
      const ratings = async () => (await client.get(`/api/sessions/${id}/messages`)).json.data.map(ratingOf)
      await expect
        .poll(ratings)
        .toEqual([undefined, { value: 'bad', note: null }, undefined, { value: 'bad', note: 'Too short.' }])
      await page.reload()
      await newest.getByText('Too short.').waitFor()
      expect(await bad.getAttribute('aria-pressed')).toBe('true')
      await bad.click()
      await expect.poll(async () => (await ratings())[3]).toBe(undefined)
      await page.context().close()
    })
  })

  it('reports nothing to the console', () => expect(errors).toEqual([]))
})

const ratingOf = ({ rating }: { readonly rating?: object }) => rating

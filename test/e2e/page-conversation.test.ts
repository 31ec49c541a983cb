/** Tests in Chromium what people do with a conversation: rate it, share it, keep none of it, and reuse their words. */

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstRows, itInTurn } from '../support/long.ts'
import { type Browser, chromium, launchBrowser, readBoxes } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { audit, fieldOf, leave, type Locale, openPage } from './support/page.ts'

const screens = [
  ['de-DE', 360],
  ['en-US', 1280],
] as const

describe.skipIf(chromium === undefined)('a conversation', () => {
  let browser: Browser
  let client: Client
  const errors: string[] = []
  const signIn = (locale: Locale, width: number, id?: string) =>
    openPage(browser, client, { locale, width, errors, ...(id && { at: `chat/${id}` }) })
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

  describe.each(firstRows(1, screens))('%s, %i px', (locale, width) => {
    const words = {
      'en-US': {
        bad: 'Bad answer',
        details: 'Details of the run',
        why: 'What was wrong? (optional)',
        save: 'Save',
        more: 'Search and export',
        share: 'Share',
        create: 'Create a link',
        revoke: 'Revoke',
        temporary: 'Temporary chat',
        mark: 'Temporary',
        newChat: 'New chat',
        keep: 'Save as a prompt',
      },
      'de-DE': {
        bad: 'Schlechte Antwort',
        details: 'Einzelheiten des Laufs',
        why: 'Was war falsch? (freiwillig)',
        save: 'Speichern',
        more: 'Suchen und exportieren',
        share: 'Teilen',
        create: 'Link erzeugen',
        revoke: 'Entziehen',
        temporary: 'Temporärer Chat',
        mark: 'Temporär',
        newChat: 'Neuer Chat',
        keep: 'Als Vorlage speichern',
      },
    }[locale]

    it('is rated with a word, which stays, is changed and taken back', async () => {
      const id = await client.newSession()
      await client.chat(id, '[[say one]]')
      await client.chat(id, '[[say two]]')
      const page = await signIn(locale, width, id)
      const newest = page.locator('.end-of-run')
      const bad = newest.getByRole('button', { name: words.bad })
      await bad.click()
      await newest.getByRole('textbox', { name: words.why }).fill('Too short.')
      const details = newest.getByRole('link', { name: words.details })
      const [field, last] = await readBoxes(newest.getByRole('textbox'), details)
      expect(field.y).toBeGreaterThan(last.y)
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
      await leave(page)
    })

    it('is shared by a link that everybody can read until it is revoked, and saved as a PDF', async () => {
      const id = await client.newSession({ title: 'Walnuts' })
      await client.chat(id, '[[say <img src=x onerror=alert(1)> **Nuts**]]')
      const page = await signIn(locale, width, id)
      await page.getByRole('button', { name: words.more }).click()
      const dialog = page.getByRole('dialog')
      await dialog.locator('summary', { hasText: words.share }).click()
      await dialog.getByRole('button', { name: words.create }).click()
      const link = dialog.getByRole('textbox', { name: 'Link' })
      await link.waitFor()
      const url = (await link.inputValue()).replace('127.0.0.1', 'localhost')
      const [box] = await readBoxes(dialog)
      expect([box.x >= 0, box.x + box.width <= width]).toEqual([true, true])
      await audit(page)
      const stranger = await (await browser.newContext({ viewport: { width, height: 740 } })).newPage()
      const requests: string[] = []
      stranger.on('request', (request) => requests.push(request.url()))
      await stranger.goto(url)
      await stranger.getByRole('heading', { name: 'Walnuts' }).waitFor()
      expect(await stranger.locator('body').innerText()).toContain('<img src=x onerror=alert(1)>')
      expect(requests.filter((one) => !one.endsWith('favicon.ico'))).toEqual([url])
      await expectWithin(stranger, width)
      const saved = page.waitForEvent('download')
      await dialog.getByRole('button', { name: 'PDF' }).click()
      expect((await saved).suggestedFilename()).toBe('Walnuts.pdf')
      await dialog.getByRole('button', { name: words.revoke }).click()
      await link.waitFor({ state: 'detached' })
      expect((await stranger.goto(url))?.status()).toBe(404)
      await stranger.context().close()
      await leave(page)
    })

    itInTurn('that is temporary is in no list, and gone when another one is opened', async () => {
      const page = await signIn(locale, width)
      const listed = async () => (await client.get('/api/sessions?archived=all')).json.data.length
      const before = await listed()
      await page.getByRole('button', { name: words.temporary }).click()
      await audit(page)
      await send(page, locale, '[[say secret]]')
      await page.locator('.block.text', { hasText: 'secret' }).waitFor()
      await page.locator('.chat-head .badge', { hasText: words.mark }).waitFor()
      const id = new URL(page.url()).hash.split('/').at(-1) ?? ''
      await page.reload()
      await page.locator('.block.text', { hasText: 'secret' }).waitFor()
      expect(await listed()).toBe(before)
      expect(await page.locator(`.side [data-session="${id}"]`).count()).toBe(0)
      expect((await client.get(`/api/sessions/${id}`)).status).toBe(200)
      await page.evaluate("location.hash = '#/chat'")
      await expect.poll(async () => (await client.get(`/api/sessions/${id}`)).status).toBe(404)
      expect(await page.getByRole('button', { name: words.temporary }).getAttribute('aria-pressed')).toBe('false')
      await leave(page)
    })

    itInTurn('gives its words to the prompt library, which a slash offers', async () => {
      const id = await client.newSession()
      await client.chat(id, '[[say kept]]')
      const page = await signIn(locale, width, id)
      await page.getByRole('button', { name: words.keep }).click()
      const name = `kept-${width}`
      await page.getByRole('dialog').getByRole('textbox').fill(name)
      await page.getByRole('dialog').getByRole('button', { name: words.save }).click()
      await expect.poll(async () => (await client.get('/api/settings')).json.prompts?.[name]).toBe('[[say kept]]')
      await fieldOf(page, locale).pressSequentially(`/${name.slice(0, 6)}`)
      await page.getByRole('option', { name: new RegExp(`^/${name}`) }).waitFor()
      await audit(page)
      await page.keyboard.press('Enter')
      await expect.poll(() => fieldOf(page, locale).inputValue()).toBe('[[say kept]]')
      await expectWithin(page, width)
      await leave(page)
    })
  })

  it('reports nothing to the console', () => expect(errors).toEqual([]))
})

const ratingOf = ({ rating }: { readonly rating?: object }) => rating

/** Tests in Chromium what the chat says while a run goes on, and after it has ended. */

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { firstRows, itInTurn } from '../support/long.ts'
import { type Browser, chromium, launchBrowser, readBoxes } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { leave, openPage } from './support/page.ts'

const words = {
  'en-US': {
    waits: /Rate limit\. Trying again in \d+ s\. \(2 of 4\)$/,
    silent: /The model has not answered for 1\d s\./,
    writes: /Writes write_file, \d{3} characters: … x+/,
    thought: /^(?:Thought for|Thoughts)/,
    stopped: 'Stopped. The messages so far are kept.',
    again: 'Answer again',
    branch: 'Branch after this answer',
    details: 'Details of the run',
    copy: 'Copy',
    today: 'Today',
  },
  'de-DE': {
    waits: /Anfragegrenze erreicht\. Neuer Versuch in \d+ s\. \(2 von 4\)$/,
    silent: /Das Modell hat seit 1\d s nicht geantwortet\./,
    writes: /Schreibt write_file, \d{3} Zeichen: … x+/,
    thought: /nachgedacht$|^Gedanken$/,
    stopped: 'Angehalten. Die bisherigen Nachrichten bleiben.',
    again: 'Neu antworten',
    branch: 'Nach dieser Antwort abzweigen',
    details: 'Einzelheiten des Laufs',
    copy: 'Kopieren',
    today: 'Heute',
  },
}
type Locale = keyof typeof words
const locales = firstRows<Locale>(1, ['de-DE', 'en-US'])

// The tests mostly wait.
describe.skipIf(chromium === undefined)('a run', { concurrent: true }, () => {
  let browser: Browser
  let client: Client

  const open = async (locale: Locale, id: string, width = 1280): Promise<Page> => {
    return openPage(browser, client, { locale, width, at: `chat/${id}` })
  }

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
  })
  afterAll(async () => browser?.close())

  it.for(locales)('that waits for the provider says why and for how long, %s', async (locale, { expect }) => {
    const id = await client.newSession()
    const page = await open(locale, id)
    const input = `[[status 429 retry-after=9 times=1 nonce=wait${locale}]] [[say Recovered]]`
    await client.post(`/api/sessions/${id}/chat`, { input, wait: false })
    const progress = page.locator('.progress')
    await expect.poll(async () => (await progress.innerText()).trim()).toMatch(words[locale].waits)
    await page.getByText('Recovered', { exact: true }).waitFor()
    expect(await page.locator('.list').innerText()).not.toMatch(/upstream-rate|\brate\b/)
    await leave(page)
  })

  it.for(locales)('whose model is silent says so after ten seconds, %s', async (locale, { expect }) => {
    const id = await client.newSession()
    const page = await open(locale, id)
    await client.post(`/api/sessions/${id}/chat`, { input: '[[slow ttft=16000 chunks=2 gap=10]]', wait: false })
    await page.locator('.progress').waitFor()
    await expect.poll(() => page.locator('.progress').innerText()).toMatch(words[locale].silent)
    await client.post(`/api/sessions/${id}/stop`)
    await leave(page)
  })

  itInTurn.for(locales)('that writes a long call shows the end of its arguments, %s', async (locale, { expect }) => {
    const id = await client.newSession()
    const page = await open(locale, id)
    const call = `[[call write_file {"path":"a.txt","content":"${'x'.repeat(1_500)}"} then say Written.]]`
    await client.post(`/api/sessions/${id}/chat`, { input: `[[slow gap=3000]] ${call}`, wait: false })
    await expect.poll(() => page.locator('.progress').innerText()).toMatch(words[locale].writes)
    await page.getByText('Written.', { exact: true }).waitFor()
    await leave(page)
  })

  itInTurn.for(locales)(
    'shows that it thinks in one line, and the thoughts when it is opened, %s',
    async (locale, { expect }) => {
      const id = await client.newSession()
      const page = await open(locale, id)
      await page.locator('.composer textarea').fill('[[reasoning 5]] [[say Thought it over]]')
      await page.keyboard.press('Enter')
      await page.getByText('Thought it over', { exact: true }).last().waitFor()
      const summary = page.locator('.block.thinking summary')
      await expect.poll(async () => (await summary.innerText()).trim()).toMatch(words[locale].thought)
      expect((await readBoxes(summary))[0].height).toBeLessThan(50)
      await summary.click()
      await page.locator('.block.thinking .markdown').waitFor()
      await leave(page)
    },
  )

  itInTurn.for(locales)('that was stopped says so after a reload, too, %s', async (locale, { expect }) => {
    const id = await client.newSession()
    const page = await open(locale, id)
    await client.post(`/api/sessions/${id}/chat`, { input: '[[slow ttft=20 chunks=400 gap=100]]', wait: false })
    await page.getByText('word1').waitFor()
    await client.post(`/api/sessions/${id}/stop`)
    await page.getByText(words[locale].stopped).waitFor()
    await page.reload()
    await page.getByText(words[locale].stopped).waitFor()
    expect(await page.getByText(words[locale].stopped).count()).toBe(1)
    await leave(page)
  })

  const looks: readonly (readonly [Locale, number])[] = [
    ['de-DE', 360],
    ['en-US', 1280],
  ]
  itInTurn.for(firstRows(1, looks))(
    'has one row of icons below its answer, and its day above, %s, %i px',
    async ([locale, width], { expect }) => {
      const id = await client.newSession()
      await client.chat(id, '[[say The answer]]')
      const page = await open(locale, id, width)
      const say = words[locale]
      await page.locator('.end-of-run').getByRole('button', { name: say.again }).waitFor()
      const names = [say.copy, say.again, say.branch]
      const row = page.locator('.end-of-run .actions')
      const boxes = await readBoxes(
        ...names.map((name) => row.getByRole('button', { name, exact: true })),
        row.getByRole('link', { name: say.details }),
      )
      expect(new Set(boxes.map(({ y }) => Math.round(y))).size).toBe(1)
      // The answer has no second row.
      expect(await page.locator('.block.text .actions').count()).toBe(0)
      expect(await page.locator('.day').innerText()).toBe(say.today)
      await row.getByRole('button', { name: say.branch }).click()
      await expect.poll(() => page.url().includes(id)).toBe(false)
      await page.locator('.block.text', { hasText: 'The answer' }).waitFor()
      await leave(page)
    },
  )
})

/** Tests that the German page has no English in it, and that settings are changed under names that people know. */

import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { de } from '../../web/words/de.ts'
import { en } from '../../web/words/en.ts'
import { chromium, launchBrowser } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { audit, openPage } from './support/page.ts'

const screens =
  'chat sessions inbox models settings usage channels jobs memory skills mcp projects owner account keys'.split(' ')
const names = Object.keys(en) as readonly (keyof typeof en)[]
const german = new Set(names.map((name) => de[name]))
/** Texts of the English page that the German one has in no place. */
const english = new Set(names.map((name) => en[name]).filter((text) => !german.has(text)))
/** Words of every English sentence, which are none of German. */
const common = /\b(?:the|and|with|your|which|when|from|this|that|are|has|does|not)\b/i

/** Runs in the page: what people read and what screen readers say, without code and what others have written. */
const collect = `(() => {
  for (const one of document.querySelectorAll('details')) one.open = true
  const found = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const { parentElement: parent } = node
    if (!parent.closest('code, pre, script, style, [dir=auto], [lang=en], .log, .sessions') && parent.checkVisibility()) found.push(node.data.trim())
  }
  for (const one of document.querySelectorAll('[aria-label], [title], [placeholder]'))
    if (!one.closest('.sessions, li:has([data-session])')) for (const name of ['aria-label', 'title', 'placeholder']) found.push(one.getAttribute(name) ?? '')
  return [...new Set(found)].filter(Boolean)
})()`

describe.skipIf(chromium === undefined)('the German page', () => {
  let browser: Browser
  let client: Client
  const errors: string[] = []

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
  })
  afterAll(async () => browser?.close())

  it('has no English on any screen', async () => {
    const page = await openPage(browser, owner, { locale: 'de-DE', width: 1280, errors })
    const found: Record<string, readonly string[]> = {}
    for (const screen of screens) {
      await page.evaluate(`location.hash = '#/${screen}'`)
      await page.locator(screen === 'chat' ? '.welcome' : '.screen').waitFor()
      await expect.poll(() => page.locator('.skeleton').count()).toBe(0)
      const texts = (await page.evaluate(collect)) as readonly string[]
      const foreign = texts.filter((text) => english.has(text) || common.test(text))
      if (foreign.length) found[screen] = foreign
    }
    expect(found).toEqual({})
    await page.context().close()
  })

  it('groups the settings under names that people know, with choices, and saves them', async () => {
    const page = await openPage(browser, client, { locale: 'de-DE', width: 360, errors })
    await page.evaluate("location.hash = '#/settings'")
    await page.getByLabel(/^Zeitzone/).fill('Europe/Berlin')
    await page.locator('summary', { hasText: 'Freigaben und Sicherheit' }).click()
    await page.getByLabel(/^Wer gefährliche Aufrufe freigibt/).selectOption({ label: 'Du entscheidest' })
    await page.getByLabel(/^Rechner, die Befehle erreichen/).fill('example.org\n\n*.example.com')
    await audit(page)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    await page.getByRole('button', { name: '3 Änderungen speichern' }).click()
    await expect
      .poll(async () => (await client.get('/api/settings')).json)
      .toEqual({
        timezone: 'Europe/Berlin',
        approvals: { mode: 'manual' },
        terminal: { allowed_hosts: ['example.org', '*.example.com'] },
      })
    await page.getByRole('searchbox', { name: 'Suchen' }).last().fill('gedächtnisdienst')
    await page.getByLabel(/^Gedächtnisdienst/).waitFor()
    expect(await page.getByLabel(/^Zeitzone/).count()).toBe(0)
    await page.context().close()
  })

  it('reports nothing to the console', () => expect(errors).toEqual([]))
})

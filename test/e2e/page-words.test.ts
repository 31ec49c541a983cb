/** Tests in Chromium that settings are changed under names that people know. page-walk.test.ts finds English in the German page. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { english } from '../support/english.ts'
import { errorCodes } from '../support/error-codes.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { audit, fieldOf, leave, openPage, openScreen } from './support/page.ts'

describe.skipIf(chromium === undefined)('the German page', () => {
  let browser: Browser
  let client: Client
  const errors: string[] = []

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
  })
  afterAll(async () => browser?.close())

  it('groups the settings under names that people know, with choices, and saves them', async () => {
    const page = await openPage(browser, client, { locale: 'de-DE', width: 360, errors })
    // The words are asked for once, beside the page and not by it.
    const loads = `performance.getEntriesByType('resource').filter(({ name }) => name.includes('/app/de-')).length`
    expect(await page.evaluate(loads)).toBe(1)
    expect(await page.locator('link[rel=modulepreload][href^="/app/de-"]').count()).toBe(1)
    await page.evaluate("location.hash = '#/settings'")
    await page.getByLabel(/^Zeitzone/).fill('Europe/Berlin')
    await page.locator('summary', { hasText: 'Freigaben und Sicherheit' }).click()
    await page.getByLabel(/^Wer gefährliche Aufrufe freigibt/).selectOption({ label: 'Du entscheidest' })
    await page.getByLabel(/^Rechner, die Befehle erreichen/).fill('example.org\n\n*.example.com')
    await page.getByLabel(/^Aufwand beim Denken/).selectOption({ label: 'Sehr hoch' })
    await expect.poll(() => page.locator('datalist option[value="openai/bench"]').count()).toBeGreaterThan(0)
    await audit(page)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    await page.getByRole('button', { name: '4 Änderungen speichern' }).click()
    await expect
      .poll(async () => (await client.get('/api/settings')).json)
      .toEqual({
        timezone: 'Europe/Berlin',
        approvals: { mode: 'manual' },
        terminal: { allowed_hosts: ['example.org', '*.example.com'] },
        model: { reasoning_effort: 'xhigh' },
      })
    await page.getByRole('searchbox', { name: 'Suchen' }).last().fill('gedächtnisdienst')
    await page.getByLabel(/^Gedächtnisdienst/).waitFor()
    expect(await page.getByLabel(/^Zeitzone/).count()).toBe(0)
    await leave(page)
  })

  itInTurn(
    'names scopes, fields of platforms and reasons of servers in words, with the names of the API beside them',
    async () => {
      await client.post('/api/mcp/servers', { alias: 'weg', url: 'https://gone.example.com/mcp' })
      const page = await openPage(browser, client, { locale: 'de-DE', width: 360, errors: [] })
      await openScreen(page, 'account')
      await page.getByText('Dein Schlüssel darf: Chatten, Lesen, Ändern').waitFor()
      await page.getByRole('checkbox', { name: 'Freigeben approve' }).waitFor()
      await openScreen(page, 'channels')
      const form = page.getByRole('form', { name: 'Neuer Kanal' })
      await form.getByLabel('Plattform').selectOption('sms')
      for (const name of ['Account SID account_sid', 'Auth Token auth_token', 'Absender from'])
        await form.getByLabel(name).waitFor()
      await openScreen(page, 'mcp')
      const reason = page.locator('#mcp-weg .failure')
      await expect.poll(() => reason.innerText()).toContain('Der Server ist nicht zu erreichen')
      expect(await reason.getAttribute('lang')).not.toBe('en')
      await leave(page)
    },
  )

  itInTurn('describes the commands behind a slash in German, and shows their whole names', async () => {
    const page = await openPage(browser, client, { locale: 'de-DE', width: 320, errors })
    await fieldOf(page, 'de-DE').pressSequentially('/')
    const option = page.getByRole('option', { name: /^\/undo/ })
    await option.getByText('Nimmt deine letzte Nachricht').waitFor()
    const texts = await page.getByRole('option').locator('.note').allInnerTexts()
    expect(texts.filter((text) => english.test(text))).toEqual([])
    const isWhole = 'one.querySelector(":first-child").scrollWidth <= one.querySelector(":first-child").clientWidth'
    expect(
      await page.evaluate(
        `[...document.querySelectorAll('[role=option]')].filter((one) => one.textContent.startsWith('/undo')).every((one) => ${isWhole})`,
      ),
    ).toBe(true)
    await leave(page)
  })

  itInTurn('says every error of the API in German', async () => {
    const page = await openPage(browser, client, { locale: 'de-DE', width: 360, errors: [] })
    let code: string = errorCodes[0] ?? ''
    // 401 signs out.
    await page.route('**/api/memory', (route) =>
      route.fulfill({
        status: 409,
        json: { error: { message: 'This is not what the server has.', code, param: null } },
      }),
    )
    const found: string[] = []
    for (code of errorCodes) {
      await page.evaluate("location.hash = '#/inbox'")
      await page.locator('.failure').waitFor({ state: 'detached' })
      await page.evaluate("location.hash = '#/memory'")
      const text = page.locator('.failure p').first()
      await expect.poll(() => text.innerText()).not.toBe('')
      if (english.test(await text.innerText())) found.push(`${code}: ${await text.innerText()}`)
    }
    expect(found).toEqual([])
    await leave(page)
  })

  it('reports nothing to the console', () => expect(errors).toEqual([]))
})

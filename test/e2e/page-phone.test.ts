/** Tests in Chromium where the parts of the chat stand on the screens of phones, in both languages. */

import { type Browser, type BrowserContext, type Locator, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chromium, launchBrowser, readBoxes } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner, server } from './support/here.ts'

const origin = server.url.replace('127.0.0.1', 'localhost')
const height = 640
const names = {
  'de-DE': { field: 'Nachricht', stop: 'Anhalten', send: 'Senden', deny: 'Ablehnen' },
  'en-US': { field: 'Message', stop: 'Stop', send: 'Send', deny: 'Deny' },
}
type Locale = keyof typeof names
const screens = ([320, 360, 390, 430] as const).flatMap((width) =>
  (['de-DE', 'en-US'] as const).map((locale) => [width, locale] as const),
)

describe.skipIf(chromium === undefined)('the chat on a phone', () => {
  let browser: Browser
  let client: Client
  const contexts: BrowserContext[] = []

  const openPhone = async (width: number, locale: Locale, id: string): Promise<Page> => {
    const context = await browser.newContext({ locale, viewport: { width, height }, hasTouch: true, isMobile: true })
    contexts.push(context)
    const page = await context.newPage()
    page.setDefaultTimeout(30_000)
    await page.goto((await client.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
    await page.getByRole('textbox', { name: names[locale].field }).waitFor()
    await page.goto(`${origin}/#/chat/${id}`)
    await page.locator('.list').waitFor()
    return page
  }
  const expectOnScreen = async (found: Locator, width: number) => {
    await found.waitFor()
    // A button of a run that ends is replaced by another.
    const isOnScreen = async () => {
      const [box] = await readBoxes(found)
      const isWithin = box.x >= 0 && box.x + box.width <= width && box.y >= 0 && box.y + box.height <= height
      return isWithin && box.width > 20 && box.height > 20
    }
    await expect.poll(isOnScreen, { timeout: 5_000 }).toBe(true)
  }
  const scrollsSideways = (page: Page): Promise<boolean> =>
    page.evaluate(
      "[document.documentElement, ...document.querySelectorAll('main, .chat, .list, .pending')].some((one) => one.scrollWidth > one.clientWidth)",
    )

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
  })
  afterAll(async () => browser?.close())

  it.each(screens)(
    'has field, mode, Stop and Send on a screen of %i px, %s, while an answer comes',
    async (width, locale) => {
      const id = await client.newSession()
      await client.post(`/api/sessions/${id}/chat`, { input: '[[slow ttft=20 chunks=400 gap=100]]', wait: false })
      const page = await openPhone(width, locale, id)
      const { field, stop, send } = names[locale]
      const stopButton = page.getByRole('button', { name: stop, exact: true })
      await stopButton.waitFor()
      await page.getByRole('textbox', { name: field }).fill('More')
      for (const found of [
        page.getByRole('textbox', { name: field }),
        page.locator('.composer .running select'),
        stopButton,
        page.getByRole('button', { name: send, exact: true }),
      ])
        await expectOnScreen(found, width)
      expect(await scrollsSideways(page)).toBe(false)
      await stopButton.click()
      await expectOnScreen(page.getByRole('button', { name: send, exact: true }), width)
      await page.context().close()
    },
  )

  it.each(screens.slice(0, 1))('clips long titles in the list of all sessions, %i px, %s', async (width, locale) => {
    const id = await client.newSession({ title: `A title that ${'goes on and '.repeat(4)}${'x'.repeat(35)}` })
    await client.send('PATCH', `/api/sessions/${id}`, { body: { tags: [`\u202E${'x'.repeat(49)}`] } })
    const page = await openPhone(width, locale, id)
    await page.goto(`${origin}/#/sessions`)
    const card = page.locator('.list-of > li', { has: page.locator(`[data-session="${id}"]`) })
    await card.waitFor()
    const right = (box: { readonly x: number; readonly width: number } | null) => (box?.x ?? 0) + (box?.width ?? 9_999)
    expect(right(await card.boundingBox())).toBeLessThanOrEqual(width)
    for (const button of await card.locator('button').all())
      expect(right(await button.boundingBox())).toBeLessThanOrEqual(width)
    const tag = card.locator('button.badge')
    expect(await tag.innerText()).toContain('⟨U+202E⟩')
    await tag.click()
    const filter = page.locator('.filters button')
    expect(right(await filter.boundingBox())).toBeLessThanOrEqual(width)
    expect(await filter.innerText()).toMatch(/×$/)
    expect(await scrollsSideways(page)).toBe(false)
  })

  it.each(screens)('shows Deny on a screen of %i px, %s, whatever the command', async (width, locale) => {
    const id = await client.newSession({ settings: { approvals: { mode: 'manual' } } })
    const command = `rm -rf build; echo ${'x'.repeat(300)} ${'a b '.repeat(300)}`
    await client.post(`/api/sessions/${id}/chat`, {
      input: `[[call terminal {"command":"${command}"} then say Done]]`,
      wait: false,
    })
    const page = await openPhone(width, locale, id)
    await expectOnScreen(page.getByRole('button', { name: names[locale].deny }), width)
    expect(await scrollsSideways(page)).toBe(false)
    await client.post(`/api/sessions/${id}/stop`)
    await page.context().close()
  })

  it('scrolls wide tables sideways, breaks long words, and keeps the head in one line', async () => {
    const width = 320
    const id = await client.newSession({ title: 'Donaudampfschifffahrtsgesellschaft '.repeat(2).trim() })
    const cells = Array.from({ length: 9 }, (_, at) => `column ${at}`).join('|')
    const table = `|${cells}|\n|${'-|'.repeat(9)}\n|${cells}|`
    await client.chat(id, `${'w'.repeat(200)} [[say ${table}]]`)
    const page = await openPhone(width, 'de-DE', id)
    await page.locator('.table').waitFor()
    expect(await scrollsSideways(page)).toBe(false)
    const { wide, shown } = await page.locator('.table').evaluate((element) => {
      const { scrollWidth, clientWidth } = element as unknown as { scrollWidth: number; clientWidth: number }
      return { wide: scrollWidth, shown: clientWidth }
    })
    expect([shown <= width, wide > shown]).toEqual([true, true])
    const [bubble, head] = await readBoxes(page.locator('.bubble'), page.locator('.chat-head'))
    expect(bubble.x >= 0 && bubble.x + bubble.width <= width).toBe(true)
    expect(head.height).toBeLessThan(60)
  })
})

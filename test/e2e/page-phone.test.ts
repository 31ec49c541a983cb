/** Tests in Chromium where the parts of the chat stand on the screens of phones, in both languages. */

import { firstRows, itInTurn } from '../support/long.ts'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, chromium, launchBrowser, readBoxes } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { leave, origin, signIn } from './support/page.ts'

const height = 640
const names = {
  'de-DE': { field: 'Nachricht', stop: 'Anhalten', send: 'Senden', deny: 'Ablehnen', ask: 'Diesen Befehl ausführen?' },
  'en-US': { field: 'Message', stop: 'Stop', send: 'Send', deny: 'Deny', ask: 'Run this command?' },
}
type Locale = keyof typeof names
const locales = firstRows(1, ['de-DE', 'en-US'] as const)
const widths = firstRows(2, [320, 390, 360, 430])

describe.skipIf(chromium === undefined)('the chat on a phone', () => {
  let browser: Browser
  let client: Client
  const openPhone = async (locale: Locale, id: string, width = widths[0] ?? 0): Promise<Page> => {
    const phone = { locale, viewport: { width, height }, hasTouch: true, isMobile: true }
    return signIn(browser, client, { ...phone, at: `chat/${id}` })
  }
  /** Turns the phone into each of the other ones, and returns the widths that scroll sideways. */
  const onEachScreen = async (page: Page, look: (width: number) => Promise<void>): Promise<readonly number[]> => {
    const scrolled: number[] = []
    for (const width of widths) {
      await page.setViewportSize({ width, height })
      await look(width)
      if (await scrollsSideways(page)) scrolled.push(width)
    }
    return scrolled
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

  it.each(locales)('has field, mode, Stop and Send on every screen while an answer comes, %s', async (locale) => {
    const id = await client.newSession()
    await client.post(`/api/sessions/${id}/chat`, { input: '[[slow ttft=20 chunks=400 gap=100]]', wait: false })
    const page = await openPhone(locale, id)
    const { field, stop, send } = names[locale]
    const stopButton = page.getByRole('button', { name: stop, exact: true })
    const sendButton = page.getByRole('button', { name: send, exact: true })
    const textbox = page.getByRole('textbox', { name: field })
    await stopButton.waitFor()
    const controls = [
      page.locator('.composer .icon-button').first(),
      page.locator('.composer .running select'),
      stopButton,
    ]
    const rows = new Map<number, number>()
    await onEachScreen(page, async (width) => {
      const boxes = await readBoxes(...controls)
      rows.set(width, new Set(boxes.map(({ y, height: high }) => Math.round((y + high / 2) / 20))).size)
    })
    expect(rows.get(390)).toBe(1)
    await textbox.fill('More')
    const whileRunning = await onEachScreen(page, async (width) => {
      for (const found of [textbox, page.locator('.composer .running select'), stopButton, sendButton])
        await expectOnScreen(found, width)
    })
    expect(whileRunning).toEqual([])
    await stopButton.click()
    await stopButton.waitFor({ state: 'detached' })
    expect(await onEachScreen(page, (width) => expectOnScreen(sendButton, width))).toEqual([])
    await leave(page)
  })

  itInTurn('clips long titles and tags in the list of all sessions', async () => {
    const width = 320
    const id = await client.newSession({ title: `A title that ${'goes on and '.repeat(4)}${'x'.repeat(35)}` })
    await client.send('PATCH', `/api/sessions/${id}`, { body: { tags: [`\u202E${'x'.repeat(49)}`] } })
    const page = await openPhone('en-US', id, width)
    await page.goto(`${origin}/#/sessions`)
    const card = page.locator('.list-of > li', { has: page.locator(`[data-session="${id}"]`) })
    await card.waitFor()
    for (const { x, width: wide } of await readBoxes(card, ...(await card.locator('button').all())))
      expect(x + wide).toBeLessThanOrEqual(width)
    const tag = card.locator('button.badge')
    expect(await tag.innerText()).toContain('⟨U+202E⟩')
    await tag.click()
    const filter = page.locator('.filters button')
    const [{ x, width: wide }] = await readBoxes(filter)
    expect(x + wide).toBeLessThanOrEqual(width)
    expect(await filter.innerText()).toMatch(/×$/)
    expect(await scrollsSideways(page)).toBe(false)
    await leave(page)
  })

  it.each(locales)('shows Deny on every screen, whatever the command, %s', async (locale) => {
    const id = await client.newSession({ settings: { approvals: { mode: 'manual' } } })
    const command = `rm -rf build; echo ${'x'.repeat(300)} ${'a b '.repeat(300)}`
    await client.post(`/api/sessions/${id}/chat`, {
      input: `[[call terminal {"command":"${command}"} then say Done]]`,
      wait: false,
    })
    const page = await openPhone(locale, id)
    const deny = page.getByRole('button', { name: names[locale].deny })
    expect(await onEachScreen(page, (width) => expectOnScreen(deny, width))).toEqual([])
    const card = page.getByRole('alertdialog', { name: names[locale].ask })
    expect(await card.locator('pre').innerText()).toBe(command)
    // A desktop at 200 %, and a phone on its side.
    for (const [width, high] of [
      [640, 370],
      [740, 360],
    ] as const) {
      await page.setViewportSize({ width, height: high })
      const [button, composer] = await readBoxes(deny, page.locator('.composer'))
      expect([button.y > 0, button.y + button.height <= composer.y, composer.y + composer.height <= high]).toEqual([
        true,
        true,
        true,
      ])
    }
    await client.post(`/api/sessions/${id}/stop`)
    await leave(page)
  })

  it('shows the command above why it is asked for, and Send above the keyboard however long the text', async () => {
    const id = await client.newSession({ settings: { approvals: { mode: 'manual' } } })
    const command = 'rm -rf build/a/rather/long/path/with/many/folders && rm -rf dist'
    const input = `[[call terminal {"command":"${command}"} then say Done]]`
    await client.post(`/api/sessions/${id}/chat`, { input, wait: false })
    const page = await openPhone('de-DE', id)
    const card = page.getByRole('alertdialog')
    await onEachScreen(page, async () => {
      const [asked, choices, facts] = await readBoxes(
        card.locator('pre'),
        card.locator('.choices'),
        card.locator('.facts'),
      )
      expect(asked.y).toBeGreaterThan(facts.y)
      expect(asked.y + asked.height).toBeLessThanOrEqual(choices.y)
    })
    await client.post(`/api/sessions/${id}/stop`)
    await page.getByRole('textbox', { name: names['de-DE'].field }).fill('Zeile\n'.repeat(30))
    // The height that a keyboard leaves.
    await page.setViewportSize({ width: 320, height: 340 })
    const [field, send] = await readBoxes(
      page.getByRole('textbox', { name: names['de-DE'].field }),
      page.getByRole('button', { name: names['de-DE'].send, exact: true }),
    )
    expect([field.y > 0, send.y + send.height <= 340]).toEqual([true, true])
    await leave(page)
  })

  itInTurn('scrolls wide tables sideways, breaks long words, and keeps the head in one line', async () => {
    const width = 320
    const id = await client.newSession({ title: 'Donaudampfschifffahrtsgesellschaft '.repeat(2).trim() })
    const cells = Array.from({ length: 9 }, (_, at) => `column ${at}`).join('|')
    const table = `|${cells}|\n|${'-|'.repeat(9)}\n|${cells}|`
    await client.chat(id, `${'w'.repeat(200)} [[say ${table}]]`)
    const page = await openPhone('de-DE', id, width)
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

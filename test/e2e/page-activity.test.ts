/** Tests in Chromium what the chat shows of the calls of tools, approvals and subagents. */

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstRows, itInTurn } from '../support/long.ts'
import { type Browser, chromium, launchBrowser, readBoxes } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { leave, signIn } from './support/page.ts'

const words = {
  'en-US': {
    sum: /^Wrote 12 files · ran 13 commands$/,
    allow: 'Allow once',
    deny: 'Deny',
    session: 'In this session',
    always: 'Always',
  },
  'de-DE': {
    sum: /^12 Dateien geschrieben · 13 Befehle ausgeführt$/,
    allow: 'Einmal erlauben',
    deny: 'Ablehnen',
    session: 'In dieser Sitzung',
    always: 'Immer',
  },
}
type Locale = keyof typeof words

describe.skipIf(chromium === undefined)('what tools do', () => {
  let browser: Browser
  let client: Client

  const open = async (locale: Locale, width: number, id: string): Promise<Page> => {
    return signIn(browser, client, { locale, viewport: { width, height: 640 }, at: `chat/${id}` })
  }

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
  })
  afterAll(async () => browser?.close())

  const looks: readonly (readonly [Locale, number])[] = [
    ['de-DE', 360],
    ['en-US', 1280],
  ]
  it.each(firstRows(1, looks))('is one line for 25 calls, which unfolds, %s, %i px', async (locale, width) => {
    const id = await client.newSession()
    const writes = Array.from({ length: 12 }, (_, at) => `write_file {"path":"f${at}.txt","content":"${at}"}`)
    const runs = Array.from({ length: 13 }, (_, at) => `terminal {"command":"echo line ${at}"}`)
    await client.chat(id, `[[call ${[...writes, ...runs].join(' + ')} then say All done.]]`)
    const page = await open(locale, width, id)
    await page.locator('.block.text', { hasText: 'All done.' }).waitFor()
    const group = page.locator('.block.calls')
    expect(await group.count()).toBe(1)
    const line = group.locator('.act > summary')
    expect(await line.locator('.clip').innerText()).toMatch(words[locale].sum)
    expect((await readBoxes(line))[0].height).toBeLessThan(50)
    expect(await line.locator('.note').innerText()).toMatch(/\d (?:ms|s)$/)
    await line.click()
    await expect.poll(() => group.locator('.tool').count()).toBe(25)
    const command = group.locator('.tool', { hasText: 'echo line 12' })
    await command.locator('summary').click()
    await command.locator('.term', { hasText: '$ echo line 12\nline 12' }).waitFor()
    const write = group.locator('.tool', { hasText: 'f3.txt' })
    await write.locator('summary').click()
    await write.locator('dt', { hasText: 'path' }).first().waitFor()
    // Results are fields, not JSON.
    expect(await write.locator('.call-details').innerText()).not.toMatch(/[{}]/)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    await leave(page)
  })

  itInTurn('keeps the colours of a command when its run has ended', async () => {
    const page = await open('de-DE', 360, await client.newSession())
    const field = page.getByRole('textbox', { name: 'Nachricht' })
    const command = String.raw`printf '\\033[31mred\\033[0m and plain\\n'`
    await field.fill(`[[call terminal {"command":"${command}"} then say Printed.]]`)
    await field.press('Enter')
    await page.getByText('Printed.', { exact: true }).waitFor()
    await page.locator('.end-of-run .actions').waitFor()
    await page.locator('.block.calls .tool > summary').click()
    await page.locator('.term .ansi-red', { hasText: /^red$/ }).waitFor()
    const colourOf = (selector: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).color`)
    expect(await colourOf('.term .ansi-red')).not.toBe(await colourOf('.term'))
    await leave(page)
  })

  itInTurn('is the call itself when there is one, and says that it failed', async () => {
    const id = await client.newSession()
    await client.chat(id, '[[call read_file {"path":"missing.txt"} then say Not there.]]')
    const page = await open('en-US', 1280, id)
    const summary = page.locator('.block.calls > .tool > summary')
    await summary.waitFor()
    expect((await summary.innerText()).replace(/\s+/g, ' ')).toMatch(/^Read a file missing.txt Failed/)
    await leave(page)
  })

  const screens: readonly (readonly [Locale, number])[] = [
    ['de-DE', 320],
    ['en-US', 1280],
    ['en-US', 320],
    ['de-DE', 1280],
  ]
  it.each(firstRows(2, screens))(
    'shows a command that waits once, above its choices, %s, %i px',
    async (locale, width) => {
      const id = await client.newSession({ settings: { approvals: { mode: 'manual' } } })
      const command = `rm -rf build-once ${'and more '.repeat(40)}`
      const input = `[[call terminal {"command":"${command}"} then say Done]]`
      await client.post(`/api/sessions/${id}/chat`, { input, wait: false })
      const page = await open(locale, width, id)
      const card = page.getByRole('alertdialog')
      const say = words[locale]
      await card.getByRole('button', { name: say.allow }).waitFor()
      expect(await page.locator('.list pre, .list code, .pending pre').getByText('build-once').count()).toBe(1)
      expect(await page.locator('.block.calls').count()).toBe(0)
      expect(await page.locator('.progress').count()).toBe(0)
      const names = [say.allow, say.session, say.always, say.deny]
      const [facts, choices, ...buttons] = await readBoxes(
        card.locator('.facts'),
        card.locator('.choices'),
        ...names.map((name) => card.getByRole('button', { name })),
      )
      expect(facts.height).toBeGreaterThan(60)
      expect(choices.y).toBeGreaterThanOrEqual(facts.y + facts.height)
      for (const { x, y, width: wide, height } of buttons) {
        expect(x >= 0 && x + wide <= width).toBe(true)
        expect(y + height).toBeLessThanOrEqual(640)
      }
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      await client.post(`/api/sessions/${id}/stop`)
      await leave(page)
    },
  )

  itInTurn('shows subagents below their call, with their state', async () => {
    const id = await client.newSession()
    await client.chat(id, '[[call delegate_task {"goal":"[[say looked it up]]"} then say Delegated.]]')
    const page = await open('de-DE', 1280, id)
    const link = page.locator('.block.calls .trail .subagent')
    await link.waitFor()
    expect(await link.innerText()).toMatch(/^Subagent[\s\S]*Fertig$/)
    await leave(page)
  })
})

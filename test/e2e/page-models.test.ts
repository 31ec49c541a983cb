/** Tests in Chromium how people choose models, add providers and test keys. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstRows, itInTurn } from '../support/long.ts'
import { type Browser, chromium, launchBrowser, readBoxes } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { audit, fieldOf, leave, type Locale, openPage } from './support/page.ts'

const words = {
  'en-US': {
    model: /^Model: /,
    search: 'Search',
    sees: 'sees',
    favourite: 'Favourite: openai/gpt-4.1',
    unknown: 'price unknown',
    nearest: 'No usable model has this name. The nearest are:',
  },
  'de-DE': {
    model: /^Modell: /,
    search: 'Suchen',
    sees: 'sieht',
    favourite: 'Favorit: openai/gpt-4.1',
    unknown: 'Preis unbekannt',
    nearest: 'Kein nutzbares Modell heißt so. Am ähnlichsten sind:',
  },
} as const

const screens = [
  ['de-DE', 320],
  ['en-US', 1280],
  ['de-DE', 390],
] as const

describe.skipIf(chromium === undefined)('models', () => {
  let browser: Browser
  let client: Client
  const errors: string[] = []
  const signIn = (locale: Locale, width: number) => openPage(browser, client, { locale, width, errors })

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
    const models = {
      'openai/gpt-4.1': { images: true, prices: { input: 2, output: 8 } },
      'openai/blind': { images: false, context_window: 70_000 },
    }
    await client.send('PATCH', '/api/settings', { body: { models } })
  })
  afterAll(async () => browser?.close())

  it.each(firstRows(1, screens))(
    'are found by words and abilities, with window, price and favourites, %s, %i px',
    async (locale, width) => {
      const { model, search, sees, favourite, unknown, nearest } = words[locale]
      const page = await signIn(locale, width)
      const picker = page.getByRole('button', { name: model })
      await picker.click()
      const dialog = page.getByRole('dialog')
      const rows = dialog.locator('.model-row')
      await rows.filter({ hasText: 'openai/blind' }).filter({ hasText: unknown }).waitFor()
      const [box] = await readBoxes(dialog)
      expect([box.x >= 0, box.x + box.width <= width]).toEqual([true, true])
      const controls = await readBoxes(...(await dialog.locator(':is(button, input):visible').all()))
      expect(controls.filter((one) => one.x + one.width > box.x + box.width)).toEqual([])
      await audit(page)
      await dialog.getByRole('button', { name: sees, exact: true }).click()
      await rows.filter({ hasText: 'openai/blind' }).waitFor({ state: 'detached' })
      expect(await rows.filter({ hasText: 'openai/gpt-4.1' }).innerText()).toMatch(
        /1[.,]047[.,]576 .*2[.,]00.*8[.,]00/s,
      )
      await dialog.getByRole('button', { name: favourite }).click()
      await dialog.getByRole('button', { name: sees, exact: true }).click()
      await expect.poll(() => rows.nth(1).innerText()).toContain('openai/gpt-4.1')
      await dialog.getByRole('searchbox', { name: search }).fill('openai/gtp-4.1')
      await dialog.getByText(nearest).waitFor()
      await dialog.getByRole('searchbox', { name: search }).fill('4.1')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await dialog.waitFor({ state: 'detached' })
      expect(await picker.innerText()).toBe('gpt-4.1')
      const sent = page.waitForRequest((request) => request.url().endsWith('/chat') && request.method() === 'POST')
      await fieldOf(page, locale).fill('Hello')
      const [send, button] = await readBoxes(page.locator('.composer .send'), picker)
      expect([button.x >= 0, send.x + send.width <= width, button.x + button.width <= send.x]).toEqual([
        true,
        true,
        true,
      ])
      await page.locator('.composer .send').click()
      expect((await sent).postDataJSON()).toMatchObject({ model: 'openai/gpt-4.1' })
      await page.locator('.block.text').waitFor()
      await page.reload()
      await picker.click()
      await expect.poll(() => rows.nth(1).innerText()).toContain('openai/gpt-4.1')
      await leave(page)
    },
  )

  itInTurn('of a subscription can be used after a code was confirmed elsewhere', async () => {
    const page = await signIn('en-US', 1280)
    const pending = {
      status: 'pending',
      provider: 'copilot',
      sign_in: 'sealed',
      user_code: 'ABCD-1234',
      verification_url: 'https://github.com/login/device',
      interval: 0.05,
    }
    const asked: object[] = []
    await page.route('**/api/credentials/oauth', (route) => {
      asked.push(route.request().postDataJSON() as object)
      return route.fulfill({ json: asked.length < 3 ? pending : { status: 'done', provider: 'copilot' } })
    })
    await page.evaluate("location.hash = '#/models'")
    const form = page.locator('form', { hasText: 'Use a subscription' })
    await form.getByRole('combobox').selectOption({ label: 'GitHub Copilot' })
    await form.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Saved').first().waitFor()
    expect(asked).toEqual([{ provider: 'copilot' }, { sign_in: 'sealed' }, { sign_in: 'sealed' }])
    await leave(page)
  })

  itInTurn('of a server of one’s own are fetched with their windows and prices, and can be chosen', async () => {
    const page = await signIn('en-US', 1280)
    const data = [
      { id: 'small-1', context_window: 128_000, max_output: null, prices: { input: 0.1, output: 0.2 }, abilities: {} },
      { id: 'other', context_window: null, max_output: null, prices: null, abilities: {} },
    ]
    await page.route('**/api/settings/models/discover', (route) =>
      route.fulfill({ json: { base_url: 'https://llm.example.com/v1', data } }),
    )
    await page.evaluate("location.hash = '#/models'")
    await page.locator('summary', { hasText: 'Add a provider of your own' }).click()
    const form = page.getByRole('form', { name: 'Add a provider of your own' })
    await form.getByLabel('Name').fill('mine')
    await form.getByLabel('Address').fill('https://llm.example.com')
    await form.getByRole('button', { name: 'Fetch its models' }).click()
    await form.getByText('128,000 tokens · $0.10 / $0.20').waitFor()
    await form.getByText('window unknown · price unknown').waitFor()
    await audit(page)
    await form.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('cell', { name: 'custom:mine/small-1' }).waitFor()
    expect((await client.get('/api/settings')).json).toMatchObject({
      providers: { 'custom:mine': { base_url: 'https://llm.example.com/v1' } },
      models: { 'custom:mine/small-1': { context_window: 128_000, prices: { input: 0.1, output: 0.2 } } },
    })
    await page.getByRole('button', { name: 'Choose a model' }).click()
    await page.getByRole('dialog').locator('.model-row', { hasText: 'custom:mine/small-1' }).click()
    await page.getByText('Saved.').first().waitFor()
    await expect
      .poll(async () => (await client.get('/api/settings')).json.model)
      .toEqual({ default: 'custom:mine/small-1' })
    await client.send('PATCH', '/api/settings', { body: { model: null } })
    await leave(page)
  })

  itInTurn('answer for a key that is tested, which leaves no session behind', async () => {
    const all = async () => (await client.get('/api/sessions?archived=all')).json.data.length
    const before = await all()
    const page = await signIn('en-US', 1280)
    await page.evaluate("location.hash = '#/models'")
    const form = page.getByRole('form', { name: 'Add a provider key' })
    await form.getByLabel('Provider').selectOption('openai')
    await form.getByLabel('Key').fill('sk-of-my-own')
    await form.getByRole('button', { name: 'Add and test' }).click()
    await page.getByText('Saved, and openai/').waitFor()
    await expect.poll(all).toBe(before)
    expect(await page.locator('.side [data-session]').count()).toBe(before)
    await leave(page)
  })

  it('report nothing to the console', () => expect(errors).toEqual([]))
})

/** Tests in Chromium how people find their way back: to a session, and to a place in it. */

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstRows } from '../support/long.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { audit, fieldOf, fits, leave, openPage, openScreen, origin } from './support/page.ts'

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

const projectWords = {
  'en-US': {
    name: 'Name',
    add: 'Add',
    save: 'Save',
    send: 'Send',
    menu: 'Menu',
    more: words['en-US'].more,
    instructions: 'Instructions',
    addMember: 'Add a member',
    everybody: 'Everybody with a key',
    newChat: 'New chat',
    project: 'Project',
    schedule: 'Schedule',
    prompt: 'Prompt',
    newJob: 'New job',
    addChannel: 'Give it to a channel',
  },
  'de-DE': {
    name: 'Name',
    add: 'Hinzufügen',
    save: 'Speichern',
    send: 'Senden',
    menu: 'Menü',
    more: words['de-DE'].more,
    instructions: 'Anweisungen',
    addMember: 'Mitglied hinzufügen',
    everybody: 'Alle mit einem Schlüssel',
    newChat: 'Neuer Chat',
    project: 'Projekt',
    schedule: 'Zeitplan',
    prompt: 'Aufgabe',
    newJob: 'Neuer Auftrag',
    addChannel: 'Einem Kanal geben',
  },
} as const

const screens = [
  ['de-DE', 360],
  ['en-US', 1280],
] as const
const projectScreens = [
  ['de-DE', 320],
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
      await leave(page)
    },
  )

  it.each(firstRows(1, projectScreens))(
    'belongs to a project with instructions, files and members, %s, %i px',
    async (locale, width) => {
      const say = projectWords[locale]
      const tenant = (await newTenant(owner)).client
      const errors: string[] = []
      const secrets = { bot_token: '4711:abcdefghijklmnop' }
      await tenant.post('/api/channels', { platform: 'telegram', name: 'Ours', secrets })
      const page = await openPage(browser, tenant, { locale, width, errors })
      await openScreen(page, 'projects')
      await page.getByLabel(say.name).fill('Family trips')
      await page.getByRole('button', { name: say.add, exact: true }).click()
      await page.getByLabel(say.instructions, { exact: false }).last().fill('Answer in metric units.')
      await page.getByRole('button', { name: say.save }).click()
      await page
        .locator('.screen input[type=file]')
        .setInputFiles([{ name: 'budget.csv', mimeType: 'text/csv', buffer: Buffer.from('hotel,120') }])
      await page.locator('li', { hasText: 'budget.csv' }).waitFor()
      await page.getByRole('combobox', { name: say.addMember }).selectOption('role *')
      await page.getByRole('button', { name: say.add, exact: true }).last().click()
      await page.locator('li', { hasText: say.everybody }).waitFor()
      await audit(page)
      expect(await fits(page)).toBe(true)
      await page.getByLabel(say.schedule, { exact: false }).fill('every 9h')
      await page.getByLabel(say.prompt, { exact: true }).fill('What has become cheaper?')
      await page.getByRole('form', { name: say.newJob }).getByRole('button', { name: say.add, exact: true }).click()
      await page.locator('a', { hasText: 'What has become cheaper?' }).waitFor()
      await page.getByRole('combobox', { name: say.addChannel }).selectOption({ label: 'Ours' })
      await page.locator('li', { hasText: 'Telegram' }).waitFor()
      const [{ settings }] = (await tenant.get('/api/channels')).json.data
      const [job] = (await tenant.get(`/api/jobs?project=${settings.project}`)).json.data
      expect(job).toMatchObject({ prompt: 'What has become cheaper?' })
      expect(await fits(page)).toBe(true)
      await page.getByRole('button', { name: say.newChat }).click()
      expect(await page.getByRole('combobox', { name: say.project, exact: true }).inputValue()).toMatch(/^proj_/)
      await fieldOf(page, locale).fill('[[call read_file {"path":"project/budget.csv"} then say It is 120.]]')
      await page.getByRole('button', { name: say.send, exact: true }).click()
      await page.locator('.block.text', { hasText: 'It is 120.' }).waitFor()
      await page.locator('.chat-head a', { hasText: 'Family trips' }).waitFor()
      if (width < 800) await page.getByRole('button', { name: say.menu }).click()
      const group = page.locator('.side .project details')
      if (!(await group.getAttribute('open').then((open) => open !== null))) await group.locator('summary').click()
      await group.locator('[data-session]').waitFor()
      expect(await page.locator('.side [data-session]').count()).toBe(1)
      await audit(page)
      if (width < 800) await page.keyboard.press('Escape')
      const { json } = await tenant.get('/api/sessions')
      await page.goto(`${origin}/#/chat/${json.data[0].id}`)
      await page.getByRole('button', { name: say.more }).click()
      await page.getByRole('dialog').getByRole('combobox', { name: say.project, exact: true }).selectOption('')
      await expect.poll(async () => (await tenant.get('/api/sessions')).json.data[0].project_id).toBe(null)
      expect(errors).toEqual([])
      await leave(page)
    },
  )
})

/** Tests the screens beside the chat in Chromium, against the shared server. */

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, eventually, newTenant } from './support/client.ts'
import { owner, server } from './support/here.ts'
import { findViolations, leave, openScreen, signIn } from './support/page.ts'
import { callsOf } from './support/telegram-server.ts'

describe.skipIf(chromium === undefined)('the screens of the page in Chromium', () => {
  let browser: Browser
  let client: Client
  let page: Page
  const errors: string[] = []

  const open = (screen: string) => openScreen(page, screen)
  const importSession = async (title: string) =>
    (
      await client.post('/api/sessions/import', {
        format: 'talaria.session',
        version: 1,
        session: { title },
        messages: [{ role: 'user', content: title }],
      })
    ).json.id

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
    page = await signIn(browser, client, { errors })
  })
  afterAll(async () => {
    await leave(page)
    await browser?.close()
  })

  it('renames, archives and deletes sessions, by buttons and by keys', async () => {
    for (const title of ['First', 'Second', 'Third']) await importSession(title)
    await open('sessions')
    const main = page.getByRole('main')
    await main.getByRole('button', { name: 'Rename: First' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('Begun')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await main.getByRole('link', { name: 'Begun' }).waitFor()
    await main.getByRole('link', { name: 'Begun' }).focus()
    await page.keyboard.press('e')
    await main.getByRole('link', { name: 'Begun' }).waitFor({ state: 'detached' })
    await page.keyboard.press('j')
    await page.keyboard.press('#')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await eventually(
      () => main.locator('[data-session]').count(),
      (count) => count === 1,
    )
    await page.getByRole('search').getByLabel('Archive').selectOption('true')
    await main.getByRole('link', { name: 'Begun' }).waitFor()
    await page.getByRole('search').getByLabel('Archive').selectOption('all')
    await main.getByLabel('Choose all').check()
    await main.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await main.getByText('No sessions yet.').waitFor()
    expect((await client.get('/api/sessions?archived=all')).json.data).toEqual([])
  })

  itInTurn('shows the facets of sessions, changes their tags, and filters by one', async () => {
    const { id } = (await client.post('/api/sessions', { title: 'Bees' })).json
    await client.post('/api/sessions', { title: 'Wasps' })
    await client.post(`/api/sessions/${id}/chat`, { input: '[[say They make **honey**.]]' })
    await open('sessions')
    const main = page.getByRole('main')
    const row = main.locator('li', { hasText: 'Bees' })
    await row.getByText('They make honey.').waitFor()
    await row.getByText('Messages: 2').waitFor()
    await main.getByRole('button', { name: 'Tags: Bees' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('field work, , insects')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await row.getByRole('button', { name: 'Tag “insects”' }).click()
    await main.getByRole('link', { name: 'Wasps' }).waitFor({ state: 'detached' })
    await main.getByRole('button', { name: 'Remove: Tag “insects”' }).click()
    await main.getByRole('link', { name: 'Wasps' }).waitFor()
    expect((await client.get('/api/sessions?tag=field%20work')).json.data).toHaveLength(1)
    const ids = (await client.get('/api/sessions')).json.data.map((one: { id: string }) => one.id)
    await client.post('/api/sessions/delete', { ids })
  })

  itInTurn('exports a session and imports it again', async () => {
    await importSession('Carried')
    await open('sessions')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export: Carried' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('Carried.json')
    await page.locator('main input[type=file]').setInputFiles(await download.path())
    await page.getByText('Imported.').waitFor()
    await page.locator('.block.user', { hasText: 'Carried' }).waitFor()
    expect((await client.get('/api/sessions?q=Carried')).json.data).toHaveLength(2)
  })

  it('finds screens and sessions in the palette by keys alone', async () => {
    await importSession('Looked for')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').fill('usa')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Usage' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('l')
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('combobox').fill('Looked')
    await page.getByRole('option', { name: 'Looked for' }).first().waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.block.user', { hasText: 'Looked for' }).waitFor()
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  })

  itInTurn('opens a hit of the search at its message, marked, and loads on to the end', async () => {
    await client.chat(await client.newSession(), 'The kingfisher waits.')
    await eventually(
      async () => (await client.get('/api/search?q=kingfisher')).json.data.length,
      (count) => count > 0,
    )
    const search = page.getByRole('searchbox', { name: 'Search' }).first()
    await search.fill('kingfisher')
    await page.getByRole('region', { name: 'In messages' }).getByRole('link').first().click()
    const marked = (hasText: string) => page.locator('.list [aria-current=true]', { hasText }).waitFor()
    await marked('kingfisher')
    await search.fill('')

    const messages = Array.from({ length: 300 }, (_, at) => ({
      role: at % 2 ? 'assistant' : 'user',
      content: `entry ${at}`,
    }))
    const imported = { format: 'talaria.session', version: 1, session: { title: 'Long' }, messages }
    const { id } = (await client.post('/api/sessions/import', imported)).json
    await page.evaluate(`location.hash = '#/chat/${id}/102'`)
    await marked('entry 101')
    const isInView = `(() => {
      const [list, one] = ['.list', '.list [aria-current]'].map((name) => document.querySelector(name).getBoundingClientRect())
      return one.top >= list.top && one.bottom <= list.bottom
    })()`
    await eventually(
      () => page.evaluate(isInView),
      (isIn) => isIn === true,
    )
    const end = page.getByText('entry 299', { exact: true })
    expect(await end.count()).toBe(0)
    const newest = () => page.locator('.list article').last().innerText()
    while (!(await end.count())) {
      const before = await newest()
      await page
        .locator('.list')
        .evaluate((list) => void (list as unknown as { scrollTo(x: number, y: number): void }).scrollTo(0, 1e9))
      await eventually(newest, (text) => text !== before)
      expect(await page.locator('.list article').count()).toBeLessThanOrEqual(200)
    }
    await page.evaluate(`location.hash = '#/chat/${id}/12'`)
    await marked('entry 11')
    await page.getByRole('textbox', { name: 'Message' }).fill('and now?')
    await page.keyboard.press('Enter')
    await page.locator('.block.user', { hasText: 'and now?' }).waitFor()
    await end.waitFor()
  })

  itInTurn('shows the steps of a run, their calls, and tokens by model', async () => {
    const id = await client.newSession()
    await client.chat(
      id,
      '[[call write_file {"path":"a.html","content":"<h1>Seen</h1><script>document.title=1</script>"} then say written]]',
    )
    const [message] = await client.messages(id)
    await open(`run/${message?.run_id}`)
    await page.locator('li', { hasText: 'write_file' }).last().waitFor()
    await page.locator('.screen .badge.good', { hasText: 'Completed' }).waitFor()
    await expect.poll(() => page.locator('tbody tr').count()).toBeGreaterThan(0)
  })

  it('shows an HTML file as a page without scripts, moves it, and says when it has changed', async () => {
    const id = await client.newSession()
    const page1 = '<h1>Seen</h1><script>document.body.textContent = "ran"</script>'
    await client.send('PUT', `/api/sessions/${id}/files/a.html`, { raw: page1 })
    await open(`files/${id}`)
    await page.locator('.tree a', { hasText: 'a.html' }).click()
    const frame = page.frameLocator('iframe')
    await expect.poll(() => frame.locator('body').innerText()).toBe('Seen')
    // The browser says that it has blocked the script.
    expect(errors.splice(0).every((error) => error.includes('sandboxed'))).toBe(true)
    await page.getByRole('button', { name: 'Source' }).click()
    await page.getByRole('textbox', { name: 'a.html' }).fill('mine')
    await client.send('PUT', `/api/sessions/${id}/files/a.html`, { raw: 'theirs' })
    await page.keyboard.press('Control+s')
    await page.getByRole('dialog').getByRole('button', { name: 'Overwrite' }).click()
    await page.getByText('Saved.').first().waitFor()
    expect(errors.splice(0).every((error) => error.includes('412'))).toBe(true)
    await page.getByRole('button', { name: 'Move' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('b.html')
    await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click()
    await page.locator('.tree a', { hasText: 'b.html' }).waitFor()
    expect((await client.get(`/api/sessions/${id}/files/b.html`)).text).toBe('mine')
  })

  itInTurn('saves settings as JSON after their diff, and fallback models', async () => {
    await client.send('PATCH', '/api/settings', { body: { timezone: 'UTC' } })
    await open('settings')
    await page.locator('summary', { hasText: 'As JSON' }).click()
    await page.getByRole('textbox', { name: 'As JSON' }).fill('{"instructions":"Be brief."}')
    await page.getByRole('button', { name: 'Review the changes' }).click()
    await page.locator('.diff .removed', { hasText: 'timezone' }).waitFor()
    await page.locator('.diff .added', { hasText: 'Be brief.' }).waitFor()
    await page.locator('details').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').first().waitFor()
    await open('models')
    const fallbacks = page.getByRole('form', { name: 'Fallback models' })
    await fallbacks.getByRole('textbox').fill('demo/agent')
    await fallbacks.getByRole('button', { name: 'Save' }).click()
    await eventually(
      async () => (await client.get('/api/settings')).json,
      (settings) => JSON.stringify(settings.fallback_providers) === '["demo/agent"]',
    )
    const { json } = await client.get('/api/settings')
    expect(json).toEqual({ instructions: 'Be brief.', fallback_providers: ['demo/agent'] })
  })

  itInTurn('guides through a channel and adds a webhook', async () => {
    await open('channels')
    await page.getByLabel('Platform').first().selectOption('email')
    await page.getByLabel('Address of the agent').waitFor()
    await page.getByLabel('Platform').first().selectOption('telegram')
    await page.getByText('@BotFather').first().waitFor()
    const form = page.getByRole('form', { name: 'New webhook' })
    await form.getByLabel('Name').fill('Builds')
    await form.getByLabel('Secret').fill('0123456789abcdef')
    await form.getByLabel(/Message/).fill('{action}')
    await form.getByRole('button', { name: 'Add' }).click()
    await page.locator('.card strong', { hasText: 'Builds' }).waitFor()
    expect((await client.get('/api/webhooks')).json.data).toMatchObject([{ name: 'Builds', prompt: '{action}' }])
  })

  itInTurn(
    'connects a bot of Telegram, sees its first message arrive, and lets the person in by the code',
    async () => {
      const token = `4711:${crypto.randomUUID()}`
      const bodiesOf = async (method: string) =>
        (await callsOf(server.telegramUrl, token)).filter((one) => one.method === method).map(({ body }) => body)
      const untilSent = (pattern: RegExp) =>
        eventually(
          async () => (await bodiesOf('sendMessage')).map(({ text }) => pattern.exec(String(text))).find(Boolean),
          Boolean,
        )
      await open('channels')
      const form = page.getByRole('form', { name: 'New channel' })
      await form.getByLabel('Platform').selectOption('telegram')
      await form.getByLabel('bot_token').fill(token)
      await form.getByLabel('Who may write or call').fill('4712, 4713')
      await form.getByLabel('Drafts for private chats').selectOption('On')
      await form.getByRole('button', { name: 'Add' }).click()
      await page.getByText('This page waits for the message').waitFor()
      const [{ url, secret_token: secret } = {}] = await bodiesOf('setWebhook')
      let update = 0
      const write = async (text: string) => {
        const person = { id: 77, is_bot: false, first_name: 'Ada' }
        const message = { message_id: ++update, date: 1, chat: { id: 77, type: 'private' }, from: person, text }
        const headers = { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': String(secret) }
        const body = JSON.stringify({ update_id: update, message })
        const { status } = await fetch(String(url).replace('localhost', '127.0.0.1'), { method: 'POST', headers, body })
        expect(status).toBe(200)
      }
      await write('hello')
      const [code = ''] = (await untilSent(/\b[A-Z0-9]{8}\b/)) ?? []
      await page.getByText('Arrived: the channel works.').waitFor()
      const ada = page.locator('.card', { hasText: 'Ada' })
      await ada.getByText('Waiting').waitFor()
      const people = page.getByRole('form', { name: 'Approve a person' })
      await people.getByLabel('Platform').selectOption('telegram')
      await people.getByLabel('Pairing code').fill(code)
      await people.getByRole('button', { name: 'Approve' }).click()
      await ada.getByText('Approved').waitFor()
      await write('[[say Welcome, Ada]]')
      expect(await untilSent(/^Welcome, Ada$/)).toBeTruthy()

      const readWriters = async () =>
        (await client.get('/api/channels')).json.data.map(
          (one: { settings: { allow_users: string[] } }) => one.settings.allow_users,
        )
      expect(await readWriters()).toEqual([['4712', '4713']])
      expect((await client.get('/api/channels')).json.data).toMatchObject([{ settings: { secretary: true } }])
      await page
        .locator('li.card', { hasText: 'telegram' })
        .getByRole('button', { name: 'Who may write or call' })
        .click()
      const writers = page.getByRole('form', { name: 'Who may write or call' })
      await writers.getByRole('textbox').fill('4713,, 4714 ')
      await writers.getByRole('button', { name: 'Save' }).click()
      await writers.waitFor({ state: 'detached' })
      expect(await readWriters()).toEqual([['4713', '4714']])
    },
  )

  itInTurn('changes a job, and a skill after its diff', async () => {
    await client.post('/api/jobs', { name: 'Report', schedule: 'every 2h', prompt: 'Say what is new.' })
    await open('jobs')
    await page.getByRole('button', { name: 'Edit: Report' }).click()
    const form = page.getByRole('form', { name: 'Edit: Report' })
    await form.getByLabel('Schedule').fill('every 3h')
    await form.getByRole('button', { name: 'Save' }).click()
    await page.locator('.card code', { hasText: '3h' }).waitFor()
    const { json } = await client.get('/api/jobs')
    expect(json.data).toMatchObject([{ name: 'Report', schedule: 'every 3h', prompt: 'Say what is new.' }])
    const content = (line: string) => `---\nname: tea\ndescription: Makes tea.\n---\n\n${line}\n`
    await client.post('/api/skills', { name: 'tea', content: content('Boil water.') })
    await open('skills/tea')
    const skill = page.getByRole('form', { name: 'SKILL.md' })
    await skill.getByRole('textbox').fill(content('Boil fresh water.'))
    await skill.getByRole('button', { name: 'Review the changes' }).click()
    await skill.locator('.diff .removed', { hasText: 'Boil water.' }).waitFor()
    expect((await client.get('/api/skills/tea')).json.content).toContain('Boil water.')
    await skill.getByRole('button', { name: 'Save' }).click()
    await eventually(
      async () => (await client.get('/api/skills/tea')).json.content,
      (text) => text.includes('Boil fresh water.'),
    )
  })

  itInTurn('says before a rollback what it undoes, and goes through files by arrow keys', async () => {
    const id = await client.newSession()
    await client.chat(id, '[[call write_file {"path":"one.md","content":"# 1"} then say written]]')
    await client.chat(id, '[[call write_file {"path":"two.md","content":"# 2"} then say written]]')
    await open(`files/${id}`)
    const { Buffer } = globalThis
    await page
      .locator('.tree input[type=file]')
      .setInputFiles({ name: 'zebra.txt', mimeType: 'text/plain', buffer: Buffer.from('stripes') })
    await page.locator('.tree a', { hasText: 'zebra.txt' }).waitFor()
    expect((await client.get(`/api/sessions/${id}/files/zebra.txt`)).text).toBe('stripes')
    await page.locator('.tree a', { hasText: 'one.md' }).focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'two.md' }).waitFor()
    await client.send('PUT', `/api/sessions/${id}/files/sum.py`, { raw: 'def add(x):\n    return x + 1\n' })
    await open(`files/${id}/file:sum.py`)
    await page.locator('.preview .code-keyword', { hasText: 'def' }).waitFor()
    await page.getByRole('button', { name: 'Source' }).click()
    const source = page.getByRole('textbox', { name: 'sum.py' })
    await source.fill('pass')
    await page.locator('.tree a', { hasText: 'two.md' }).click()
    await page.getByRole('heading', { name: 'two.md' }).waitFor()
    await page.locator('.tree a', { hasText: 'sum.py' }).click()
    // Unsaved text is not hidden behind the preview.
    await expect.poll(() => source.inputValue()).toBe('pass')
    await source.press('Control+s')
    // The word for a saved file may still be that of the file before.
    await page.getByText('Not saved yet.').waitFor({ state: 'detached' })
    expect((await client.get(`/api/sessions/${id}/files/sum.py`)).text).toBe('pass')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.locator('.preview .code', { hasText: 'pass' }).waitFor()
    await page.getByRole('button', { name: 'Changes', exact: true }).click()
    await page.getByRole('button', { name: 'Roll back' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('two.md +1').waitFor()
    expect(await dialog.innerText()).not.toContain('one.md')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
  })

  itInTurn('assigns mail addresses to a tenant, shows what is refused, and takes them back', async () => {
    const { id: tenant } = await newTenant(owner)
    const assigned = async () => (await owner.get(`/api/admin/tenants/${tenant}`)).json.mail
    const own = await signIn(browser, owner, { errors })
    await openScreen(own, 'owner')
    const card = own.locator('li.card', { hasText: tenant })
    const form = card.getByRole('form', { name: `Mail addresses: ${tenant}` })
    const save = async (text: string) => {
      await form.getByRole('textbox').fill(text)
      await form.getByRole('button', { name: 'Save' }).click()
    }
    await card.getByText('Mail addresses', { exact: true }).first().click()
    await save('agent@example.com\n@team.example.com, agent@example.com\n')
    await expect.poll(assigned).toEqual(['agent@example.com', '@team.example.com'])
    await card.locator('summary .badge', { hasText: '2' }).waitFor()
    await expect.poll(() => form.getByRole('textbox').inputValue()).toBe('agent@example.com\n@team.example.com')
    const seen = errors.length
    await save('no address')
    await form.getByRole('alert').waitFor()
    expect(errors.splice(seen).join()).toContain('400')
    expect(await assigned()).toHaveLength(2)
    await save('')
    await expect.poll(assigned).toEqual([])
    await leave(own)
  })

  itInTurn('filters the audit log', async () => {
    const name = `audited-${Date.now()}`
    await owner.post('/api/skills', { name, content: `---\nname: ${name}\ndescription: Tea.\n---\n\nBoil.\n` })
    await owner.send('DELETE', `/api/skills/${name}`)
    await eventually(
      async () => (await owner.get('/api/audit?kind=skill')).json.data.length,
      (count) => count >= 2,
    )
    const own = await signIn(browser, owner, { errors })
    await openScreen(own, 'owner')
    const log = own.getByRole('region', { name: 'Audit log' })
    await log.getByLabel('Action').selectOption('skill')
    const kinds = () => log.locator('li strong').allInnerTexts()
    await eventually(kinds, (all) => all.length >= 2 && all.every((kind) => kind.startsWith('skill.')))
    await log.getByLabel('By whom').fill('key:none')
    await log.getByLabel('By whom').press('Enter')
    await log.getByText('No entries.').waitFor()
    await expect.poll(kinds).toEqual([])
    await leave(own)
  })

  itInTurn('reports usage by two groups', async () => {
    await client.chat(await client.newSession(), '[[say Used.]]')
    await open('usage')
    await page.getByLabel('Group by').selectOption('day,model')
    await page.locator('tbody td', { hasText: ' · ' }).first().waitFor()
    await expect.poll(() => page.getByText('Time zone').count()).toBe(1)
  })

  itInTurn('has no violation that axe finds in the palette', async () => {
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('option').first().waitFor()
    expect(await findViolations(page)).toEqual([])
    await page.keyboard.press('Escape')
  })

  it('reports nothing to the console', () => expect(errors).toEqual([]))
})

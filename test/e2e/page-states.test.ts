/** Tests in Chromium that runs, jobs and channels say in words what they do, and are not shown as good when they fail. */

import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { readProgram } from '../../web/model/mcp-program.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, eventually, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { fits, leave, openScreen, signIn as open } from './support/page.ts'

describe.skipIf(chromium === undefined)('the state of runs, jobs and channels', () => {
  let browser: Browser
  let client: Client

  const signIn = (locale: string, width = 1280) => open(browser, client, { locale, viewport: { width, height: 740 } })
  const badges = (page: Page) => page.locator('.screen .badge').allInnerTexts()

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
  })
  afterAll(async () => browser?.close())

  it('says in German what happened in a run, and why one has failed', async () => {
    const id = await client.newSession()
    const input = '[[status 429 retry-after=1 times=1 nonce=states]] [[say Da]]'
    await client.chat(id, input)
    const [message] = await client.messages(id)
    const page = await signIn('de-DE', 320)
    await openScreen(page, `run/${message?.run_id}`)
    await page.locator('.badge.good', { hasText: 'Fertig' }).waitFor()
    const text = await page.locator('.screen').innerText()
    expect(text).toMatch(/Wartete \d+\.\d s/)
    expect(text).toContain('zu viele Anfragen in kurzer Zeit')
    expect(text).not.toMatch(/completed|answered|\bwait\b|\brate\b|approval\.|run\./)
    expect(await fits(page)).toBe(true)

    const asked = await client.newSession()
    await client.post(`/api/sessions/${asked}/chat`, {
      input: '[[call terminal {"command":"rm -rf build"} then say gone]]',
      wait: false,
    })
    await eventually(
      async () => (await client.get('/api/approvals')).json.data,
      (data) => data.length > 0,
    )
    const [first] = await client.messages(asked)
    await openScreen(page, `run/${first?.run_id}`)
    await page.getByText('Fragte, ob terminal erlaubt ist').waitFor()
    await page.locator('.badge.warn', { hasText: 'Wartet auf dich' }).waitFor()
    const [{ id: approval }] = (await client.get('/api/approvals')).json.data
    await openScreen(page, 'inbox')
    await page.locator('.screen').getByText('rm würde build und alles darin entfernen').waitFor()
    await openScreen(page, `run/${first?.run_id}`)
    await client.post(`/api/approvals/${approval}`, { decision: 'deny' })
    await page.getByText('Deine Entscheidung: abgelehnt').waitFor()
    await page.locator('.badge.good', { hasText: 'Fertig' }).waitFor()

    const failing = await client.newSession()
    await client.chat(failing, '[[status 400 times=9 nonce=states2]] [[say never]]')
    const [last] = await client.messages(failing)
    await openScreen(page, `run/${last?.run_id}`)
    await page.locator('.badge.bad', { hasText: 'Fehlgeschlagen' }).waitFor()
    expect(await page.locator('.badge.good').count()).toBe(0)
    await page.evaluate(`location.hash = '#/chat/${failing}'`)
    await page.getByText('Das konnte ich nicht beenden: der Anbieter hat die Anfrage abgelehnt').waitFor()
    expect(await page.locator('.end-of-run .failure p').innerText()).toBe('Fehlgeschlagen')
    const reading = await client.newSession()
    await client.send('PUT', `/api/sessions/${reading}/files/notiz.md`, { raw: '# eins' })
    await client.chat(reading, '[[tools 2 read_file {"path":"notiz.md"}]] [[say Gelesen.]]')
    await page.evaluate(`location.hash = '#/chat/${reading}'`)
    expect(await page.locator('.block.calls summary').first().innerText()).toMatch(/^notiz\.md gelesen/)
    await leave(page)
  })

  itInTurn('shows a job whose last run has failed as failed, with why', async () => {
    const { json: job } = await client.post('/api/jobs', {
      name: 'Report',
      schedule: 'every 2h',
      prompt: '[[status 400 times=9 nonce=states3]] [[say never]]',
    })
    await client.post(`/api/jobs/${job.id}/run`)
    await eventually(
      async () => (await client.get(`/api/jobs/${job.id}`)).json.last_status,
      (status) => status === 'failed',
    )
    const page = await signIn('de-DE', 360)
    await openScreen(page, 'jobs')
    expect(await badges(page)).toEqual(['Geplant', 'Fehlgeschlagen'])
    expect(await page.locator('.badge.good').count()).toBe(0)
    await page.locator('.failure').first().waitFor()
    await page.locator('summary', { hasText: 'Verlauf' }).click()
    await expect.poll(() => page.locator('details .badge.bad').allInnerTexts()).toEqual(['Fehlgeschlagen'])
    expect(await fits(page)).toBe(true)
    await leave(page)
  })

  itInTurn('shows what a platform answers, until the connection works', async () => {
    const page = await signIn('de-DE', 320)
    await openScreen(page, 'channels')
    const form = page.getByRole('form', { name: 'Neuer Kanal' })
    await form.getByLabel('Plattform').selectOption('telegram')
    await form.getByLabel('bot_token').fill('4711:short')
    await form.getByRole('button', { name: 'Hinzufügen' }).click()
    const wizard = page.locator('section.card', { hasText: 'Die Verbindung geht noch nicht.' })
    await wizard.getByText(/Die Plattform antwortete: .*Unauthorized/).waitFor()
    const card = page.locator('li.card', { hasText: 'telegram' })
    const badgesOfCard = () => card.locator('.badge').allInnerTexts()
    await expect.poll(badgesOfCard).toEqual(['Telegram', 'Aktiv, hier nicht geprüft'])
    await card.getByRole('button', { name: 'Prüfen' }).click()
    await card.locator('.badge.bad', { hasText: 'Geht nicht' }).waitFor()
    expect(await page.locator('.badge.good').count()).toBe(0)
    expect(await fits(page)).toBe(true)

    await wizard.getByLabel('bot_token').fill(`4711:${crypto.randomUUID()}`)
    await wizard.getByRole('button', { name: 'Speichern und prüfen' }).click()
    await page.getByText(/Die Plattform antwortete: .*TalariaBot/).waitFor()
    await card.getByRole('button', { name: 'Prüfen' }).click()
    await card.locator('.badge.good', { hasText: 'Geht' }).waitFor()
    expect((await client.get('/api/channels')).json.data).toHaveLength(1)
    await leave(page)
  })

  itInTurn(
    'adds a program as an MCP server in German, and does not call it broken before a session has run it',
    async () => {
      const page = await signIn('de-DE', 360)
      const program = {
        url: null,
        transport: 'stdio',
        command: 'python3',
        args: ['/workspace/server.py'],
        auth: 'none',
      }
      const state = { enabled: true, trusted: false, tool_count: 0, source: 'tenant', breaker: 'closed', era: null }
      const server = { ...program, ...state, alias: 'gruss', status: 'unavailable', reason: 'It is a program.' }
      const bodies: unknown[] = []
      // This deployment has no host.
      await page.route('**/api/mcp/servers', async (route) => {
        if (route.request().method() === 'POST') bodies.push(route.request().postDataJSON())
        const isList = route.request().method() === 'GET'
        const shown = { ...server, fetched_at: null }
        await route.fulfill({ json: isList ? { data: bodies.length ? [shown] : [], next_cursor: null } : shown })
      })
      await openScreen(page, 'mcp')
      const form = page.getByRole('form', { name: 'MCP-Server hinzufügen' })
      await form.getByLabel('Name').fill('gruss')
      await form.getByLabel('Verbindung').selectOption({ label: 'Programm' })
      await form.getByLabel(/^Programm/).fill('python3\n/workspace/server.py')
      await form.getByLabel('Variablen').fill('GRUSS=Servus')
      await form.getByRole('button', { name: 'Hinzufügen' }).click()
      const card = page.locator('li.card', { hasText: 'python3 /workspace/server.py' })
      await card.locator('.badge', { hasText: 'Läuft in Sitzungen' }).waitFor()
      expect(bodies).toEqual([{ alias: 'gruss', ...readProgram('python3\n/workspace/server.py', 'GRUSS=Servus') }])
      expect([await card.locator('.bad, .failure').count(), await fits(page)]).toEqual([0, true])
      expect(await card.getByRole('button', { name: 'Prüfen' }).count()).toBe(0)
      await leave(page)
    },
  )

  itInTurn('shows no failure of what was open before while the next is loaded', async () => {
    const page = await signIn('en-US')
    await openScreen(page, 'usage')
    await page.route('**/api/usage?group=model&*', (route) => route.abort())
    const asked = Promise.withResolvers<void>()
    const waits = Promise.withResolvers<void>()
    await page.route('**/api/usage?group=source&*', async (route) => {
      asked.resolve()
      await waits.promise
      await route.continue()
    })
    const by = page.getByLabel('Group by')
    await by.selectOption('model')
    await page.getByRole('alert').waitFor()
    await by.selectOption('source')
    await asked.promise
    await page.locator('.skeleton').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    waits.resolve()
    await page.locator('.screen table').waitFor()
    await by.selectOption('model')
    await page.getByRole('alert').waitFor()
    expect(await page.locator('.screen table').count()).toBe(0)
    await leave(page)
  })
})

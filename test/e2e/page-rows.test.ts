/** Tests the page in Chromium by keyboard alone, in several tabs, while steered, and against other sites. */

import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, eventually, newTenant } from './support/client.ts'
import { owner, server } from './support/here.ts'
import { findViolations, leave, origin, signIn } from './support/page.ts'

const nobody = owner.as(undefined)

it('names all scripts that the page needs first, so that none waits for another', async () => {
  const { text } = await nobody.get('/')
  const [, main = ''] = /<script type="module" src="([^"]+)"/.exec(text) ?? []
  const script = await nobody.get(main)
  const imported = [...script.text.matchAll(/(?:from|import)"\.\/([\w-]+\.js)"/g)].map(([, name]) => name)
  expect(imported.length).toBeGreaterThan(0)
  for (const name of imported) expect(text).toContain(`<link rel="modulepreload" href="/app/${name}" />`)
})

describe('the cookie of the page', () => {
  let cookie: string

  beforeAll(async () => {
    const { key } = await newTenant(owner)
    const answer = await nobody.send('POST', '/api/login', { body: { key }, headers: { origin: server.url } })
    cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  })

  it('counts for no request of another site', async () => {
    const ask = async (headers: Record<string, string>) => (await nobody.get('/api/me', { cookie, ...headers })).status
    expect(await ask({ 'sec-fetch-site': 'same-origin' })).toBe(200)
    for (const site of ['cross-site', 'same-site']) expect(await ask({ 'sec-fetch-site': site })).toBe(401)
    expect(await ask({ origin: 'https://evil.example' })).toBe(401)
  })

  it('opens a socket for our own origin alone', async () => {
    const open = (from: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = {
          cookie,
          origin: from,
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        }
        const asked = request(`${server.url}/api/events`, { headers })
        asked.on('response', (response) => resolve(response.resume().statusCode))
        asked.on('upgrade', ({ statusCode }, socket) => (socket.destroy(), resolve(statusCode)))
        asked.on('error', reject)
        asked.end()
      })
    expect(await open(server.url)).toBe(101)
    expect(await open('https://evil.example')).toBe(403)
    expect(await open('null')).toBe(403)
  })
})

describe.skipIf(chromium === undefined)('the page in Chromium', () => {
  let browser: Browser
  let client: Client
  let context: BrowserContext
  let page: Page

  const newPage = async (within: BrowserContext): Promise<Page> => {
    const opened = await within.newPage()
    opened.setDefaultTimeout(30_000)
    return opened
  }
  const composer = (within = page) => within.getByRole('textbox', { name: 'Message' })
  const answered = (text: string, within = page) => within.locator('.block.text', { hasText: text }).last().waitFor()
  const isIdle = (within = page) => within.getByRole('button', { name: 'Answer again' }).waitFor()
  const send = async (text: string) => {
    await composer().fill(text)
    await composer().press('Enter')
  }
  const open = async (id: string, within = page) => {
    await within.goto(`${origin}/#/chat/${id}`)
    await within.locator('.list').waitFor()
    await composer(within).waitFor()
  }
  const listWords = (within: Page) => within.locator('.block.user .bubble, .block.text .markdown').allInnerTexts()
  const disappears = (found: Locator) =>
    eventually(
      () => found.count(),
      (count) => count === 0,
    )

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
    page = await signIn(browser, client)
    context = page.context()
  })
  afterAll(async () => {
    await leave(page)
    await browser?.close()
  })

  it('asks once for each list that it begins with, and in a hidden tab when that is shown', async () => {
    const { json } = await client.post('/api/sessions', { title: 'Known before' })
    // The event of the new session has come: later it would ask for the list once more.
    await page.locator(`[data-session="${json.id}"]`).first().waitFor({ state: 'attached' })
    const requests: string[] = []
    // Tabs of headless browsers are never hidden.
    const script = `Object.defineProperty(document, 'hidden', { get: () => globalThis.isHidden === true })`
    // The lists come before a connection that takes a second, and again with it: not so here, where the machine may be busy.
    const patient = `const wait = setTimeout; globalThis.setTimeout = (run, ms) => wait(run, ms === 1000 ? 60000 : ms)`
    const fresh = await signIn(browser, client, { requests, script: `${script}; ${patient}` })
    const listed = fresh.locator(`[data-session="${json.id}"]`).first()
    await listed.getByText('Known before').waitFor()
    // The event of a known session asks for nothing, and comes by the open socket.
    await eventually(
      async () => {
        await client.send('PATCH', `/api/sessions/${json.id}`, { body: { title: `Renamed at ${Date.now()}` } })
        return listed.innerText()
      },
      (text) => text.includes('Renamed at'),
    )
    const asked = requests.map((url) => new URL(url).pathname).filter((path) => path.startsWith('/api/'))
    const begun = ['/api/sessions', '/api/approvals', '/api/questions', '/api/settings/models']
    expect(begun.map((path) => [path, asked.filter((one) => one === path).length])).toEqual(
      begun.map((path) => [path, 1]),
    )
    await fresh.context().close()

    const hidden = await signIn(browser, client, { script: `globalThis.isHidden = true; ${script}` })
    expect(await hidden.locator('[data-session]').count()).toBe(0)
    await hidden.evaluate(`globalThis.isHidden = false; document.dispatchEvent(new Event('visibilitychange'))`)
    await hidden.locator(`[data-session="${json.id}"]`).first().waitFor()
    await hidden.context().close()
  })

  itInTurn('shows a message that steers while it waits and after the run has taken it', async () => {
    const id = await client.newSession()
    await open(id)
    await send('[[slow ttft=20 chunks=60 gap=40]] count')
    await page.getByText('word3 ').waitFor()
    await send('[[say steered]]')
    const bubble = page.locator('.block.user', { hasText: '[[say steered]]' })
    await bubble.getByText('Joins at the next step').waitFor()
    await answered('steered')
    await isIdle()
    await disappears(page.getByText('Joins at the next step'))
    await expect.poll(() => bubble.count()).toBe(1)
    const said = await listWords(page)
    await page.reload()
    await answered('steered')
    expect([said.length, await listWords(page)]).toEqual([4, said])
  })

  itInTurn('keeps a message that steered while tools ran behind them, and their results without it', async () => {
    const id = await client.newSession()
    await open(id)
    await send(
      '[[call terminal {"command":"sleep 3; echo one"} then terminal {"command":"echo two"} then say All done]]',
    )
    await page.locator('.block.calls', { hasText: 'sleep 3' }).waitFor()
    await send('and be quick')
    const bubble = page.locator('.block.user', { hasText: 'and be quick' })
    await bubble.getByText('Joins at the next step').waitFor()
    await answered('All done')
    await isIdle()
    const order = ['block user', 'block calls', 'block user', 'block calls', 'block text']
    const list = () =>
      page
        .locator('.list .block')
        .evaluateAll((all) => all.map((one) => (one as unknown as { className: string }).className))
    await expect.poll(list).toEqual(order)
    await page.reload()
    await answered('All done')
    await expect.poll(list).toEqual(order)
    expect(await bubble.count()).toBe(1)
    expect(await bubble.getByRole('button', { name: 'Edit' }).count()).toBe(0)
    const first = page.locator('.block.calls').first()
    await first.locator('summary').first().click()
    await first.locator('.term', { hasText: 'one' }).waitFor()
    expect(await first.innerText()).not.toContain('The user said')
  })

  itInTurn('keeps a message that a stopped run has not taken, until it is sent again', async () => {
    const id = await client.newSession()
    await open(id)
    await send('[[slow ttft=20 chunks=5000 gap=50]] count')
    await page.getByText('word3 ').waitFor()
    await send('[[say again]]')
    await page.getByText('Joins at the next step').waitFor()
    // A stop that the server did not get can be repeated.
    await page.route('**/stop', (route) => route.abort(), { times: 1 })
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    const bubble = page.locator('.block.user', { hasText: '[[say again]]' })
    await bubble.getByText('Not taken: the run ended first').waitFor()
    await page.reload()
    await bubble.getByRole('button', { name: 'Try again' }).click()
    await answered('again')
    await isIdle()
    await disappears(page.getByText('Not taken'))
    const said = (await client.messages(id)).filter(({ role }) => role === 'user')
    expect(said.map(({ content }) => content)).toEqual([expect.stringContaining('count'), '[[say again]]'])
  })

  itInTurn('closes in every tab what is answered in one, and shows the same in all', async () => {
    const id = await client.newSession()
    await open(id)
    const [other, inbox] = [await newPage(context), await newPage(context)]
    await open(id, other)
    await inbox.goto(`${origin}/#/inbox`)
    await send('[[call terminal {"command":"rm -rf build"} then say removed]]')
    for (const tab of [page, other, inbox]) await tab.getByRole('alertdialog').waitFor()
    await inbox.getByRole('button', { name: 'Allow once' }).click()
    for (const tab of [page, other, inbox]) await disappears(tab.getByRole('alertdialog'))
    for (const tab of [page, other]) {
      await answered('removed', tab)
      await isIdle(tab)
    }
    for (const tab of [page, other]) await expect.poll(() => listWords(tab)).toHaveLength(2)
    expect(await listWords(other)).toEqual(await listWords(page))
    await composer(other).fill('[[say back]]')
    await composer(other).press('Enter')
    for (const tab of [page, other]) {
      await answered('back', tab)
      await isIdle(tab)
      await expect.poll(() => listWords(tab)).toHaveLength(4)
    }
    expect(await listWords(page)).toEqual(await listWords(other))
    await Promise.all([other.close(), inbox.close()])
  })

  it('can be used without a mouse: sign in, send, approve, answer, queue, stop, new session', async () => {
    const typed = await browser.takePage({ locale: 'en-US', viewport: { width: 1280, height: 800 } })
    const tabTo = async (wanted: Locator, key = 'Tab') => {
      await wanted.waitFor()
      // Looking for it by its role takes longer than a press.
      let element = await wanted.elementHandle()
      for (let presses = 0; presses < 120; presses++) {
        const state = await element?.evaluate((one) => [one.matches(':focus'), one.isConnected])
        if (state?.[0]) return
        if (state?.[1]) await typed.keyboard.press(key)
        else element = await wanted.elementHandle()
      }
      throw new Error(`Tab does not reach ${wanted.toString()}`)
    }
    const say = async (text: string) => {
      await typed.keyboard.insertText(text)
      await typed.keyboard.press('Enter')
    }
    await typed.goto(origin)
    await tabTo(typed.getByLabel('Key or sign-in link'))
    await say((await newTenant(owner)).key)
    await tabTo(composer(typed))
    // The first message makes a session. The focus stays in the field.
    await say('[[say first]]')
    await answered('first', typed)
    await isIdle(typed)
    await say('[[call terminal {"command":"rm -rf build"} then say removed]]')
    const card = typed.getByRole('alertdialog')
    await tabTo(card, 'Shift+Tab')
    await card.locator('button:enabled').first().waitFor()
    await typed.keyboard.press('1')
    await answered('removed', typed)
    await isIdle(typed)
    await tabTo(typed.locator('.tool summary'), 'Shift+Tab')
    await typed.keyboard.press('Enter')
    await typed.locator('details.tool .term', { hasText: '$ rm -rf build' }).waitFor()
    await tabTo(composer(typed))
    await say('[[call clarify {"question":"Which colour?","choices":["red","blue"]} then say chosen]]')
    await tabTo(typed.getByRole('alertdialog').getByRole('button', { name: 'blue' }), 'Shift+Tab')
    await typed.keyboard.press('Enter')
    await answered('chosen', typed)
    await isIdle(typed)
    await tabTo(composer(typed))
    await say('[[slow ttft=20 chunks=5000 gap=50]] count')
    await typed.getByText('word3 ').waitFor()
    await tabTo(typed.getByLabel('While it answers, messages'))
    await typed.keyboard.press('ArrowDown')
    await tabTo(composer(typed))
    await say('later')
    await tabTo(typed.getByRole('button', { name: 'Take back' }), 'Shift+Tab')
    await typed.keyboard.press('Enter')
    await disappears(typed.locator('.queue li'))
    await tabTo(composer(typed))
    await typed.keyboard.press('Escape')
    await typed.getByText('Stopped. The messages so far are kept.').waitFor()
    await isIdle(typed)
    const first = typed.url()
    await tabTo(typed.getByRole('link', { name: 'New chat' }))
    await typed.keyboard.press('Enter')
    await disappears(typed.locator('.list'))
    await tabTo(composer(typed))
    await say('[[say anew]]')
    await answered('anew', typed)
    expect(typed.url()).not.toBe(first)
    await leave(typed)
  })

  itInTurn(
    'has no violation that axe finds while it asks, also with more contrast and with colours of the person',
    async () => {
      const shown = await signIn(browser, client)
      const id = await client.newSession()
      await client.post(`/api/sessions/${id}/chat`, {
        input: '[[call terminal {"command":"rm -rf build"} then call clarify {"question":"Which?","choices":["red"]}]]',
        wait: false,
      })
      for (const screen of [`chat/${id}`, 'inbox']) {
        await shown.evaluate(`location.hash = '#/${screen}'`)
        await shown.locator('main').getByRole('button', { name: 'Allow once' }).and(shown.locator(':enabled')).waitFor()
        for (const colorScheme of ['light', 'dark'] as const) {
          await shown.emulateMedia({ contrast: 'more', colorScheme })
          expect(await findViolations(shown, { isColour: true })).toEqual([])
        }
        await shown.emulateMedia({ contrast: 'no-preference', colorScheme: 'light', forcedColors: 'active' })
        expect(await findViolations(shown)).toEqual([])
        await shown.emulateMedia({ forcedColors: 'none' })
      }
      await client.post(`/api/sessions/${id}/stop`)
      await shown.context().close()
    },
  )

  it('gives another site neither answers nor a socket', async () => {
    const foreign = createServer((_, answer) =>
      answer.setHeader('content-type', 'text/html').end(`<a href="${origin}/api/me">go</a>`),
    )
    await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve))
    try {
      const other = await newPage(context)
      await other.goto(`http://127.0.0.1:${(foreign.address() as AddressInfo).port}/`)
      const tried = await other.evaluate(`(async () => {
        const read = await fetch('${origin}/api/me', { credentials: 'include' }).then(() => 'read', () => 'refused')
        const socket = new WebSocket('${origin.replace('http', 'ws')}/api/events')
        const opened = await new Promise((resolve) => { socket.onopen = () => resolve('open'); socket.onclose = () => resolve('closed') })
        return [read, opened]
      })()`)
      expect(tried).toEqual(['refused', 'closed'])
      // A link does carry the cookie.
      const [answer] = await Promise.all([
        other.waitForResponse((response) => response.url() === `${origin}/api/me`),
        other.getByRole('link').click(),
      ])
      expect(answer.status()).toBe(401)
      expect((await answer.request().allHeaders())['cookie']).toMatch(/talaria/)
      await other.close()
    } finally {
      foreign.close()
    }
  })
})

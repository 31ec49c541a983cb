/** Tests the page without a network, and its push messages, in Chromium against the shared server. */

import type { BrowserContext, Page, WebSocketRoute } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstRows, itInTurn } from '#test/support/long.ts'
import { type Browser, chromium, launchBrowser, readBoxes } from './support/chromium.ts'
import { type Client, eventually, newTenant } from './support/client.ts'
import { owner, server } from './support/here.ts'
import { signIn as open } from './support/page.ts'

const origin = server.url.replace('127.0.0.1', 'localhost')

it('has a manifest whose icons exist, and a worker that is asked for anew each time', async () => {
  const nobody = owner.as(undefined)
  const { json: manifest } = await nobody.get('/manifest.webmanifest')
  expect([manifest.name, manifest.display, manifest.start_url]).toEqual(['Talaria', 'standalone', '/'])
  for (const { src, type } of manifest.icons as { src: string; type: string }[]) {
    const { status, headers } = await nobody.get(src)
    expect([src, status, headers.get('content-type')]).toEqual([src, 200, type])
  }
  const { headers } = await nobody.get('/service-worker.js')
  expect(headers.get('cache-control')).toBe('no-cache')
})

describe.skipIf(chromium === undefined)('the page without a network', () => {
  let browser: Browser
  let context: BrowserContext
  let client: Client
  let page: Page
  const errors: string[] = []

  const composer = () => page.getByRole('textbox', { name: 'Message' })
  const send = async (text: string) => {
    await composer().fill(text)
    await composer().press('Enter')
  }
  const open = async (id: string) => {
    await page.goto(`${origin}/#/chat/${id}`)
    await page.locator('.list').waitFor()
  }
  const waits = () => page.getByText('Waits to be sent')
  const listSaid = async (id: string) => (await client.messages(id)).filter(({ role }) => role === 'user')

  beforeAll(async () => {
    browser = await launchBrowser()
    context = await browser.newContext({ locale: 'en-US', serviceWorkers: 'allow' })
    await context.grantPermissions(['notifications'], { origin })
    client = (await newTenant(owner)).client
    page = await context.newPage()
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    page.on('pageerror', (error) => errors.push(error.message))
    await page.goto((await client.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
    await composer().waitFor()
    await eventually(
      () => page.evaluate('Boolean(navigator.serviceWorker.controller)'),
      (isControlled) => isControlled === true,
    )
  })
  afterAll(async () => browser?.close())

  it('registers its worker under the policy of the page, which keeps files and no answers', async () => {
    expect(errors).toEqual([])
    const kept = await page.evaluate<string[]>(
      `caches.keys().then(async ([name]) => (await (await caches.open(name)).keys()).map(({url}) => new URL(url).pathname))`,
    )
    expect(kept).toContain('/')
    expect(kept.filter((path) => /^\/(?:api|v1|files|docs)\b/.test(path))).toEqual([])
  })

  itInTurn('says that it is offline, at once and after a reload, and keeps the field on the screen', async () => {
    const notice = page.getByText('You are offline.')
    await context.setOffline(true)
    await notice.waitFor()
    const [box] = await readBoxes(composer())
    expect(box.y + box.height).toBeLessThanOrEqual(page.viewportSize()?.height ?? 0)
    await page.reload()
    await notice.waitFor()
    await context.setOffline(false)
    await eventually(
      () => notice.count(),
      (count) => count === 0,
    )
    errors.length = 0
  })

  it('opens offline, lets a message wait over a reload, and says it once', async () => {
    const id = await client.newSession()
    await open(id)
    await context.setOffline(true)
    await send('[[say later]]')
    await waits().waitFor()
    await page.reload()
    await waits().waitFor()
    await composer().fill('a draft')
    await page.reload()
    await waits().waitFor()
    await expect.poll(() => composer().inputValue()).toBe('a draft')
    await context.setOffline(false)
    await page.locator('.block.text', { hasText: 'later' }).waitFor()
    await eventually(
      () => waits().count(),
      (count) => count === 0,
    )
    await expect.poll(() => listSaid(id)).toHaveLength(1)
    await composer().fill('')
    await composer().press('ArrowUp')
    await expect.poll(() => composer().inputValue()).toBe('[[say later]]')
    await composer().fill('')
  })

  itInTurn('creates one session for the messages of a new chat that were written offline', async () => {
    await page.goto(`${origin}/#/chat`)
    await page.locator('.welcome').waitFor()
    await context.setOffline(true)
    await send('[[say first of all]]')
    await waits().waitFor()
    await send('[[say second of all]]')
    await expect.poll(() => waits().count()).toBe(2)
    expect(await page.getByRole('alert').count()).toBe(0)
    await page.reload()
    await expect.poll(() => waits().count()).toBe(2)
    await context.setOffline(false)
    await page.locator('.block.text', { hasText: 'of all' }).first().waitFor()
    const id = new URL(page.url()).hash.split('/').at(-1) ?? ''
    await expect.poll(() => listSaid(id)).toHaveLength(2)
  })

  itInTurn(
    'connects as soon as the network is back, also when the browser would wait to connect a stream',
    async () => {
      const id = await client.newSession()
      const own = await context.newPage()
      await own.addInitScript(`window.sockets = []; window.WebSocket = class extends WebSocket {
      constructor(...given) { super(...given); window.sockets.push(this) }
    }`)
      await own.goto(`${origin}/#/chat/${id}`)
      await own.locator('.list').waitFor()
      await eventually(
        () =>
          own.evaluate<number>(
            `window.sockets.filter(({ url, readyState }) => url.includes('${id}') && readyState === 1).length`,
          ),
        (count) => count === 1,
      )
      await context.setOffline(true)
      await Promise.all([
        own.waitForEvent('requestfailed', (request) => request.url().includes(`${id}/events`)),
        // Open sockets outlive the emulation, and a closing handshake may take a minute.
        own.evaluate(`for (const one of window.sockets) one.dispatchEvent(new CloseEvent('close', { code: 1006 }))`),
      ])
      const next = Promise.race([
        own.waitForEvent('websocket', (socket) => socket.url().includes(id)).then(() => 'socket'),
        own.waitForEvent('request', (request) => request.url().includes(`${id}/events`)).then(() => 'stream'),
      ])
      await context.setOffline(false)
      expect(await next).toBe('socket')
      await own.close()
    },
  )

  it('says a message once whose answer was lost', async () => {
    const id = await client.newSession()
    await open(id)
    const address = `**/api/sessions/${id}/chat`
    await page.route(address, async (route) => {
      await route.fetch()
      await route.abort()
    })
    await composer().fill('[[say lost]]')
    await composer().press('Enter')
    await waits().waitFor()
    await page.unroute(address)
    await page.evaluate(`dispatchEvent(new Event('online'))`)
    await eventually(
      () => waits().count(),
      (count) => count === 0,
    )
    await page.locator('.block.text', { hasText: 'lost' }).first().waitFor()
    await expect.poll(() => listSaid(id)).toHaveLength(1)
  })

  itInTurn('keeps a message that a limit refuses for now, and gives one back that is refused for good', async () => {
    const id = await client.newSession()
    await open(id)
    const address = `**/api/sessions/${id}/chat`
    const answer = { status: 0 }
    await page.route(address, (route) => {
      const json = { error: { message: `Answer ${answer.status}.`, code: `code_${answer.status}`, param: null } }
      return answer.status ? route.fulfill({ status: answer.status, json }) : route.abort()
    })
    await send('[[say kept]]')
    await waits().waitFor()
    for (const status of [429, 503]) {
      answer.status = status
      await page.evaluate(`dispatchEvent(new Event('online'))`)
      await expect
        .poll(() =>
          page
            .getByRole('alert')
            .filter({ hasText: `Answer ${status}.` })
            .count(),
        )
        .toBeGreaterThan(0)
      expect(await waits().count()).toBe(1)
    }
    answer.status = 400
    await composer().fill('a draft')
    await page.evaluate(`dispatchEvent(new Event('online'))`)
    await expect.poll(() => composer().inputValue()).toBe('[[say kept]]\n\na draft')
    expect(await waits().count()).toBe(0)
    await composer().fill('')
    await send('[[say refused]]')
    const refused = page.locator('.block.user', { hasText: 'Not sent' })
    await refused.waitFor()
    await page.reload()
    await refused.getByRole('button', { name: 'Remove' }).click()
    await page.unroute(address)
    await page.reload()
    await page.locator('.list').waitFor()
    expect(await refused.count()).toBe(0)
  })

  it('has one connection to each list of events, also after they broke and the tab was shown again', async () => {
    const tab = await context.newPage()
    const sockets = new Set<WebSocketRoute>()
    await tab.routeWebSocket(/\/events/, (socket) => {
      const upstream = socket.connectToServer()
      sockets.add(socket)
      socket.onClose(() => {
        sockets.delete(socket)
        void upstream.close()
      })
    })
    await tab.goto(`${origin}/#/chat/${await client.newSession()}`)
    const hasTwo = () =>
      eventually(
        () => sockets.size,
        (size) => size === 2,
      )
    await hasTwo()
    const broken = new Set(sockets)
    sockets.clear()
    for (const socket of broken) await socket.close()
    await hasTwo()
    await tab.evaluate(`for (let i = 0; i < 3; i++) document.dispatchEvent(new Event('visibilitychange'))`)
    await tab.getByRole('textbox', { name: 'Message' }).fill('[[say still here]]')
    await tab.keyboard.press('Enter')
    await tab.locator('.block.text', { hasText: 'still here' }).waitFor()
    expect(sockets.size).toBe(2)
    await tab.close()
  })

  it('sends nothing of somebody who has signed out, or after whom somebody else has signed in', async () => {
    const id = await client.newSession()
    const address = `**/api/sessions/${id}/chat`
    const signIn = async () => {
      const { json } = await client.post('/api/login/links')
      await page.evaluate(`location.hash = ${JSON.stringify(new URL(json.url).hash)}`)
      const person = () => page.evaluate<string | null>(`localStorage.getItem('talaria.person')`)
      await eventually(person, (known) => known !== null && known !== 'somebody/else')
      await composer().waitFor()
    }
    for (const leave of ['signs out', 'is replaced']) {
      await open(id)
      await page.route(address, (route) => route.abort())
      await send('[[say not mine]]')
      await waits().waitFor()
      if (leave === 'signs out') {
        await page.keyboard.press('Control+k')
        await page.getByRole('dialog').getByRole('combobox').fill('Sign out')
        await page.keyboard.press('Enter')
        await page.getByRole('button', { name: 'Sign in' }).waitFor()
      } else await page.evaluate(`localStorage.setItem('talaria.person', 'somebody/else')`)
      await page.unroute(address)
      await signIn()
      await open(id)
      await page.evaluate(`dispatchEvent(new Event('online'))`)
      expect(await waits().count()).toBe(0)
    }
    expect(await listSaid(id)).toEqual([])
  })

  it('shows what a push message says', async () => {
    const [worker] = context.serviceWorkers()
    // The headless browser has no place for notifications.
    await worker?.evaluate(
      `registration.showNotification = async (title, {body}) => { self.shown = title + ': ' + body }`,
    )
    const devtools = await context.newCDPSession(page)
    const found = new Promise<string>((resolve) =>
      devtools.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        const [first] = registrations
        if (first) resolve(first.registrationId)
      }),
    )
    await devtools.send('ServiceWorker.enable')
    const registrationId = await found
    const data = JSON.stringify({ kind: 'approval', id: 'a', session_id: 's', run_id: 'r', title: 'Build' })
    await devtools.send('ServiceWorker.deliverPushMessage', { origin, registrationId, data })
    const shown = await eventually(() => worker?.evaluate('self.shown'), Boolean)
    expect(shown).toBe('Build: Needs your approval')
  })
})

describe.skipIf(chromium === undefined)('the page whose files do not come, as after a new version', () => {
  let browser: Browser
  let client: Client
  const signIn = (locale: string) => open(browser, client, { locale })

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
  })
  afterAll(async () => browser?.close())

  itInTurn.each(
    firstRows(
      1,
      [
        ['a script that is gone', /\/app\/main-.*\.js$/, 404],
        ['a script that does not arrive', /\/app\/chunk-.*\.js$/, undefined],
        ['scripts and styles that are gone', /\/app\//, 404],
      ] as const,
      1,
    ),
  )('says so in the document, with a link that loads it again: %s', async (_, files, status) => {
    const page = await (await browser.newContext()).newPage()
    await page.route(files, (route) => (status === undefined ? route.abort() : route.fulfill({ status })))
    await page.goto(`${origin}/#/inbox`)
    await page.getByText('Die Seite ist noch nicht da.').waitFor()
    const link = page.getByRole('link', { name: 'load it again' })
    const [box] = await readBoxes(link)
    expect(box.width).toBeGreaterThan(20)
    await page.unroute(files)
    await link.click()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await page.getByText('The page is not there yet').count()).toBe(0)
    await page.context().close()
  })

  itInTurn('shows none of these words while its scripts come', async () => {
    const page = await (await browser.newContext()).newPage()
    const { promise: arrival, resolve: arrive } = Promise.withResolvers<void>()
    await page.route(/\/app\/main-.*\.js$/, async (route) => arrival.then(() => route.continue()))
    await page.goto(origin, { waitUntil: 'commit' })
    const words = page.getByText('The page is not there yet')
    await words.waitFor({ state: 'attached' })
    // Nothing is painted before the style sheet is there, but what stands in the document counts as visible.
    // The policy of the page lets no text become a script, so that the browser cannot wait for it itself.
    await eventually(
      () => page.evaluate<number>('document.styleSheets.length'),
      (count) => count > 0,
    )
    expect(await words.isVisible()).toBe(false)
    arrive()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    await page.context().close()
  })

  itInTurn('offers a reload in place of a screen and of a part, once and in words', async () => {
    const page = await signIn('de-DE')
    await page.route(/\/app\/(?:list|inbox|session-dialog)-.*\.js$/, (route) => route.fulfill({ status: 404 }))
    const words = 'Ein Teil der Seite lässt sich nicht laden'
    await page.evaluate("location.hash = '#/inbox'")
    const failure = page.locator('main .failure', { hasText: words })
    await failure.getByRole('button', { name: 'Neu laden' }).waitFor()
    await page.evaluate(`location.hash = '#/chat/${await client.newSession()}'`)
    for (const _ of [1, 2]) {
      await page.getByRole('button', { name: 'Suchen und exportieren' }).click()
      await page.locator('.toast.error', { hasText: words }).waitFor()
    }
    await expect.poll(() => page.locator('.toast.error').count()).toBe(1)
    await page.unrouteAll()
    await page.locator('.toast').getByRole('button', { name: 'Neu laden' }).click()
    await page.locator('.list').waitFor()
    expect(await page.locator('.toast').count()).toBe(0)
    await page.context().close()
  })

  itInTurn('is English when the German words do not come', async () => {
    const page = await (await browser.newContext({ locale: 'de-DE' })).newPage()
    await page.route(/\/app\/de-.*\.js$/, (route) => route.abort())
    await page.goto(origin)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await page.evaluate('document.documentElement.lang')).toBe('en')
    await page.context().close()
  })
})

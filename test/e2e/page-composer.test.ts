/** Tests the field of a message in Chromium, against the shared server: menus, speech, uploads, keys, push messages. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, eventually, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { leave, origin } from './support/page.ts'

describe.skipIf(chromium === undefined)('the composer', () => {
  let browser: Browser
  let client: Client
  let page: Page
  const errors: string[] = []

  const signIn = async (opened: Page, by: Client): Promise<Page> => {
    opened.setDefaultTimeout(30_000)
    opened.on('pageerror', (error) => errors.push(error.message))
    await opened.goto((await by.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost'))
    await composer(opened).waitFor()
    return opened
  }
  const composer = (within = page) => within.getByRole('textbox', { name: 'Message' })
  const menu = (within = page) => within.getByRole('listbox', { name: 'Suggestions' })
  const option = (name: string | RegExp, within = page) => within.getByRole('option', { name })
  /** Another fragment alone would leave the field of the session before for a moment. A blank page ends the process. */
  const leavePage = () => page.goto(`${origin}/icon.svg`)
  const open = async (id: string) => {
    await leavePage()
    await page.goto(`${origin}/#/chat/${id}`)
    await page.locator('.list').waitFor()
    await composer().fill('')
  }
  const answered = (text: string) => page.locator('.block.text', { hasText: text }).last().waitFor()
  const listSaid = async (id: string) =>
    (await client.messages(id)).flatMap(({ role, content }) => (role === 'user' ? [content] : []))
  const folder = mkdtempSync(join(tmpdir(), 'talaria-files-'))
  /** By its path: the bytes do not go through the DevTools. */
  const attach = (name: string, bytes: number) => {
    writeFileSync(join(folder, name), Buffer.alloc(bytes, 'a,b\n'))
    return page.locator('input[type=file]').setInputFiles(join(folder, name))
  }

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
    const look = { locale: 'en-US', viewport: { width: 1280, height: 800 }, permissions: ['microphone'] }
    page = await signIn(await browser.takePage(look), client)
  })
  afterAll(async () => {
    await leave(page)
    await browser?.close()
    rmSync(folder, { recursive: true })
  })

  it('lists commands behind a slash, which keys choose and Enter then sends', async () => {
    await open(await client.newSession())
    await composer().pressSequentially('/')
    await menu().waitFor()
    await composer().press('ArrowDown')
    const active = () => composer().getAttribute('aria-activedescendant')
    await expect.poll(active).toBe(await option(/./).nth(1).getAttribute('id'))
    await composer().pressSequentially('whoa')
    const whoami = option(/^\/whoami/).and(page.locator('[aria-selected=true]'))
    await whoami.waitFor()
    await expect.poll(active).toBe(await whoami.getAttribute('id'))
    await composer().press('Enter')
    await expect.poll(() => composer().inputValue()).toBe('/whoami ')
    await expect.poll(() => menu().count()).toBe(0)
    await expect.poll(() => page.locator('.block.user').count()).toBe(0)
    await composer().fill('')
    await composer().pressSequentially('/he')
    await option(/^\/help/).waitFor()
    await composer().press('Escape')
    await menu().waitFor({ state: 'detached' })
    await expect.poll(() => composer().inputValue()).toBe('/he')
    await composer().pressSequentially('lp')
    await composer().press('Enter')
    await answered('/whoami')
    // Neither is a part of the conversation.
    await composer().fill('[[say next]]')
    await composer().press('Enter')
    await answered('next')
    await expect
      .poll(() => page.locator('.block.user').allInnerTexts())
      .toEqual([expect.stringContaining('[[say next]]')])
  })

  itInTurn('sends a whole command at once, though its menu is open', async () => {
    await open(await client.newSession())
    await composer().pressSequentially('/whoami')
    await option(/^\/whoami/).waitFor()
    await composer().press('Enter')
    await page.locator('.block.user', { hasText: '/whoami' }).waitFor()
    await expect.poll(() => composer().inputValue()).toBe('')
  })

  itInTurn(
    'lists the files of the workspace behind an @, and inserts them where the caret is, by a tap too',
    async () => {
      const id = await client.newSession()
      for (const path of ['notes/plan.md', 'src/main.ts', 'my list.txt'])
        await client.send('PUT', `/api/sessions/${id}/files/${encodeURIComponent(path).replace('%2F', '/')}`, {
          raw: 'x',
        })
      await open(id)
      await composer().pressSequentially('compare @plan')
      await option('notes/plan.md').waitFor()
      await composer().press('Tab')
      await expect.poll(() => composer().inputValue()).toBe('compare @file:notes/plan.md ')
      await composer().pressSequentially('with @')
      await option('my list.txt').click()
      await expect.poll(() => composer().inputValue()).toBe('compare @file:notes/plan.md with @file:"my list.txt" ')
      await expect.poll(() => page.evaluate('document.activeElement?.tagName')).toBe('TEXTAREA')
      await composer().press('Enter')
      await answered('Hello from the model.')
      await expect.poll(() => listSaid(id)).toEqual(['compare @file:notes/plan.md with @file:"my list.txt"'])
    },
  )

  itInTurn('writes down what is spoken, at the caret', async () => {
    await open(await client.newSession())
    await composer().fill('First. Last.')
    await composer().evaluate((field) => (field as unknown as { setSelectionRange: Place }).setSelectionRange(6, 6))
    await page.getByRole('button', { name: 'Speak' }).click()
    await page.getByText(/^Recording, [1-9]/).waitFor()
    await page.getByRole('button', { name: 'Turn into text' }).click()
    await page.getByRole('button', { name: 'Speak' }).waitFor()
    await expect.poll(() => composer().inputValue()).toBe('First. These words were spoken. Last.')
  })

  itInTurn('keeps a recording that could not be sent, for another try', async () => {
    await open(await client.newSession())
    await page.route('**/v1/audio/transcriptions', (route) => route.abort(), { times: 1 })
    await page.getByRole('button', { name: 'Speak' }).click()
    await page.getByText(/^Recording, [1-9]/).waitFor()
    await page.getByRole('button', { name: 'Turn into text' }).click()
    await page.getByRole('alert').filter({ hasText: 'connection' }).first().waitFor()
    await page.getByRole('button', { name: 'Turn into text' }).click()
    await page.getByRole('button', { name: 'Speak' }).waitFor()
    await expect.poll(() => composer().inputValue()).toBe('These words were spoken.')
  })

  itInTurn('discards a recording, and ends one that is as long as the API takes', async () => {
    await open(await client.newSession())
    const sent: string[] = []
    await page.route('**/v1/audio/transcriptions', async (route) => {
      sent.push(route.request().method())
      await route.fulfill({ json: { text: 'A long speech.' } })
    })
    await page.getByRole('button', { name: 'Speak' }).click()
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('button', { name: 'Speak' }).waitFor()
    expect(sent).toEqual([])
    await page.evaluate(
      `{ const chunk = Object.defineProperty(new Blob(['x']), 'size', { value: 25_000_000 })
         const { start } = MediaRecorder.prototype
         MediaRecorder.prototype.start = function () {
           start.call(this)
           this.dispatchEvent(new BlobEvent('dataavailable', { data: chunk }))
         } }`,
    )
    await page.getByRole('button', { name: 'Speak' }).click()
    await page.getByText('The recording is as long as it can be.').waitFor()
    await eventually(
      () => composer().inputValue(),
      (text) => text === 'A long speech.',
    )
    await page.unroute('**/v1/audio/transcriptions')
  })

  itInTurn('says that the browser refuses the microphone, and offers none without a transcriber', async () => {
    const { client: other } = await newTenant(owner)
    const denied = await signIn(await browser.takePage({ locale: 'en-US' }), other)
    await denied.evaluate(
      `navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('no', 'NotAllowedError') }`,
    )
    await denied.getByRole('button', { name: 'Speak' }).click()
    await denied.getByText('does not let this page use the microphone').waitFor()
    expect((await other.send('PATCH', '/api/settings', { body: { stt: { provider: 'deepgram' } } })).status).toBe(200)
    await eventually(
      async () => (await other.get('/api/me')).json.features,
      (features: string[]) => !features.includes('transcription'),
    )
    await denied.reload()
    await denied.getByRole('button', { name: 'Attach files' }).waitFor()
    await denied.getByRole('button', { name: 'Speak' }).waitFor({ state: 'detached' })
    await leave(denied)
  })

  itInTurn('uploads a large file at once, into a new session too, and names it in the message', async () => {
    await leavePage()
    await page.goto(`${origin}/#/chat`)
    await page.locator('.welcome').waitFor()
    await composer().fill('Sum this up.')
    const held = Promise.withResolvers<void>()
    await page.route('**/files/uploads/**', async (route) => {
      await held.promise
      await route.continue()
    })
    await attach('table.csv', 3_000_000)
    await page.getByRole('progressbar', { name: 'Uploading table.csv' }).waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
    held.resolve()
    await page.getByRole('progressbar').waitFor({ state: 'detached' })
    await expect.poll(() => composer().inputValue()).toBe('Sum this up.')
    const id = new URL(page.url()).hash.split('/').at(-1) ?? ''
    await attach('table.csv', 2_000_000)
    await page.locator('.chip').nth(1).waitFor()
    await page.getByRole('progressbar').waitFor({ state: 'detached' })
    await page.unroute('**/files/uploads/**')
    await page.getByRole('button', { name: 'Send' }).click()
    await answered('Hello from the model.')
    await expect.poll(() => listSaid(id)).toEqual(['Sum this up.\n\n@uploads/table.csv\n@uploads/table-2.csv'])
    const { data } = (await client.get(`/api/sessions/${id}/files/uploads`)).json
    expect(data.map(({ name, size }: { name: string; size: number }) => [name, size]).toSorted()).toEqual([
      ['table-2.csv', 2_000_000],
      ['table.csv', 3_000_000],
    ])
  })

  it('keeps what is written while the session of a new chat is created, and creates one', async () => {
    await leavePage()
    await page.goto(`${origin}/#/chat`)
    await page.locator('.welcome').waitFor()
    const held = Promise.withResolvers<void>()
    let count = 0
    await page.route('**/api/sessions', async (route) => {
      count++
      await held.promise
      await route.continue()
    })
    await composer().fill('[[say one]]')
    await composer().press('Enter')
    await page.locator('.block.user', { hasText: 'one' }).waitFor()
    await composer().fill('[[say two]]')
    await composer().press('Enter')
    await composer().pressSequentially('three')
    held.resolve()
    await page.waitForURL(/#\/chat\/ses_/)
    await page.locator('.block.user', { hasText: 'two' }).waitFor()
    await expect.poll(() => composer().inputValue()).toBe('three')
    const id = new URL(page.url()).hash.split('/').at(-1) ?? ''
    await expect.poll(() => listSaid(id)).toEqual(['[[say one]]', '[[say two]]'])
    expect(count).toBe(1)
    await page.unroute('**/api/sessions')
    await composer().fill('')
  })

  itInTurn('names a picture that is broken, and keeps the files beside it', async () => {
    await page.goto(`${origin}/#/chat`)
    await composer().fill('')
    await page.locator('input[type=file]').setInputFiles([
      { name: 'broken.png', mimeType: 'image/png', buffer: Buffer.from('no picture') },
      { name: 'whole.txt', mimeType: 'text/plain', buffer: Buffer.from('words') },
    ])
    await page.getByText('broken.png: The file cannot be read.').waitFor()
    await page.locator('.attachments .chip', { hasText: 'whole.txt' }).waitFor()
    expect(await page.locator('.attachments .chip').count()).toBe(1)
    await page.getByRole('button', { name: 'Remove: whole.txt' }).click()
  })

  itInTurn('sends a recording in the message, where its words are read, and not as a large file', async () => {
    const sent: string[] = []
    page.on('request', (request) => request.method() === 'PUT' && sent.push(request.url()))
    await page.goto(`${origin}/#/chat`)
    const talk = { name: 'talk.mp3', mimeType: 'audio/mpeg', buffer: Buffer.alloc(1_500_000, 1) }
    await page.locator('input[type=file]').setInputFiles([talk])
    await page.locator('.attachments .chip', { hasText: 'talk.mp3' }).waitFor()
    expect(sent).toEqual([])
    await page.getByRole('button', { name: 'Remove: talk.mp3' }).click()
  })

  itInTurn('refuses a file above 10 MB before anything of it leaves, and deletes a removed one', async () => {
    const id = await client.newSession()
    await open(id)
    const sent: string[] = []
    page.on('request', (request) => request.method() === 'PUT' && sent.push(request.url()))
    await attach('film.mp4', 10_500_000)
    await page.getByText('film.mp4 is larger than 10 MB.').waitFor()
    expect(sent).toEqual([])
    await attach('table.csv', 1_500_000)
    await page.getByRole('progressbar').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Remove: table.csv' }).click()
    await eventually(
      async () => (await client.get(`/api/sessions/${id}/files/uploads/table.csv`)).status,
      (status) => status === 404,
    )
    expect(sent).toHaveLength(1)
    await expect.poll(() => page.locator('.chip').count()).toBe(0)
  })

  itInTurn('goes from one message of the person to the next by Alt and an arrow', async () => {
    const { json } = await client.post('/api/sessions/import', {
      format: 'talaria.session',
      version: 1,
      session: { title: 'Long' },
      messages: ['One', 'Two', 'Three'].flatMap((content) => [
        { role: 'user', content },
        { role: 'assistant', content: `${content}\n`.repeat(60) },
      ]),
    })
    await open(json.id)
    await composer().focus()
    const focused = () =>
      page.evaluate(`document.activeElement.querySelector('.bubble')?.innerText ?? document.activeElement.tagName`)
    for (const expected of ['Three', 'Two', 'One', 'One']) {
      await page.keyboard.press('Alt+ArrowUp')
      await expect.poll(focused).toBe(expected)
    }
    await expect.poll(() => page.locator('.block.user').first().isVisible()).toBe(true)
    for (const expected of ['Two', 'Three', 'TEXTAREA']) {
      await page.keyboard.press('Alt+ArrowDown')
      await expect.poll(focused).toBe(expected)
    }
    expect(errors).toEqual([])
  })

  itInTurn(
    'offers push messages once, in place after the first approval that allows, and turns them off and on in the account',
    async () => {
      const asking = await browser.newContext({ locale: 'en-US', serviceWorkers: 'allow' })
      await asking.addInitScript(pushService)
      const { client: other } = await newTenant(owner)
      const asked = await signIn(await asking.newPage(), other)
      const calls: string[] = []
      asked.on('response', (response) => {
        const method = response.request().method()
        if (response.url().endsWith('/api/push') && method !== 'GET') calls.push(`${method} ${response.status()}`)
      })
      const offer = asked.getByRole('region', { name: 'Messages to this device' })
      const answered = (text: string) => asked.locator('.block.text', { hasText: text }).last().waitFor()
      const decide = async (decision: string, word: string) => {
        await composer(asked).fill(`[[call terminal {"command":"rm -rf ${word}"} then say ${word} was seen]]`)
        await composer(asked).press('Enter')
        await asked.getByRole('alertdialog').getByRole('button', { name: decision }).click()
        if (decision === 'Deny') await asked.getByRole('dialog').getByRole('button', { name: 'Deny' }).click()
        await answered(`${word} was seen`)
      }
      await decide('Deny', 'refused')
      expect(await offer.count()).toBe(0)
      await decide('Allow once', 'first')
      await offer.waitFor()
      // It covers nothing, and takes no key.
      expect(await asked.getByRole('dialog').count()).toBe(0)
      await composer(asked).press('Control+a')
      await asked.keyboard.type('[[say typed]]')
      await asked.keyboard.press('Enter')
      await answered('typed')
      await offer.getByRole('button', { name: 'Turn on' }).click()
      await offer.waitFor({ state: 'detached' })
      await eventually(
        () => calls,
        (made) => made.length === 1,
      )
      await decide('Allow once', 'second')
      expect(await offer.count()).toBe(0)
      await asked.evaluate(`location.hash = '#/account'`)
      await asked.getByRole('button', { name: 'Turn off' }).click()
      await asked.getByRole('button', { name: 'Turn on' }).click()
      await asked.getByRole('button', { name: 'Turn off' }).waitFor()
      await expect.poll(() => calls).toEqual(['POST 204', 'DELETE 204', 'POST 204'])
      await asking.close()
    },
  )
})

/** The headless browser has neither a push service nor a place to ask for the permission. The keys are of RFC 8291. */
const pushService = `{
  const keys = {
    p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  }
  const endpoint = 'https://push.example.org/browser'
  let subscription = null
  const made = { endpoint, toJSON: () => ({ endpoint, expirationTime: null, keys }), unsubscribe: async () => !(subscription = null) }
  let permission = 'default'
  Object.defineProperty(Notification, 'permission', { get: () => permission })
  Notification.requestPermission = async () => (permission = 'granted')
  PushManager.prototype.getSubscription = async () => subscription
  PushManager.prototype.subscribe = async () => (subscription = made)
}`

type Place = (from: number, to: number) => void

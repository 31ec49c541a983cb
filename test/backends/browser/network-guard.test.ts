/** Tests on a real Chromium that pages reach no private address, whoever sends them there. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkBrowserAddress } from '#backends/browser/perform.ts'
import { type BrowserSession, newBrowserSession, refOf } from './support/browser-session.ts'
import { firstRows } from '../../support/long.ts'
import { chromiums } from './support/chromium.mjs'
import { address, type Site, startSite } from './support/site.mjs'
import { useChromium } from './support/use-chromium.ts'

it.each([
  'file:///etc/passwd',
  'data:text/html,x',
  'javascript:alert(1)',
  'chrome://version',
  'view-source:http://a.example.com',
  'blob:http://a.example.com/1',
  'about:blank',
  'ftp://a.example.com',
  'devtools://x',
  'no address',
])('refuses %s', (url) => {
  expect(checkBrowserAddress(url)).toBeDefined()
})

describe.each(firstRows(1, chromiums))('the network of a page in %s', (path) => {
  let site: Site
  let session: BrowserSession
  /** Reaches a private network, so that every request is judged and the page stands still between calls. */
  let inside: BrowserSession

  beforeAll(async () => {
    const browser = await useChromium(path)
    site = await startSite()
    session = await newBrowserSession(browser, site.network)
    inside = await newBrowserSession(browser, site.network, { reachesPrivate: true })
  })
  afterAll(async () => {
    await Promise.all([session.close(), inside.close()])
    site.close()
  })

  const refused = [
    'http://127.0.0.1/',
    'http://169.254.169.254/',
    'http://user:pw@site.example.com/',
    'file:///etc/passwd',
    'http://site.example.com:22/',
    'chrome://version',
    'http://localhost/',
    'http://0x7f.1/',
    'http://[::1]/',
  ]
  it.each(firstRows(2, refused, 1))('does not reach %s, neither at once nor by a redirect', async (url) => {
    await expect(session.go(url)).rejects.toThrow('may not be opened')
    await expect(session.go(address(`/to?url=${encodeURIComponent(url)}`))).rejects.toThrow(
      /may not be opened|could not be opened/,
    )
    expect(session.state().url).not.toContain(url)
  })

  const reached = async () => {
    const { result } = await session.act({ kind: 'console', isCleared: false, expression: 'location.href' })
    return JSON.parse(String(result)) as string
  }

  const inner = [
    'http://0x7f.1:9/',
    'file:///etc/passwd',
    'data:text/html,<h1>inside</h1>',
    'chrome://version',
    'http://127.0.0.1:9/',
    'http://2130706433:9/',
    'http://[::ffff:127.0.0.1]:9/',
    'http://10.0.0.1/',
    'http://169.254.169.254/',
    'view-source:http://site.example.com/second',
  ]
  it.each(firstRows(1, inner, 1))('is not led to %s by a refresh or a frame', async (url) => {
    const query = `?url=${encodeURIComponent(url)}`
    await session.go(address(`/refresh-to${query}`)).catch(() => undefined)
    expect(await reached()).toMatch(/^(?:about:blank|http:\/\/site\.example\.com\/)/)
    const framed = await session.act({ kind: 'navigate', url: address(`/frame-to${query}`) })
    expect(framed['snapshot']).toContain('heading "Outside"')
    expect(await reached()).toBe(address(`/frame-to${query}`))
    const blocked = (framed['blocked_requests'] as readonly string[] | undefined) ?? []
    expect(blocked).toHaveLength(url.startsWith('http') ? 1 : 0)
    expect(await session.snapshot(true)).not.toMatch(/root:|meta-data|Command Line|User Agent/)
  })

  it('follows redirects to public addresses', async () => {
    expect(await session.go(address('/to?url=/second'))).toContain('Second page')
  })

  it('is left when a link or a refresh leads to a private address', async () => {
    const seen = await session.go(address('/'))
    await expect(session.act({ kind: 'click', ref: refOf(seen, 'Private') })).rejects.toThrow('loopback')
    expect(await session.snapshot()).toBe('')
    await expect(session.go(address('/meta-refresh'))).rejects.toThrow('loopback')
  })

  it('blocks frames with private addresses and shows the rest', async () => {
    const answer = await session.act({ kind: 'navigate', url: address('/private-frame') })
    expect(answer).toMatchObject({ blocked_requests: ['http://169.254.169.254/latest/meta-data'] })
    expect(answer['snapshot']).toContain('heading "Outside"')
  })

  it('judges every request of a page where the browser reaches a private network', async () => {
    const answer = await inside.act({ kind: 'navigate', url: address('/private-fetch') })
    expect(answer['blocked_requests']).toEqual(
      expect.arrayContaining(['http://127.0.0.1:9/x', 'http://192.168.0.1/x.png']),
    )
    expect(await inside.act({ kind: 'console', isCleared: false, expression: 'document.title' })).toMatchObject({
      result: '"refused"',
    })
  })

  it('stands still between calls there, once it is quiet', async () => {
    const frozen = async (one: BrowserSession) => {
      const answer = await one.act({ kind: 'console', isCleared: false, expression: 'window.frozen' })
      return Number(answer['result'])
    }
    await inside.go(address('/freezes'))
    expect(await frozen(inside)).toBe(0)
    await new Promise((resolve) => setTimeout(resolve, 4_500))
    expect(await frozen(inside)).toBe(1)
  })

  it('has no permissions, and downloads nothing', async () => {
    await session.go(address('/permissions'))
    const { result } = await session.act({ kind: 'console', isCleared: false, expression: 'document.title' })
    expect(result).not.toContain('granted')
  })
})

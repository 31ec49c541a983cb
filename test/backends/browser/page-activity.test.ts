/** Tests that calls wait for what a page does, no longer than needed, on a real Chromium. */

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { NetworkGuard } from '#backends/browser/request-guard.ts'
import { firstRows, isLong, itInTurn } from '#test/support/long.ts'
import { type BrowserSession, newBrowserSession, refOf } from './support/browser-session.ts'
import { chromium } from './support/chromium.mjs'
import { type SlowSite, slowMs, startSlowSite } from './support/slow-site.mjs'
import { useChromium } from './support/use-chromium.ts'

const sleep = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

const modes = [
  ['that is frozen between calls', true],
  ['that runs between calls', false],
] as const

let browser: string | undefined
let site: SlowSite
beforeAll(async () => {
  if (chromium !== undefined) browser = await useChromium()
  site = await startSlowSite()
})
afterAll(() => site.close())

describe.skipIf(chromium === undefined).each(modes)('a page %s (needs Chromium)', (_name, reachesPrivate) => {
  let session: BrowserSession
  const network: NetworkGuard = {
    check: async () => undefined,
    mappedHosts: [],
    fetch: () => Promise.reject(new Error('no host is mapped')),
  }
  const act = (action: Parameters<BrowserSession['act']>[0]) => session.act(action)
  const open = (path: string) => act({ kind: 'navigate', url: `${site.base}${path}` })
  const click = (snapshot: unknown, text: string) => act({ kind: 'click', ref: refOf(String(snapshot), text) })
  const scroll = () => act({ kind: 'scroll', direction: 'down' })
  const waiting = async <T>(work: () => Promise<T>): Promise<{ readonly waitedMs: number; readonly value: T }> => {
    const before = session.waitedMs()
    const value = await work()
    return { waitedMs: session.waitedMs() - before, value }
  }

  beforeEach(async () => {
    session = await newBrowserSession(browser!, network, { reachesPrivate })
  })
  afterEach(() => session.close())

  it.runIf(reachesPrivate || isLong)('fills an endless list as it is scrolled', async () => {
    await open('/endless')
    const heights: unknown[] = []
    for (let n = 0; n < 6; n++) heights.push((await scroll())['height'])
    expect(await session.snapshot()).toContain('Item 4')
    expect(Number(heights.at(-1))).toBeGreaterThan(Number(heights[0]))
  })

  itInTurn.runIf(reachesPrivate)('sees scrolling after it stood still, also where it reacts late', async () => {
    await open('/scrolled')
    await sleep(3_600)
    await scroll()
    expect(await session.snapshot()).toContain('Item 7')
  })

  itInTurn.runIf(reachesPrivate)('loads pictures that come into view', async () => {
    await open('/lazy')
    for (let n = 0; n < 7; n++) await scroll()
    expect(await act({ kind: 'images' })).toMatchObject({ images: [{ alt: 'Late picture', width: 9 }] })
  })

  it('shows what a click loads slowly, in the answer that follows', async () => {
    const { snapshot } = await open('/slow-click')
    const { waitedMs, value } = await waiting(() => click(snapshot, 'Load'))
    expect(value).not.toHaveProperty('still_loading')
    expect(waitedMs).toBeLessThan(slowMs + 1_000)
    expect(await session.snapshot()).toContain('slow answer')
  })

  itInTurn.runIf(reachesPrivate)('shows suggestions for what was typed', async () => {
    const { snapshot } = await open('/typeahead')
    await act({ kind: 'type', ref: refOf(String(snapshot), 'Find'), text: 'abc' })
    expect(await session.snapshot()).toContain('Item 3')
  })

  itInTurn.runIf(reachesPrivate)('is opened by its scripts without a new document', async () => {
    const { snapshot } = await open('/spa')
    await click(snapshot, 'Next')
    expect(await session.snapshot()).toContain('slow answer')
    expect(session.state().url).toBe(`${site.base}/spa/next`)
  })

  const addresses = [
    ['/scripts', 'from script and later'],
    ['/late-fetch', 'slow answer'],
    ['/redirect', 'x and later'],
  ] as const
  itInTurn.each(reachesPrivate ? addresses : firstRows(1, addresses))(
    'is complete when it was opened: %s',
    async (path, text) => {
      expect((await open(path))['snapshot']).toContain(text)
    },
  )

  itInTurn.runIf(reachesPrivate)('is complete when a click led to it', async () => {
    const { snapshot } = await open('/leaving')
    expect(await click(snapshot, 'Leave')).toMatchObject({ url: `${site.base}/arrived` })
    expect(await session.snapshot()).toContain('x and later')
  })

  it('does not wait for streams, sockets and clocks', async () => {
    const opened = await waiting(() => open('/open-ends'))
    expect(opened.value).not.toHaveProperty('still_loading')
    const clicked = await waiting(() => click(opened.value['snapshot'], 'Go'))
    expect(Math.max(opened.waitedMs, clicked.waitedMs)).toBeLessThan(2_000)
  })

  itInTurn.runIf(reachesPrivate)('says that it is still loading where a request has no answer', async () => {
    const { waitedMs, value } = await waiting(() => open('/long-poll'))
    expect(value).toMatchObject({ still_loading: true, snapshot: expect.stringContaining('Poll') })
    expect(waitedMs).toBeLessThan(9_000)
  })

  itInTurn.runIf(reachesPrivate)('is shown though a picture never comes', async () => {
    const { waitedMs, value } = await waiting(() => open('/no-picture'))
    expect(value).toMatchObject({ title: 'ran', still_loading: true })
    expect(waitedMs).toBeLessThan(7_000)
  })

  itInTurn.runIf(reachesPrivate)('keeps a request that outlasts the call', async () => {
    const { snapshot } = await open('/outlasting')
    expect(await click(snapshot, 'Long')).toMatchObject({ still_loading: true })
    await sleep(5_000)
    const title = () => act({ kind: 'console', isCleared: false, expression: 'document.title' })
    await expect.poll(title).toMatchObject({ result: '"slow answer"' })
  })

  itInTurn.runIf(reachesPrivate)('costs no wait where an action changes nothing', async () => {
    await open('/still')
    await act({ kind: 'press', key: 'Tab' })
    const { waitedMs } = await waiting(() => act({ kind: 'press', key: 'Tab' }))
    expect(waitedMs).toBe(0)
  })

  itInTurn.runIf(reachesPrivate)('that answers with an error is an error with its status', async () => {
    for (const status of [401, 403, 404, 429, 451, 500]) {
      const refused = await open(`/status/${status}`)
      expect(refused).toMatchObject({ error: expect.stringContaining(`status ${status}`), http_status: status })
      expect(await act({ kind: 'snapshot', isFull: false })).toMatchObject({ http_status: status })
    }
    const seen = await session.snapshot()
    expect(await click(seen, 'Home')).not.toHaveProperty('http_status')
    expect(await open('/still')).not.toHaveProperty('error')
  })

  itInTurn('that a click leads to has its status too', async () => {
    const { snapshot } = await open('/to-error')
    expect(await click(snapshot, 'Forbidden')).toMatchObject({ success: true, http_status: 403 })
  })
})

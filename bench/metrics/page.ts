/** P19: measures the page in Chromium: until it is usable, while an answer streams, with a long conversation, and in use. */

import type { CDPSession, Page } from 'playwright-core'
import { type Browser, chromium, launchBrowser } from '../../test/e2e/support/chromium.ts'
import { json, type Target } from '../client.ts'
import { atLeast, atMost, type Goal, type Metric, type Row, times } from '../metric.ts'
import { quantile } from '../stats.ts'
import {
  measureApproval,
  measureCatchUp,
  measureHeap,
  measureOlder,
  measureOpening,
  measureTyping,
} from './page-use.ts'
import { beginAnswer, createSession, openSession, signIn, slowCpu, throttle } from './page-visit.ts'

/** Slow 4G: 150 ms of latency, 1.6 Mbit/s down. */
const slow4g = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 }
const paragraph =
  '## A heading\n\nSome **bold** and `code` words in a line, with [a link](https://example.com/) in it.\n\n- one\n- two\n- three\n\n```js\nconst sum = (a, b) => a + b\nconsole.log(sum(1, 2))\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n'
/** About 800 words, which is eight seconds at 100 a second. */
const answer = paragraph.repeat(14)

type Sample = Readonly<Record<string, number>>

/** Intervals between frames in ms, and the longest task, until the answer ends. */
const frames = `new Promise((resolve) => {
  const gaps = []; let longest = 0; let last = performance.now(); let ending = 0
  new PerformanceObserver((list) => { for (const one of list.getEntries()) longest = Math.max(longest, one.duration) }).observe({ type: 'longtask' })
  const step = (now) => {
    gaps.push(now - last); last = now
    const ended = [...document.querySelectorAll('button')].some((one) => one.textContent === 'Answer again' || one.getAttribute('aria-label') === 'Answer again')
    if (ended || now - ending > 60000 && ending) return resolve({ gaps, longest })
    requestAnimationFrame(step)
  }
  ending = performance.now()
  requestAnimationFrame(step)
})`

/** Milliseconds from the navigation until the composer can be typed into, with an empty cache. */
const measureStart = async (target: Target, browser: Browser, locale: string): Promise<number> => {
  // A service worker would answer from its own cache.
  const context = await browser.newContext({ locale, serviceWorkers: 'block' })
  await signIn(target, context)
  const page = await context.newPage()
  const cdp = await context.newCDPSession(page)
  await cdp.send('Network.enable')
  await cdp.send('Network.clearBrowserCache')
  await cdp.send('Network.emulateNetworkConditions', slow4g)
  await throttle(cdp, slowCpu)
  await page.addInitScript(`new MutationObserver(() => {
    const field = document.querySelector('textarea')
    if (field && !field.disabled && window.usableAt === undefined) window.usableAt = performance.now()
  }).observe(document, { subtree: true, childList: true })`)
  await page.goto(`${target.origin}/`)
  await page.locator('.composer textarea').waitFor()
  const usableAt = await page.evaluate<number>('window.usableAt')
  await context.close()
  return usableAt
}

type Streamed = { readonly fps: number; readonly p95: number; readonly longest: number; readonly work: number }

/** Seconds of the processor that the main thread has had. Other load of the machine does not count. */
const readWork = async (cdp: CDPSession): Promise<number> => {
  const { metrics } = await cdp.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN
}

/** Frames while an answer of Markdown streams at 100 words a second. */
const measureStream = async (target: Target, page: Page, rate: number): Promise<Streamed> => {
  const id = await createSession(target)
  await openSession(target, page, id)
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  await throttle(cdp, rate)
  const idle = await readWork(cdp)
  await beginAnswer(target, page, { id, input: `[[slow ttft=50 gap=10]] [[echo]] ${answer}` })
  const { gaps, longest } = await page.evaluate<{ gaps: number[]; longest: number }>(frames)
  const worked = (await readWork(cdp)) - idle
  await throttle(cdp, 1)
  await cdp.send('Performance.disable')
  const total = gaps.reduce((sum, gap) => sum + gap, 0)
  return { fps: (gaps.length * 1_000) / total, p95: quantile(gaps, 0.95), longest, work: (1e6 * worked) / total }
}

type Long = { readonly shown: number; readonly elements: number; readonly hiddenFrames: number }

/** Milliseconds until the end of 10 000 messages stands in the page, from the click. */
const measureLong = async (target: Target, page: Page, id: string, rate: number): Promise<Long> => {
  const cdp = await page.context().newCDPSession(page)
  await page.goto(`${target.origin}/#/`)
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  await throttle(cdp, rate)
  const shown = await page.evaluate<number>(`new Promise((resolve) => {
    const began = performance.now()
    const step = () => document.querySelector('.list')?.textContent.includes('message 9999')
      ? resolve(performance.now() - began) : requestAnimationFrame(step)
    location.hash = '#/chat/${id}'
    step()
  })`)
  await throttle(cdp, 1)
  const elements = await page.locator('.list article').count()
  const hiddenFrames = await page.evaluate<number>(`new Promise((resolve) => {
    const original = requestAnimationFrame; let asked = 0
    window.requestAnimationFrame = (callback) => (asked++, original(callback))
    Object.defineProperty(document, 'hidden', { value: true, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
    setTimeout(() => { window.requestAnimationFrame = original; delete document.hidden; resolve(asked) }, 1000)
  })`)
  return { shown, elements, hiddenFrames }
}

const importLong = async (target: Target): Promise<string> => {
  const messages = Array.from({ length: 10_000 }, (_, at) => ({
    role: at % 2 ? 'assistant' : 'user',
    content: `message ${at}`,
  }))
  const body = { format: 'talaria.session', version: 1, session: { title: 'Long' }, messages }
  return (await json<{ id: string }>(target, 'POST', '/api/sessions/import', body)).id
}

const goals: Readonly<Record<string, { readonly what: string; readonly unit: string; readonly goal: Goal }>> = {
  usable: { what: 'composer usable, slow 4G, CPU slowed 4×', unit: 'ms', goal: atMost(1_000) },
  usableGerman: { what: 'the same in German, whose words are a file of their own', unit: 'ms', goal: atMost(1_000) },
  fps: { what: 'frames a second at 100 words a second, CPU slowed 4×', unit: '/s', goal: atLeast(50) },
  p95: { what: 'frame p95 of the same', unit: 'ms', goal: atMost(34) },
  longest: { what: 'longest task of the same', unit: 'ms', goal: atMost(100) },
  work: {
    what: 'processor time a second at 100 words a second: a CPU slowed 4× has no more',
    unit: 'ms',
    goal: atMost(250),
  },
  fast: { what: 'frames a second at 100 words a second', unit: '/s', goal: atLeast(59) },
  shown: { what: '10 000 messages: end shown', unit: 'ms', goal: atMost(200) },
  shownSlow: { what: '10 000 messages: end shown, CPU slowed 4×', unit: 'ms', goal: atMost(1_000) },
  elements: { what: '10 000 messages: in the page', unit: '', goal: atMost(200) },
  typing: { what: 'key shown, p95, at 100 words a second, CPU slowed 4×', unit: 'ms', goal: atMost(50) },
  opened: {
    what: '500 messages: longest task until all are shown, processor time',
    unit: 'ms',
    goal: atMost(100),
  },
  heap: { what: '500 messages: heap after a collection', unit: 'MB', goal: atMost(15) },
  older: { what: '10 000 messages: older ones shown', unit: 'ms', goal: atMost(100) },
  jump: { what: '10 000 messages: distance that the text moves then', unit: 'px', goal: atMost(1) },
  caughtUp: { what: 'answer complete after the network is back', unit: 'ms', goal: atMost(1_000) },
  decided: { what: 'approval gone from another tab', unit: 'ms', goal: atMost(1_000) },
  requests: { what: 'opening a session: requests', unit: '', goal: atMost(2) },
  sockets: { what: 'opening a session: sockets', unit: '', goal: atMost(1) },
  hidden: { what: 'frames that a hidden tab asks for in a second', unit: '', goal: atMost(0) },
}

/** Which figures each part of a round measures. The last one changes the sockets of its page. */
const parts: readonly [string, (visit: Visit) => Promise<Sample>][] = [
  [
    'start',
    async ({ target, browser }) => ({
      usable: await measureStart(target, browser, 'en-US'),
      usableGerman: await measureStart(target, browser, 'de-DE'),
    }),
  ],
  [
    'stream',
    async ({ target, page }) => {
      const { work: _slowed, ...slowed } = await measureStream(target, page, slowCpu)
      const { fps: fast, work } = await measureStream(target, page, 1)
      return { ...slowed, fast, work }
    },
  ],
  [
    'long',
    async ({ target, page, long }) => {
      const id = await long()
      const { shown, elements, hiddenFrames: hidden } = await measureLong(target, page, id, 1)
      const { shown: shownSlow } = await measureLong(target, page, id, slowCpu)
      const use = { ...(await measureOpening(target, page, id)), ...(await measureOlder(target, page, id)) }
      return { shown, shownSlow, elements, hidden, ...use }
    },
  ],
  ['typing', async ({ target, page }) => ({ typing: await measureTyping(target, page) })],
  ['heap', ({ target, page }) => measureHeap(target, page)],
  ['approval', async ({ target, page }) => ({ decided: await measureApproval(target, page) })],
  ['network', async ({ target, page }) => ({ caughtUp: await measureCatchUp(target, page) })],
]

type Visit = {
  readonly target: Target
  readonly browser: Browser
  readonly page: Page
  readonly long: () => Promise<string>
}

const measure = async (given: Omit<Visit, 'page'>, only: readonly string[]): Promise<Sample> => {
  const context = await given.browser.newContext({ locale: 'en-US', viewport: { width: 390, height: 800 } })
  await signIn(given.target, context)
  const page = await context.newPage()
  let found: Sample = {}
  for (const [name, part] of parts) if (only.includes(name)) found = { ...found, ...(await part({ ...given, page })) }
  await context.close()
  return found
}

export const webPage: Metric = {
  id: 'P19',
  what: 'the page',
  run: async (stage, { rounds, quick, only = parts.map(([name]) => name) }) => {
    if (chromium === undefined) throw new Error('needs a Chromium: apt-get install chromium')
    const { target } = await stage.ours()
    const browser = await launchBrowser()
    try {
      let imported: Promise<string> | undefined
      const long = () => (imported ??= importLong(target))
      const count = quick ? 2 : Math.min(rounds, 8)
      const samples = await times(count, () => measure({ target, browser, long }, only))
      return Object.entries(goals)
        .filter(([name]) => samples.every((one) => one[name] !== undefined))
        .map(([name, goal]): Row => ({ metric: 'P19', ...goal, samples: samples.map((one) => one[name] ?? NaN) }))
    } finally {
      await browser.close()
    }
  },
}

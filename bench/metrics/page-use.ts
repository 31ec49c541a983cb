/** Measures what a person does in the page for P19: typing, reading older messages, losing the network, approving, opening. */

import type { Page } from 'playwright-core'
import { call, json, type Target } from '../client.ts'
import { quantile } from '../stats.ts'
import { beginAnswer, createSession, measureLongestTask, openSession, slowCpu, throttle } from './page-visit.ts'

/** Ends long after the typing. */
const longAnswer = '[[slow ttft=50 chunks=1500 gap=10]] count'
const typed = 'the quick brown fox jumps over the lazy dog '
const pauseMs = 100

/** The 95th percentile from a key to the frame that shows it, while an answer of 100 words a second streams. */
export async function measureTyping(target: Target, page: Page): Promise<number> {
  const id = await createSession(target)
  await openSession(target, page, id)
  await beginAnswer(target, page, { id, input: longAnswer })
  const cdp = await page.context().newCDPSession(page)
  const field = page.getByRole('textbox', { name: 'Message' })
  await field.focus()
  await throttle(cdp, slowCpu)
  // A message arrives after the frame is drawn.
  await page.evaluate(`window.keyMs = []; document.addEventListener('keydown', ({ timeStamp }) =>
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = () => window.keyMs.push(performance.now() - timeStamp)
      port2.postMessage(0)
    }), { capture: true })`)
  await page.keyboard.type(typed, { delay: pauseMs })
  const isStreaming = await page.getByRole('button', { name: 'Stop' }).isVisible()
  const found = await page.evaluate<number[]>('window.keyMs')
  await throttle(cdp, 1)
  await call(target, 'POST', `/api/sessions/${id}/stop`, {})
  await field.fill('')
  if (!isStreaming || found.length < typed.length / 2) throw new Error('The answer ended before the typing.')
  return quantile(found, 0.95)
}

const heapMessages = 500
const heapText =
  '## A heading\n\nSome **bold** and `code` words in a line.\n\n- one\n- two\n\n```js\nconst sum = (a, b) => a + b\n```\n'

type Heap = { readonly heap: number; readonly opened: number }

/**
 * Megabytes of the heap with a session of 500 messages, of which half are Markdown, after a collection; and the longest task
 * until all are loaded.
 */
export async function measureHeap(target: Target, page: Page): Promise<Heap> {
  const messages = Array.from({ length: heapMessages }, (_, at) => ({
    role: at % 2 ? 'assistant' : 'user',
    content: at % 2 ? `${heapText}\nanswer ${at}` : `question ${at}`,
  }))
  const body = { format: 'talaria.session', version: 1, session: { title: 'Heap' }, messages }
  const { id } = await json<{ id: string }>(target, 'POST', '/api/sessions/import', body)
  await page.goto('about:blank')
  await page.goto(`${target.origin}/#/`)
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  const opened = await measureLongestTask(page, async () => {
    await page.evaluate(`location.hash = '#/chat/${id}'`)
    await page.getByText(`answer ${heapMessages - 1}`).waitFor()
    // All of it is loaded by scrolling to its beginning.
    while (!(await page.getByText('question 0', { exact: true }).count())) {
      await page.evaluate("document.querySelector('.list').scrollTop = 0")
      await page.waitForTimeout(100)
    }
  })
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('HeapProfiler.collectGarbage')
  const { usedSize } = await cdp.send('Runtime.getHeapUsage')
  return { heap: usedSize / 1_000_000, opened }
}

type Older = { readonly older: number; readonly jump: number }

/** Milliseconds from scrolling to the beginning until older messages stand above it, and pixels that it moves by then. */
export async function measureOlder(target: Target, page: Page, id: string): Promise<Older> {
  await page.goto(`${target.origin}/#/`)
  await openSession(target, page, id)
  await page.getByText('message 9999').waitFor()
  return page.evaluate<Older>(`new Promise((resolve) => {
    const list = document.querySelector('.list')
    const first = list.querySelector('article')
    list.scrollTop = 0
    const began = performance.now()
    const top = first.getBoundingClientRect().top
    const step = () => list.querySelector('article') !== first
      ? resolve({ older: performance.now() - began, jump: Math.abs(first.getBoundingClientRect().top - top) })
      : requestAnimationFrame(step)
    requestAnimationFrame(step)
  })`)
}

const words = 100
const countedAnswer = `[[slow ttft=50 chunks=${words} gap=20]] count`

/** Milliseconds from the network's return until the whole answer is shown, which ended meanwhile: no word missing or twice. */
export async function measureCatchUp(target: Target, page: Page): Promise<number> {
  const id = await createSession(target)
  await page.addInitScript(`window.sockets = new Set(); window.WebSocket = class extends WebSocket {
    constructor(...given) { super(...given); window.sockets.add(this) }
  }`)
  await page.reload()
  await openSession(target, page, id)
  await beginAnswer(target, page, { id, input: countedAnswer })
  await page.context().setOffline(true)
  // Open sockets outlive the emulation, and a closing handshake may take a minute.
  await page.evaluate(`for (const one of window.sockets) one.dispatchEvent(new CloseEvent('close', { code: 1006 }))`)
  while ((await json<{ run: object | null }>(target, 'GET', `/api/sessions/${id}`)).run) await page.waitForTimeout(100)
  const shown = page.evaluate<number>(`new Promise((resolve) => {
    let began = NaN
    addEventListener('online', () => (began = performance.now()), { capture: true, once: true })
    const step = () => document.querySelector('.list').textContent.includes('word${words - 1}')
      ? resolve(performance.now() - began) : requestAnimationFrame(step)
    step()
  })`)
  await page.context().setOffline(false)
  const took = await shown
  const text = await page.locator('.block.text').last().innerText()
  const expected = Array.from({ length: words }, (_, at) => `word${at}`)
  if (text.trim().split(/\s+/).join() !== expected.join()) throw new Error(`Words are missing or came twice: ${text}`)
  return took
}

const asking = '[[call terminal {"command":"rm -rf build"} then say removed]]'

/** Milliseconds from the press in the chat of one tab until the inbox of another tab does not show the approval. */
export async function measureApproval(target: Target, page: Page): Promise<number> {
  const id = await createSession(target, { approvals: { mode: 'manual' } })
  const inbox = await page.context().newPage()
  await inbox.goto(`${target.origin}/#/inbox`)
  await openSession(target, page, id)
  const sent = call(target, 'POST', `/api/sessions/${id}/chat`, { input: asking, wait: false })
  await Promise.all([page, inbox].map((one) => one.getByRole('alertdialog').waitFor()))
  await sent
  const gone = inbox.evaluate<number>(`new Promise((resolve) => new MutationObserver(() =>
    document.querySelector('[role=alertdialog]') || resolve(Date.now())
  ).observe(document.body, { subtree: true, childList: true }))`)
  await page.evaluate(`addEventListener('click', () => (window.pressedAt = Date.now()), { capture: true, once: true })`)
  await page.getByRole('button', { name: 'Allow once' }).click()
  const took = (await gone) - (await page.evaluate<number>('window.pressedAt'))
  await page.locator('.block.text', { hasText: 'removed' }).waitFor()
  await inbox.close()
  return took
}

type Opening = { readonly requests: number; readonly sockets: number }

const settleMs = 1_000

/** Counts requests to the API and sockets from choosing a session until nothing more comes. */
export async function measureOpening(target: Target, page: Page, id: string): Promise<Opening> {
  await page.goto(`${target.origin}/#/`)
  await page.getByRole('textbox', { name: 'Message' }).waitFor()
  await page.waitForTimeout(settleMs)
  let [requests, sockets] = [0, 0]
  const onRequest = (one: { readonly url: () => string }) => {
    if (new URL(one.url()).pathname.startsWith('/api/')) requests++
  }
  const onSocket = () => void sockets++
  page.on('request', onRequest)
  page.on('websocket', onSocket)
  await page.evaluate(`location.hash = '#/chat/${id}'`)
  await page.getByText('message 9999').waitFor()
  await page.waitForTimeout(settleMs)
  page.off('request', onRequest)
  page.off('websocket', onSocket)
  return { requests, sockets }
}

/** Drives a headless Chromium over the DevTools protocol, if one is installed. */

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  chromium as playwright,
  type Browser as WholeBrowser,
  type BrowserContext,
  type BrowserContextOptions,
  type Locator,
  type Page as BrowserPage,
} from 'playwright-core'
import { addressFieldFeatures, findChromium, headlessFlags } from '../../../scripts/lib/chromium.mjs'
import { lendPage, takeIdlePage } from './idle-pages.ts'
import { writeSpeech } from './sound.ts'

/** The path of the preferred browser. */
export const chromium = findChromium()

/** A browser as a file of tests uses it: its contexts are its own, and `close` closes them. */
export type Browser = {
  readonly newContext: (options?: BrowserContextOptions) => Promise<BrowserContext>
  /** Opens a page in a context of its own, or takes an idle one (idle-pages.ts). */
  readonly takePage: (options: BrowserContextOptions) => Promise<BrowserPage>
  readonly close: () => Promise<void>
}

/** The browser of this process. It ends with the process: a start takes as long as many tests. */
let running: Promise<WholeBrowser> | undefined

/** Replaces the list of Playwright, whose names it begins with: Chromium reads the last list alone. */
const disabledFeatures = [
  'AutoDeElevate',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'BlockOriginHeaderModificationOnRedirect',
  'DestroyProfileOnBrowserClose',
  'DialMediaRouteProvider',
  'GlobalMediaControls',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'Translate',
  ...addressFieldFeatures,
  // A process that waits for the next site, beside each page.
  'SpareRendererForSitePerProcess',
]

function launch(): Promise<WholeBrowser> {
  const speech = writeSpeech()
  return playwright.launch({
    executablePath: chromium ?? '',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      `--disable-features=${disabledFeatures.join(',')}`,
      '--use-fake-ui-for-media-stream',
      '--use-fake-device-for-media-stream',
      `--use-file-for-fake-audio-capture=${speech}`,
      '--autoplay-policy=no-user-gesture-required',
    ],
  })
}

/** Without motion, and without the worker of the page, which loads every file of it in each context. */
const quiet: BrowserContextOptions = { serviceWorkers: 'block', reducedMotion: 'reduce' }

/** Starts the browser with the first file that needs one. */
export async function launchBrowser(): Promise<Browser> {
  const browser = await (running ??= launch())
  const contexts = new Set<BrowserContext>()
  const newContext = async (options: BrowserContextOptions = {}) => {
    const context = await browser.newContext({ ...quiet, ...options })
    contexts.add(context)
    context.once('close', () => void contexts.delete(context))
    return context
  }
  return {
    newContext,
    takePage: async (options) => {
      const page = (await takeIdlePage(options)) ?? (await (await newContext(options)).newPage())
      contexts.add(page.context())
      lendPage(page, options, () => void contexts.delete(page.context()))
      return page
    },
    close: async () => void (await Promise.all([...contexts].map((context) => context.close()))),
  }
}

export type Box = { readonly x: number; readonly y: number; readonly width: number; readonly height: number }
type Drawn = { readonly isConnected: boolean; getBoundingClientRect(): Box }
declare const requestAnimationFrame: (next: (time: number) => void) => number

/**
 * Reads where elements stand, all at one moment and after two frames in which none of them moved. Boxes that are read
 * one after the other cannot be compared, because the page may scroll between.
 */
export async function readBoxes<const Found extends readonly Locator[]>(
  ...found: Found
): Promise<{ readonly [At in keyof Found]: Box }> {
  for (;;) {
    const elements = await Promise.all(found.map((one) => one.elementHandle()))
    const boxes = await found[0]?.page().evaluate(readSettledBoxes, elements)
    if (boxes) return boxes as unknown as { readonly [At in keyof Found]: Box }
  }
}

/** Runs in the page. Undefined: an element was replaced meanwhile. */
async function readSettledBoxes(elements: readonly unknown[]): Promise<readonly Box[] | undefined> {
  const drawn = elements as readonly Drawn[]
  let before = ''
  for (;;) {
    await new Promise(requestAnimationFrame)
    if (!drawn.every((element) => element.isConnected)) return undefined
    const boxes = drawn.map((element) => {
      const { x, y, width, height } = element.getBoundingClientRect()
      return { x, y, width, height }
    })
    const now = JSON.stringify(boxes)
    if (now === before) return boxes
    before = now
  }
}

type Params = Record<string, unknown>
type Incoming = { readonly id?: number; readonly method?: string; readonly params?: Params; readonly result?: Params }

export type Page = {
  /** Addresses of all requests. */
  readonly requests: string[]
  /** Errors of the console, of scripts and of the content security policy. */
  readonly errors: string[]
  readonly goTo: (url: string) => Promise<void>
  /** Evaluates an expression in the page. */
  readonly evaluate: <T>(expression: string) => Promise<T>
  /** Polls until the expression is true. */
  readonly until: (expression: string, timeoutMs?: number) => Promise<void>
  readonly type: (text: string) => Promise<void>
  readonly setScripts: (enabled: boolean) => Promise<void>
  readonly setScheme: (scheme: 'light' | 'dark') => Promise<void>
}

export async function openBrowser(path = chromium ?? ''): Promise<{ newPage: () => Promise<Page>; close: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), 'talaria-chromium-'))
  const options = [...headlessFlags, '--no-sandbox', '--window-size=1300,900', `--user-data-dir=${folder}`]
  const pipes = ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] as const
  const child = spawn(path, [...options, 'about:blank'], {
    stdio: [...pipes],
  })
  const address = await new Promise<string>((resolve, reject) => {
    let output = ''
    child.stderr?.on('data', (part) => {
      output += String(part)
      const [, url] = /DevTools listening on (ws:\S+)/.exec(output) ?? []
      if (url !== undefined) resolve(url)
    })
    child.on('exit', () => reject(new Error(`${path} ended:\n${output}`)))
  })
  const socket = new WebSocket(address)
  await new Promise((resolve) => socket.addEventListener('open', resolve))
  const close = () => {
    socket.close()
    child.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
    for (const pipe of child.stdio.slice(3)) pipe?.destroy()
  }
  return { newPage: () => newPage(socket), close }
}

async function newPage(socket: WebSocket): Promise<Page> {
  const waiting = new Map<number, (answer: Params) => void>()
  const [requests, errors]: [string[], string[]] = [[], []]
  let sent = 0
  socket.addEventListener('message', ({ data }) => {
    const { id, method = '', params = {}, result = {} } = JSON.parse(String(data)) as Incoming
    if (id !== undefined) return waiting.get(id)?.(result)
    if (method === 'Network.requestWillBeSent') requests.push((params['request'] as { url: string }).url)
    const isError =
      method === 'Runtime.exceptionThrown' ||
      (method === 'Runtime.consoleAPICalled' && params['type'] === 'error') ||
      (method === 'Log.entryAdded' && (params['entry'] as { level: string }).level === 'error')
    if (isError) errors.push(JSON.stringify(params).slice(0, 600))
  })
  const send = (method: string, params: Params = {}, sessionId?: unknown) =>
    new Promise<Params>((resolve) => {
      waiting.set(++sent, resolve)
      socket.send(JSON.stringify({ id: sent, method, params, ...(sessionId !== undefined && { sessionId }) }))
    })
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' })
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true })
  const page = (method: string, params?: Params) => send(method, params, sessionId)
  for (const domain of ['Network', 'Runtime', 'Log', 'Page']) await page(`${domain}.enable`)
  const evaluate = async <T>(expression: string): Promise<T> => {
    const { result } = await page('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })
    return (result as { value: T }).value
  }
  return {
    requests,
    errors,
    evaluate,
    goTo: async (url) => void (await page('Page.navigate', { url })),
    type: async (text) => void (await page('Input.insertText', { text })),
    setScripts: async (enabled) => void (await page('Emulation.setScriptExecutionDisabled', { value: !enabled })),
    setScheme: async (value) =>
      void (await page('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] })),
    until: async (expression, timeoutMs = 40_000) => {
      for (const deadline = Date.now() + timeoutMs; Date.now() < deadline; await delay(50))
        if (await evaluate<boolean>(`Boolean(${expression})`)) return
      const text = await evaluate<string>('document.body.innerText')
      throw new Error(`not in ${timeoutMs} ms: ${expression}\n${errors.join('\n')}\n${text.slice(0, 2_000)}`)
    },
  }
}

/** Drives a headless Chromium, if one is installed. */

import {
  chromium as playwright,
  type Browser as WholeBrowser,
  type BrowserContext,
  type BrowserContextOptions,
  type Locator,
  type Page as BrowserPage,
} from 'playwright-core'
import { addressFieldFeatures, findChromium } from '../../../scripts/lib/chromium.mjs'
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

/** Collects the addresses of all requests, and errors of the console, of scripts and of the content security policy. */
export function watchPage(page: BrowserPage): { readonly requests: string[]; readonly errors: string[] } {
  const [requests, errors]: [string[], string[]] = [[], []]
  page.on('request', (request) => requests.push(request.url()))
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  page.on('pageerror', (error) => errors.push(error.message))
  return { requests, errors }
}

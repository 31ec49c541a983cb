/** Opens the page in Chromium for the tests of its parts, and checks it with axe. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Browser } from './chromium.ts'
import { eventually, type Client } from './client.ts'
import { owner, server } from './here.ts'
import { giveBack } from './idle-pages.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const fields = { 'en-US': 'Message', 'de-DE': 'Nachricht' }
export type Locale = keyof typeof fields

export const origin = server.url.replace('127.0.0.1', 'localhost')

const cookies = new Map<string, Promise<{ readonly name: string; readonly value: string }>>()

/** Signs a key in once. A context with its cookie loads the page at any address, without the way over a link. */
function readCookie({ key = '' }: Client) {
  const known = cookies.get(key) ?? requestCookie(key)
  cookies.set(key, known)
  return known
}

async function requestCookie(key: string) {
  const { headers } = await owner
    .as(undefined)
    .send('POST', '/api/login', { body: { key }, headers: { origin: server.url } })
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(headers.get('set-cookie') ?? '') ?? []
  return { name, value }
}

export type SignIn = BrowserContextOptions & {
  /** What the console of the page reports. */
  readonly errors?: string[]
  /** Addresses of all requests. */
  readonly requests?: string[]
  /** The fragment of the address, such as `chat/ses_1`. */
  readonly at?: string
  /** A script that runs before those of the page. */
  readonly script?: string
}

/** Opens the page for a key, in a context that no other test has at that time. */
export async function signIn(browser: Browser, client: Client, given: SignIn = {}): Promise<Page> {
  const { errors = [], requests = [], at = '', script, ...options } = given
  const look = { locale: 'en-US', viewport: { width: 1280, height: 740 }, ...options }
  // A script of a page stays.
  const page = script === undefined ? await browser.takePage(look) : await (await browser.newContext(look)).newPage()
  const cookie = await readCookie(client)
  await page.context().addCookies([{ ...cookie, url: origin, httpOnly: true, sameSite: 'Lax' }])
  page.setDefaultTimeout(30_000)
  page.on(
    'console',
    (message) => message.type() === 'error' && errors.push(`${message.text()} ${message.location().url}`),
  )
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('request', (request) => requests.push(request.url()))
  if (script !== undefined) await page.addInitScript(script)
  await page.goto(`${origin}/#/${at}`)
  await page
    .locator(at.startsWith('chat/') ? '.list' : '.composer textarea, .screen')
    .first()
    .waitFor()
  return page
}

/** Gives a page back. One whose media, network or clock was changed is closed with its context instead. */
export const leave = async (page: Page | undefined): Promise<void> => page && giveBack(page, origin)

export const openPage = (
  browser: Browser,
  client: Client,
  { locale, width, ...more }: SignIn & { readonly locale: Locale; readonly width: number },
): Promise<Page> => signIn(browser, client, { locale, viewport: { width, height: 740 }, ...more })

/** The field of the message. */
export const fieldOf = (page: Page, locale: Locale) => page.getByRole('textbox', { name: fields[locale] })

/** Resolves when the screen and all its panels are loaded. */
export async function openScreen(page: Page, screen: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#/${screen}`)}`)
  await page.locator('.screen').waitFor()
  await eventually(
    () => page.locator('.skeleton').count(),
    (count) => count === 0,
  )
}

/** Whether nothing has to be scrolled sideways. */
export const fits = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth')

export type Theme = 'light' | 'dark' | 'contrast'

/** Lists the violations of WCAG and of good practice that axe finds. Other themes differ in their colours alone. */
export async function findViolations(
  page: Page,
  {
    theme,
    isColour = false,
    within,
  }: {
    readonly theme?: Theme
    readonly isColour?: boolean
    /** A selector; without it the whole page. */
    readonly within?: string
  } = {},
): Promise<readonly string[]> {
  if (!(await page.evaluate('Boolean(globalThis.axe)'))) await page.evaluate(axe)
  return page.evaluate(`(async () => {
    ${theme ? `document.documentElement.dataset.theme = '${theme}'` : ''}
    const options = { resultTypes: ['violations'], iframes: false${isColour ? ", runOnly: ['color-contrast']" : ''} }
    const { violations } = await axe.run(${within === undefined ? 'document' : JSON.stringify(within)}, options)
    return violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html.slice(0, 200)).join(' '))
  })()`)
}

export const audit = async (page: Page): Promise<void> => expect(await findViolations(page)).toEqual([])

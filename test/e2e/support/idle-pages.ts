/**
 * Keeps the pages that tests have given back. The context of a new page, its window and its process cost more than the load
 * of the page, and scripts that a process has run before are not compiled again.
 */

import type { BrowserContextOptions, Page } from 'playwright-core'

type Lent = { readonly kind: string; readonly forget: () => void }

const lent = new WeakMap<Page, Lent>()
const idle = new Map<string, Page[]>()

/** Pages of one kind differ in their size alone, which can be changed. */
const kindOf = (options: BrowserContextOptions): string =>
  JSON.stringify(
    Object.entries(options)
      .filter(([name]) => name !== 'viewport')
      .toSorted(),
  )

export async function takeIdlePage(options: BrowserContextOptions): Promise<Page | undefined> {
  const page = idle.get(kindOf(options))?.pop()
  if (page && options.viewport) await page.setViewportSize(options.viewport)
  return page
}

/** `forget`: the file that has the page does not close it at its end. */
export const lendPage = (page: Page, options: BrowserContextOptions, forget: () => void): void =>
  void lent.set(page, { kind: kindOf(options), forget })

const events = ['console', 'dialog', 'pageerror', 'request', 'requestfailed', 'response', 'websocket'] as const

/** Takes a page back without anything that its test left there: routes, listeners, cookies and stored values. */
export async function giveBack(page: Page, origin: string): Promise<void> {
  const context = page.context()
  const { kind, forget } = lent.get(page) ?? {}
  if (kind === undefined || forget === undefined || context.pages().length > 1) return context.close()
  lent.delete(page)
  for (const event of events) page.removeAllListeners(event)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  // A document without scripts, of the same origin, so that the process stays.
  await page.goto(`${origin}/icon.svg`)
  await page.evaluate('sessionStorage.clear()')
  const devtools = await context.newCDPSession(page)
  await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
  await devtools.detach()
  await context.clearCookies()
  forget()
  idle.set(kind, [...(idle.get(kind) ?? []), page])
}

/** Sends a command of the DevTools protocol that the model has written. Only commands that stay within the page pass. */

import type { BrowserAction } from '#agent/core/browser/browser.ts'
import { BrowserProblem } from './element.ts'
import type { BrowserPage } from './page.ts'

const maxTimeoutMs = 120_000

/** Domains that read or shape the page that is shown. None of them navigates, stores, downloads or reaches other pages. */
const domains: ReadonlySet<string> = new Set([
  'Accessibility',
  'CSS',
  'DOM',
  'DOMSnapshot',
  'Emulation',
  'Input',
  'LayerTree',
  'Performance',
])
const pageMethods: ReadonlySet<string> = new Set([
  'Page.captureSnapshot',
  'Page.getFrameTree',
  'Page.getLayoutMetrics',
  'Page.getNavigationHistory',
])
/** It gives files of the machine to the page. */
const refused: ReadonlySet<string> = new Set(['DOM.setFileInputFiles', 'DOM.getFileInfo'])

function isAllowedCommand(method: string): boolean {
  const [domain = '', name, ...rest] = method.split('.')
  if (!name || rest.length > 0 || refused.has(method)) return false
  return domains.has(domain) || pageMethods.has(method)
}

export async function sendRawCommand(
  { method, params, frameId, timeoutMs }: Extract<BrowserAction, { kind: 'cdp' }>,
  page: BrowserPage,
): Promise<string> {
  if (!isAllowedCommand(method)) {
    const allowed = [...[...domains].map((domain) => `${domain}.*`), ...pageMethods].join(', ')
    throw new BrowserProblem(`${method.slice(0, 100)} is not allowed here. Allowed: ${allowed}.`)
  }
  if (frameId !== undefined && !(await page.frames()).some(({ id }) => id === frameId))
    throw new BrowserProblem('There is no such frame. Page.getFrameTree lists the frames.')
  const options = { timeoutMs: Math.min(timeoutMs, maxTimeoutMs), ...(frameId !== undefined && { frameId }) }
  return JSON.stringify(await page.send(method, params, options))
}

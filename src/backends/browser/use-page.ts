/** Opens the page of a browser, and attaches to it for the time of one call. */

import type { ScheduleTimer } from '#agent/core/clock.ts'
import type { OpenBrowser } from '#agent/core/browser/browser-state.ts'
import { CdpError } from './cdp.ts'
import { BrowserProblem } from './element.ts'
import { type ActionOutcome, type PageAction, performAction } from './perform.ts'
import { BrowserPage } from './page.ts'
import type { NetworkGuard } from './request-guard.ts'
import type { AcquiredBrowser, BrowserVendor } from './vendors.ts'

export type UseOptions = {
  readonly vendor: BrowserVendor
  readonly network: NetworkGuard
  readonly schedule: ScheduleTimer
  readonly signal?: AbortSignal | undefined
  readonly isFirst: boolean
  readonly limitText: (text: string) => Promise<string>
}

const viewport = { width: 1280, height: 800 }

/** Creates the page of a new browser. Returns its target. */
export async function openPage(vendor: BrowserVendor, browser: AcquiredBrowser): Promise<string> {
  const connection = await vendor.connect(browser)
  try {
    const browserContextId = vendor.contextOf(browser)
    const { targetId } = await connection.send<{ targetId: string }>('Target.createTarget', {
      url: 'about:blank',
      ...viewport,
      ...(browserContextId !== undefined && { browserContextId }),
    })
    return targetId
  } finally {
    connection.close()
  }
}

/** Attaches, acts and detaches: nothing is held between two calls. */
export async function usePage(
  action: PageAction,
  state: OpenBrowser,
  browser: AcquiredBrowser,
  { vendor, network, schedule, signal, isFirst, limitText }: UseOptions,
): Promise<ActionOutcome> {
  const connection = await requirePresent(vendor.connect(browser, { signal }))
  try {
    const { reachesPrivate } = vendor
    const { targetId, dialog } = state
    const page = await requirePresent(
      BrowserPage.attach({ connection, targetId, network, schedule, reachesPrivate, dialog }),
    )
    try {
      return await performAction(action, { page, connection, state, network, isFirst, limitText })
    } finally {
      // A connection that is lost freezes nothing.
      await page.freeze().catch(() => undefined)
    }
  } finally {
    connection.close()
  }
}

/** A browser that cannot be reached, or a page that it does not have, is gone. */
async function requirePresent<T>(attaching: Promise<T>): Promise<T> {
  try {
    return await attaching
  } catch (error) {
    if (error instanceof BrowserProblem || (error instanceof CdpError && error.failure === 'stopped')) throw error
    throw new CdpError('gone', error instanceof Error ? error.message : 'The browser cannot be reached.')
  }
}

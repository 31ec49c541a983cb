/** Opens the page of a browser, and attaches to it for the time of one call. */

import type { ScheduleTimer } from '#agent/core/clock.ts'
import type { OpenBrowser } from '#agent/core/browser/browser-state.ts'
import { type CdpConnection, CdpError } from './cdp.ts'
import { BrowserProblem } from './element.ts'
import { type ActionContext, type ActionOutcome, type PageAction, performAction } from './perform.ts'
import { BrowserPage } from './page.ts'
import { graceOf, settle } from './page-activity.ts'
import type { NetworkGuard } from './request-guard.ts'
import type { AcquiredBrowser, BrowserVendor } from './vendors.ts'

export type UseOptions = {
  readonly vendor: BrowserVendor
  readonly network: NetworkGuard
  readonly schedule: ScheduleTimer
  readonly signal?: AbortSignal | undefined
  readonly isFirst: boolean
  readonly limitText: (text: string) => Promise<string>
  readonly redact?: ActionContext['redact']
  readonly openField?: ActionContext['openField']
  /** Keeps work alive that goes on after the call. */
  readonly runInBackground: (work: Promise<void>) => void
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

/** Attaches, acts and detaches. A page that stands still between calls is left once its requests are answered. */
export async function usePage(
  action: PageAction,
  state: OpenBrowser,
  browser: AcquiredBrowser,
  { vendor, network, schedule, signal, runInBackground, ...how }: UseOptions,
): Promise<ActionOutcome> {
  const connection = await requirePresent(vendor.connect(browser, { signal }))
  let leave: () => void = () => connection.close()
  try {
    const { reachesPrivate } = vendor
    const { targetId, dialog, pages } = state
    const page = await requirePresent(
      BrowserPage.attach({ connection, targetId, others: pages, network, schedule, reachesPrivate, dialog }),
    )
    const wasLeft = endVisit(targetId)
    if (page.standsStill) leave = () => runInBackground(leaveWhenQuiet(page, connection, { targetId, schedule }))
    if (page.standsStill && wasLeft && !how.isFirst) await settle(page, { schedule, graceMs: graceOf.resumed })
    return await performMasked(action, { page, connection, state, network, schedule, ...how })
  } finally {
    leave()
  }
}

/** Nothing that a call returns shows a protected value, also where it fails. */
async function performMasked(action: PageAction, context: ActionContext): Promise<ActionOutcome> {
  const { redact } = context
  if (!redact) return performAction(action, context)
  try {
    const { value, error, ...outcome } = await performAction(action, context)
    return { ...outcome, value: maskAnswer(value, redact), ...(error !== undefined && { error: redact(error) }) }
  } catch (error) {
    if (error instanceof BrowserProblem) throw new BrowserProblem(redact(error.message))
    throw error
  }
}

/** Masks all texts of an answer. */
export function maskAnswer<T>(value: T, mask: (text: string) => string): T {
  if (typeof value === 'string') return mask(value) as T
  if (Array.isArray(value)) return value.map((one) => maskAnswer(one as unknown, mask)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, maskAnswer(one as unknown, mask)])) as T
}

/** Ends of the pages that calls have left, by target: the next call takes the page over. */
const visits = new Map<string, () => void>()

/** Returns whether the page stood still. */
function endVisit(targetId: string): boolean {
  const end = visits.get(targetId)
  visits.delete(targetId)
  end?.()
  return end === undefined
}

const sleep = (schedule: ScheduleTimer, ms: number) => new Promise<void>((resolve) => void schedule(ms, resolve))

const leaveStepMs = 250
/** Timers of a page often begin a request within this time. */
const leaveQuietMs = 3_000
const leaveTimeoutMs = 30_000

type Leaving = { readonly targetId: string; readonly schedule: ScheduleTimer }

/** Keeps judging and answering requests until the page is quiet, then freezes it. Never rejects. */
async function leaveWhenQuiet(page: BrowserPage, connection: CdpConnection, { targetId, schedule }: Leaving) {
  connection.outlive()
  let wake: () => void = () => undefined
  const taken = new Promise<void>((resolve) => (wake = resolve))
  const end = () => {
    page.handOver()
    wake()
  }
  visits.set(targetId, end)
  try {
    let [quietMs, elapsedMs] = [0, 0]
    while (
      visits.get(targetId) === end &&
      !connection.isEnded &&
      quietMs < leaveQuietMs &&
      elapsedMs < leaveTimeoutMs
    ) {
      await Promise.race([sleep(schedule, leaveStepMs), taken])
      elapsedMs += leaveStepMs
      quietMs = page.activity.pending(0) > 0 ? 0 : quietMs + leaveStepMs
    }
    await Promise.race([page.requests.settled(), sleep(schedule, leaveTimeoutMs)])
    if (visits.get(targetId) === end) await page.freeze()
  } catch {
    // A connection that is lost freezes nothing.
  } finally {
    if (visits.get(targetId) === end) visits.delete(targetId)
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

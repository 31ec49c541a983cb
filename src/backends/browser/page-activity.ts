/**
 * Follows the requests of a page, and waits until the page has reacted to an action: frames are drawn, requests are
 * answered, the document stands still. Requests that never end are not waited for without a limit.
 */

import type { ScheduleTimer } from '#agent/core/clock.ts'
import { type CdpEvent, CdpError } from './cdp.ts'
import type { BrowserPage } from './page.ts'

/** Requests that a page keeps open, or whose answers it does not show. */
const unwaited: ReadonlySet<string> = new Set([
  'EventSource',
  'WebSocket',
  'Ping',
  'Prefetch',
  'Manifest',
  'CSPViolationReport',
  'Preflight',
  'Media',
])
/** Requests without which the scripts of a page are incomplete. */
const essential: ReadonlySet<string> = new Set(['Document', 'Script', 'Stylesheet'])
const pictures: ReadonlySet<string> = new Set(['Image', 'Font', 'Other', 'TextTrack'])

type RequestEvent = {
  readonly requestId: string
  readonly type?: string
  readonly frameId?: string
  readonly loaderId?: string
  readonly response?: { readonly status: number; readonly mimeType: string }
}

/** An answer of a server that is no page. */
export type FailedDocument = { readonly loaderId: string; readonly status: number }

export class PageRequests {
  readonly #types = new Map<string, string>()
  /** Grows with each request that begins. */
  begun = 0
  /** The last document of the main frame that was answered with a status from 400. */
  failedDocument: FailedDocument | undefined

  handle({ method, params }: CdpEvent, mainFrameId: string): void {
    const { requestId, type = 'Other', response, frameId, loaderId = '' } = params as unknown as RequestEvent
    if (method === 'Network.requestWillBeSent') this.#begin(requestId, type)
    else if (method === 'Network.loadingFinished' || method === 'Network.loadingFailed') this.#types.delete(requestId)
    else if (method === 'Network.responseReceived' && response) {
      if (response.mimeType === 'text/event-stream') this.#types.delete(requestId)
      if (type === 'Document' && frameId === mainFrameId)
        this.failedDocument = response.status >= 400 ? { loaderId, status: response.status } : undefined
    }
  }

  /** A redirect keeps its id. */
  #begin(requestId: string, type: string): void {
    if (unwaited.has(type)) return
    if (!this.#types.has(requestId)) this.begun++
    this.#types.set(requestId, type)
  }

  /** The requests that are to be waited for after this time. */
  pending(elapsedMs: number): number {
    return [...this.#types.values()].filter((type) => elapsedMs < limitOf(type)).length
  }
}

const essentialTimeoutMs = 15_000
const dataTimeoutMs = 8_000
const pictureTimeoutMs = 3_000

function limitOf(type: string): number {
  if (essential.has(type)) return essentialTimeoutMs
  return pictures.has(type) ? pictureTimeoutMs : dataTimeoutMs
}

/** Counts changes of the document, in a world that scripts of the page cannot reach. */
const watch = `(() => {
  globalThis.talariaWatch?.stop()
  const seen = { changes: 0, events: 0, reads: 0 }
  const observer = new MutationObserver(() => seen.changes++)
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
  const count = () => seen.events++
  const events = ['scroll', 'input', 'change', 'click', 'submit', 'popstate', 'hashchange']
  for (const name of events) addEventListener(name, count, { capture: true, passive: true })
  seen.stop = () => {
    observer.disconnect()
    for (const name of events) removeEventListener(name, count, { capture: true })
  }
  globalThis.talariaWatch = seen
})()`

const read = 'globalThis.talariaWatch ? { changes: talariaWatch.changes, events: talariaWatch.events } : null'
/** By the time that the page answers, its listeners have run. */
const readSoon = `new Promise((done) => setTimeout(done, 0)).then(() => ${read})`
/** A page that is not drawn has no frames. */
const readAfterFrames = `new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)))
  setTimeout(done, 150)
}).then(() => ${read})`

type Seen = { readonly changes: number; readonly events: number }

/** The document may have been replaced meanwhile. */
const ignoreReplaced = (error: unknown): undefined => {
  if (!(error instanceof CdpError) || error.failure !== 'refused') throw error
}

const look = async (page: BrowserPage, expression: string): Promise<Seen | undefined> =>
  (await page.evaluate<Seen | null>(expression).catch(ignoreReplaced)) ?? undefined

/** Watches a page before an action. An action that changes nothing costs no wait. */
export const startWatch = async (page: BrowserPage): Promise<void> =>
  void (await page.evaluate(watch).catch(ignoreReplaced))

/** Whether anything has reacted to the action so far: the document, a listener, the network or a navigation. */
export async function hasReacted(page: BrowserPage): Promise<boolean> {
  const seen = await look(page, readSoon)
  return !seen || seen.changes > 0 || seen.events > 0 || page.activity.begun > 0 || !page.load.isIdle
}

const stepMs = 40
/** A page that keeps changing, as a clock does, is not waited for longer. */
const maxChangeMs = 1_000
/** Requests of an action often follow each other. */
const quietMs = 120

export type SettleOptions = {
  readonly schedule: ScheduleTimer
  /** The time in which a delayed reaction may begin: pages wait for the end of a scroll or of typing. */
  readonly graceMs: number
}

/** The reactions of a page since an action. */
type Stillness = {
  readonly elapsedMs: number
  /** Since when the document has not changed, and since when no request has begun or was open. */
  readonly unchangedMs: number
  readonly idleMs: number
  readonly begun: number
  readonly seen: Seen | undefined
}

function isStill({ activity, load }: BrowserPage, { elapsedMs, unchangedMs, idleMs }: Stillness): boolean {
  const isUnchanged = unchangedMs >= 2 * stepMs || elapsedMs >= maxChangeMs
  const isQuiet = activity.pending(elapsedMs) === 0 && (activity.begun === 0 || idleMs >= quietMs)
  return isUnchanged && isQuiet && load.isIdle
}

async function lookAgain(page: BrowserPage, before: Stillness): Promise<Stillness> {
  const { activity } = page
  const elapsedMs = before.elapsedMs + stepMs
  const isBusy = activity.pending(elapsedMs) > 0 || activity.begun > before.begun
  const seen = isBusy || elapsedMs < maxChangeMs ? await look(page, read) : before.seen
  const unchangedMs = seen?.changes === before.seen?.changes ? before.unchangedMs + stepMs : 0
  return { elapsedMs, unchangedMs, idleMs: isBusy ? 0 : before.idleMs + stepMs, begun: activity.begun, seen }
}

/** Waits until the page is quiet. Returns false when something that is worth waiting for is still loading. */
export async function settle(page: BrowserPage, { schedule, graceMs }: SettleOptions): Promise<boolean> {
  const { activity, load } = page
  const seen = await look(page, readAfterFrames)
  let now: Stillness = { elapsedMs: 2 * stepMs, unchangedMs: 0, idleMs: 0, begun: activity.begun, seen }
  while (now.elapsedMs < essentialTimeoutMs && (now.elapsedMs < graceMs || !isStill(page, now))) {
    await new Promise<void>((resolve) => void schedule(stepMs, resolve))
    now = await lookAgain(page, now)
  }
  return activity.pending(0) === 0 && load.isIdle
}

const loadStepMs = 250

/** Waits until the document and its scripts have loaded. Pictures are not waited for as long. */
export async function waitForDocument(page: BrowserPage, timeoutMs: number): Promise<boolean> {
  let parsedMs = 0
  for (let elapsedMs = 0; elapsedMs < timeoutMs; elapsedMs += loadStepMs) {
    if (await page.load.wait(loadStepMs)) return true
    parsedMs = page.load.isParsed ? parsedMs + loadStepMs : 0
    if (parsedMs < pictureTimeoutMs || page.activity.pending(parsedMs) > 0) continue
    page.load.accept()
    return true
  }
  return false
}

/** Pages often react to the end of a scroll or of typing after a fifth of a second. */
const delayedMs = 400
/** Time for the timers that a page had set before it stood still. */
const resumeMs = 120
const openedMs = 200

export const graceOf = {
  scroll: delayedMs,
  type: delayedMs,
  click: 200,
  press: 200,
  opened: openedMs,
  resumed: resumeMs,
} as const

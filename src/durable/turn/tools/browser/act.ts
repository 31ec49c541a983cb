/** Performs the actions of browser tools: opens the browser when it is needed, attaches, stores what changed. */

import { foreignMarks } from '#agent/core/marks.ts'
import type {
  BrowserAction,
  BrowserAnswer,
  BrowserBackend,
  BrowserCall,
  TabsAction,
} from '#agent/core/browser/browser.ts'
import type { BrowserState, ClosingBrowser, OpenBrowser } from '#agent/core/browser/browser-state.ts'
import { log } from '#agent/core/log.ts'
import { CdpError, type CdpFailure } from '#backends/browser/cdp.ts'
import { BrowserProblem } from '#backends/browser/element.ts'
import type { PageAction } from '#backends/browser/perform.ts'
import { changeTabs } from '#backends/browser/tabs.ts'
import { maskAnswer, openPage, usePage } from '#backends/browser/use-page.ts'
import {
  acceptSocket,
  type AcquiredBrowser,
  type BrowserVendor,
  type BrowserVendorOptions,
  type BrowserWires,
  openBinding,
  openBrowserbase,
  openEndpoint,
  openSteel,
} from '#backends/browser/vendors.ts'
import { clock } from '#durable/platform/clock.ts'
import { fetchWithDeadline, withDeadline } from '#durable/platform/timeout.ts'
import { type BrowserHost, getKeepAliveMs } from './browser-host.ts'
import { endLease, findLeaseProblem, handOver } from './hand-over.ts'
import { loadProfile, saveProfile } from './profiles.ts'
import { browserAuthority, describeVault, forgetTyped, openField, openMask, protectTyped } from './protected-values.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { noUsage, tallyKey, usageOfCall } from '#agent/core/usage.ts'
import { cdpVariable, resolveBrowser } from '#agent/policy/resolve-browser.ts'
import type { NetworkGuard } from '#backends/browser/request-guard.ts'
import { seal, unseal } from '#durable/platform/seal.ts'
import { createTenantAddressGuard } from '#durable/tenant/tenant-fetch.ts'

const failed = (error: string, details?: Readonly<Record<string, unknown>>): BrowserAnswer => ({
  kind: 'failed',
  error,
  ...(details && { details }),
})

const noPage = 'No page is open. Open one with browser_navigate.'

type ActingCall = BrowserCall & { readonly mayEvaluate: boolean }

export async function act(host: BrowserHost, action: BrowserAction, call: ActingCall): Promise<BrowserAnswer> {
  try {
    if (action.kind === 'console' && action.expression !== undefined && !call.mayEvaluate)
      return failed('Expressions are switched off here (setting browser.allow_expressions). Use browser_snapshot.')
    if (action.kind === 'vault') return { kind: 'done', value: await describeVault(host) }
    return await actInPage(host, action, call)
  } catch (error) {
    return explain(host, error)
  }
}

async function actInPage(
  host: BrowserHost,
  action: Exclude<BrowserAction, { kind: 'vault' }>,
  call: ActingCall,
): Promise<BrowserAnswer> {
  const state = host.row.get()
  const running = state?.at === 'open' ? state : undefined
  const problem = running && findLeaseProblem(running, action, call.isPerson === true)
  if (problem !== undefined) return failed(problem)
  if (action.kind === 'dialog') return chooseDialog(host, action)
  if (action.kind === 'navigate') return navigate(host, action, call)
  if (running) return useOpen(host, running, action, call)
  return failed(state && state.at !== 'open' ? `${describeLoss(state)} ${noPage}` : noPage)
}

type OpenAction = Exclude<BrowserAction, { kind: 'dialog' | 'vault' | 'navigate' }>

async function useOpen(host: BrowserHost, state: OpenBrowser, action: OpenAction, call: BrowserCall) {
  switch (action.kind) {
    case 'handOver':
      return handOver(host, state, action.reason)
    case 'takeBack':
      return takeBack(host, state, action.isDone, call)
    case 'tabs':
      return useTabs(host, state, action, call)
    default:
      return use(host, state, action, call)
  }
}

/** Ends the hand-over, and shows where the person has left the browser. */
async function takeBack(host: BrowserHost, state: OpenBrowser, isDone: boolean, call: BrowserCall) {
  const free = endLease(host, state)
  await saveProfile(host, openVendor(host, state.backend), await toAcquired(host, state), state)
  const answer = await use(host, free, { kind: 'snapshot', isFull: false }, call)
  if (answer.kind === 'failed') return answer
  const shown = host.row.get()?.url ?? state.url
  const mask = await openMask(host, free)
  return { ...answer, value: { person_is_done: isDone, url: mask ? mask(shown) : shown, ...answer.value } }
}

async function useTabs(host: BrowserHost, before: OpenBrowser, action: TabsAction, call: BrowserCall) {
  const vendor = openVendor(host, before.backend)
  const { state, value } = await changeTabs(action, before, await toAcquired(host, before), vendor)
  host.row.put({ ...state, usedAt: clock.now() })
  const mask = await openMask(host, state)
  const shown = mask ? maskAnswer(value, mask) : value
  if (action.action === 'list' || state.targetId === before.targetId) return { kind: 'done', value: shown } as const
  const look =
    action.action === 'open'
      ? ({ kind: 'navigate', url: action.url ?? '' } as const)
      : ({ kind: 'snapshot', isFull: false } as const)
  const answer = await use(host, state, look, call)
  return answer.kind === 'failed' ? answer : { ...answer, value: { ...shown, ...answer.value } }
}

function chooseDialog({ row }: BrowserHost, { isAccepted, text }: Extract<BrowserAction, { kind: 'dialog' }>) {
  const state = row.get()
  if (state?.at !== 'open') return failed(noPage)
  row.put({ ...state, dialog: { isAccepted, ...(text !== undefined && { text }) }, usedAt: clock.now() })
  const next = isAccepted ? 'accepted' : 'dismissed'
  return { kind: 'done', value: { success: true, next_dialog: next } } as const
}

async function navigate(
  host: BrowserHost,
  action: Extract<PageAction, { kind: 'navigate' }>,
  call: BrowserCall,
): Promise<BrowserAnswer> {
  const state = host.row.get()
  if (state?.at === 'open') {
    try {
      return await use(host, state, action, call)
    } catch (error) {
      if (!isGone(error)) throw error
      await forget(host, state, 'it ended outside')
    }
  }
  const lost = host.row.get()
  const opened = await open(host)
  const answer = await use(host, opened, action, call)
  if (answer.kind === 'failed' || !lost) return answer
  return { ...answer, value: { ...answer.value, note: describeLoss(lost) } }
}

const isGone = (error: unknown): boolean =>
  error instanceof CdpError && (error.failure === 'gone' || error.failure === 'crashed')

const describeLoss = ({ reason, url }: { readonly reason?: string; readonly url: string }): string =>
  `The browser was closed: ${reason ?? 'it ended'}. Its logins, forms and pages are lost; the last page was ${url.slice(0, 500)}.`

/** The vendor is asked before anything is stored: a browser that nobody knows ends by itself. */
async function open(host: BrowserHost): Promise<OpenBrowser> {
  if (host.row.get()?.at === 'closing') await closeBrowser(host, '')
  const vendor = openVendor(host)
  const endReservation = await reserveBrowser(host, vendor.kind)
  try {
    await claimBrowser(host)
    return await start(host, vendor)
  } catch (error) {
    // A session without a browser takes no place among those of the tenant.
    await releaseBrowser(host).catch(() => undefined)
    throw error
  } finally {
    endReservation()
  }
}

async function start(host: BrowserHost, vendor: BrowserVendor): Promise<OpenBrowser> {
  const acquired = await vendor.acquire()
  const { profile } = host.deployment().settings.browser ?? {}
  try {
    if (profile !== undefined) await loadProfile(host, vendor, acquired, profile)
    const now = clock.now()
    const state: OpenBrowser = {
      at: 'open',
      backend: vendor.kind,
      sessionId: acquired.sessionId,
      ...(acquired.url !== undefined && { sealedUrl: await sealUrl(host, acquired.url) }),
      targetId: await openPage(vendor, acquired),
      frames: [],
      snapshotNo: 0,
      url: 'about:blank',
      ...(profile !== undefined && { profile }),
      openedAt: now,
      usedAt: now,
    }
    host.row.put(state)
    host.arm()
    return state
  } catch (error) {
    await vendor.release(acquired).catch(() => undefined)
    throw error
  }
}

async function use(
  host: BrowserHost,
  state: OpenBrowser,
  action: PageAction,
  call: BrowserCall,
): Promise<BrowserAnswer> {
  const vendor = openVendor(host, state.backend)
  const acquired = await toAcquired(host, state)
  // Before anything is typed or filled in: whatever happens then, the next call knows it.
  const guarded = { ...state, ...(await protectTyped(host, state, action)), ...(action.kind === 'fill' && guard) }
  if (guarded.isGuarded) host.row.put(guarded)
  const mask = await openMask(host, guarded)
  const options = {
    ...(mask && { redact: mask }),
    openField: openField(host),
    vendor,
    network: createNetwork(host, call),
    schedule: clock.schedule,
    signal: call.signal,
    isFirst: state.url === 'about:blank',
    limitText: (text: string) => limitText(mask ? mask(text) : text, { ...host, callId: call.callId }),
    runInBackground: host.runInBackground,
  }
  try {
    const { value, image, change, error } = await usePage(action, guarded, acquired, options)
    host.row.put({ ...guarded, ...change, ...billBrowser(host, guarded), usedAt: lastUse(guarded) })
    if (error !== undefined) return failed(error, { ...value, success: false })
    return { kind: 'done', value, ...(image !== undefined && { image }) }
  } catch (error) {
    // The snapshot of a failed action is void, and the time counts as use.
    if (!isGone(error)) host.row.put({ ...guarded, ...billBrowser(host, guarded), usedAt: lastUse(guarded) })
    throw error
  }
}

const guard = { isGuarded: true } as const

/** A browser that a person has stays open for them. */
const lastUse = ({ lease }: OpenBrowser): number => Math.max(clock.now(), lease?.until ?? 0)

async function explain(host: BrowserHost, error: unknown): Promise<BrowserAnswer> {
  if (error instanceof BrowserProblem) return failed(error.message)
  if (!(error instanceof CdpError)) throw error
  if (isGone(error)) return explainLoss(host, error)
  return failed(explanations[error.failure]?.(error.message) ?? error.message)
}

const explanations: Readonly<Partial<Record<CdpFailure, (message: string) => string>>> = {
  stopped: () => 'Stopped by the user. What was begun may have taken effect.',
  closed: () => 'The connection to the browser was lost. The action may have taken effect: take a browser_snapshot.',
  timeout: (message) => `${message} Take a browser_snapshot, or try another way.`,
  refused: (message) => `The browser refused: ${message}. Take a browser_snapshot, or try another way.`,
}

async function explainLoss(host: BrowserHost, { failure, message }: CdpError): Promise<BrowserAnswer> {
  const state = host.row.get()
  if (state?.at === 'open') await forget(host, state, failure === 'crashed' ? 'the page crashed' : 'it ended outside')
  const lost = host.row.get()
  return failed(lost?.at === 'closed' ? `${describeLoss(lost)} ${noPage}` : `The browser cannot be reached: ${message}`)
}

/** A browser that is gone needs no confirmation of its vendor. */
async function forget(host: BrowserHost, state: OpenBrowser, reason: string): Promise<void> {
  billBrowser(host, state)
  host.row.put({ at: 'closed', reason, url: state.url })
  forgetTyped(host)
  const release = async () => {
    await openVendor(host, state.backend).release(await toAcquired(host, state))
    await releaseBrowser(host)
  }
  await release().catch((error: unknown) => log.warn('browser.gone', 'A browser was gone already.', { error }))
}

const maxCloseAttempts = 3
const closeRetryMs = 30_000

/** Stores the intent first: whatever happens now, a next call does not use this browser. */
export async function closeBrowser(host: BrowserHost, reason: string): Promise<void> {
  const state = host.row.get()
  if (state === undefined || state.at === 'closed') return
  const attempts = state.at === 'closing' ? state.attempts + 1 : 1
  const nextAt = clock.now() + closeRetryMs * attempts
  const closing: ClosingBrowser = {
    ...state,
    ...billBrowser(host, state),
    at: 'closing',
    reason: state.at === 'closing' ? state.reason : reason,
    attempts,
    nextAt,
  }
  host.row.put(closing)
  const closed = { at: 'closed', reason: closing.reason, url: closing.url } as const
  try {
    const [vendor, acquired] = [openVendor(host, state.backend), await toAcquired(host, state)]
    await saveProfile(host, vendor, acquired, state)
    await vendor.release(acquired)
    forgetTyped(host)
    host.row.put(closed)
    await releaseBrowser(host)
  } catch (error) {
    log.warn('browser.unclosed', 'A browser could not be closed.', { error, attempts })
    if (attempts < maxCloseAttempts) return
    host.row.put(closed)
    // It ends by itself.
    await releaseBrowser(host)
  }
}

/** Counts the browsers of a tenant: each session that opens one claims a place, for a time. */
async function claimBrowser(host: BrowserHost): Promise<void> {
  const { env, tenantId, sessionId } = host
  const { max, isFree } = await tenantStub(env, tenantId).browsers.claim(browserAuthority(host), sessionId)
  if (!isFree)
    throw new BrowserProblem(
      `${max} sessions have a browser already, which is the limit here (limits.browsers). Try again later, or use web_extract.`,
    )
}

const releaseBrowser = async (host: BrowserHost): Promise<void> =>
  tenantStub(host.env, host.tenantId).browsers.release(browserAuthority(host), host.sessionId)

const maxShownChars = 15_000
const maxStoredChars = 2_000_000

type ScreenshotStore = Pick<BrowserHost, 'backend' | 'fileMarks'> & { readonly callId: string }

/** Shortens what a page shows to what a model needs at once. All of it is stored in a file of the workspace. */
async function limitText(text: string, { backend, fileMarks, callId }: ScreenshotStore): Promise<string> {
  if (text.length <= maxShownChars) return text
  const end = text.lastIndexOf('\n', maxShownChars)
  const shown = text.slice(0, end > maxShownChars / 2 ? end : maxShownChars)
  const stored = text.slice(0, maxStoredChars)
  const path = `/tmp/results/browser-${callId.replace(/[^\w-]/g, '_').slice(0, 64)}-${hash53(stored).toString(36)}.txt`
  const rest = text.slice(shown.length).split('\n').length
  try {
    fileMarks.set(path, foreignMarks)
    await backend.files.write(path, new TextEncoder().encode(stored))
    return `${shown}\n… ${rest} more lines. All of them are in ${path}: use read_file.`
  } catch (error) {
    log.warn('browser.unstored', 'A long snapshot could not be stored.', { error })
    return `${shown}\n… ${rest} more lines, which could not be stored.`
  }
}

// Bills the time of browsers that are paid by the hour: to the turn that uses them, or to the next one.

/** From price lists. Undefined: it depends on the plan. */
const defaultUsdPerHour: Readonly<Record<BrowserBackend, number | undefined>> = {
  cdp: 0,
  binding: 0.09,
  browserbase: undefined,
  steel: undefined,
}
const hourMs = 3_600_000

const usdPerHour = (host: BrowserHost, backend: BrowserBackend): number | undefined =>
  host.deployment().settings.browser?.usd_per_hour ?? defaultUsdPerHour[backend]

const modelOf = (backend: BrowserBackend): string => `browser/${backend}`

/** Reserves what an unused browser costs until it ends. Throws when a limit leaves no room: then none is opened. */
async function reserveBrowser(host: BrowserHost, backend: BrowserBackend): Promise<() => void> {
  const price = usdPerHour(host, backend)
  if (price === 0) return () => undefined
  const [billing, turn] = [host.billing(), host.openTurn()]
  const usd = price === undefined ? undefined : (price * getKeepAliveMs(host)) / hourMs
  const reserved = await billing.reserve(turn, { model: modelOf(backend), tokens: 0, usd })
  if (!reserved.ok) throw new BrowserProblem(explainRefusal(reserved.failure))
  return () => {
    reserved.release()
    if (!turn) billing.releaseSideCalls()
  }
}

const explainRefusal = ({ kind, message }: { readonly kind: string; readonly message: string }): string =>
  kind === 'unpriced'
    ? 'A limit in USD holds, and the price of this browser is unknown (setting browser.usd_per_hour). None was opened.'
    : `${message} No browser was opened.`

/**
 * Adds the time since the last bill to the usage of the session. The caller stores `billedAt` in the same synchronous
 * stretch, so that no time is billed twice. A browser that was left alone ended by itself.
 */
function billBrowser(host: BrowserHost, state: Exclude<BrowserState, { at: 'closed' }>): { billedAt: number } {
  const billedAt = clock.now()
  const price = usdPerHour(host, state.backend)
  const ms = Math.min(billedAt - (state.billedAt ?? state.openedAt), getKeepAliveMs(host))
  if (price === 0 || ms <= 0) return { billedAt }
  const billing = host.billing()
  const costUsd = ((price ?? 0) * ms) / hourMs
  const counts = { ...noUsage, costUsd, costStatus: price === undefined ? 'unknown' : 'estimated' } as const
  const usage = usageOfCall(counts, tallyKey(modelOf(state.backend), 'browser'))
  billing.addSideCall({ id: billing.notes.nextId(), usage })
  return { billedAt }
}

const requestTimeoutMs = 30_000

/** The addresses of the endpoint and of sockets come from the deployment, or were judged before. */
const wires: BrowserWires = {
  schedule: clock.schedule,
  openSocket: async (url) =>
    acceptSocket(
      await withDeadline(requestTimeoutMs, (signal) =>
        fetch(url.replace(/^ws/, 'http'), { headers: { upgrade: 'websocket' }, redirect: 'manual', signal }),
      ),
    ),
  fetch: (url, init) =>
    fetchWithDeadline(requestTimeoutMs, (signal) => fetch(url, { ...init, redirect: 'manual', signal })),
}

/** `backend`: of a browser that runs. Without it: of a new one. */
function openVendor(host: BrowserHost, backend?: BrowserBackend): BrowserVendor {
  const deployment = host.deployment()
  const kind = backend ?? resolveBrowser(deployment)
  switch (kind) {
    case undefined:
      throw new BrowserProblem('There is no browser in this deployment.')
    case 'binding': {
      if (!host.env.BROWSER) throw new CdpError('gone', 'The binding BROWSER is gone.')
      return openBinding(host.env.BROWSER, getKeepAliveMs(host), wires)
    }
    case 'cdp': {
      const url = deployment.variable(cdpVariable)
      if (!url) throw new CdpError('gone', `${cdpVariable} is gone.`)
      return openEndpoint({ url, reachesPrivate: deployment.variable('BROWSER_CDP_GUARDED') !== 'true' }, wires)
    }
    case 'browserbase':
      return openBrowserbase(vendorOptions(host, kind), deployment.variable('BROWSERBASE_PROJECT_ID'), wires)
    case 'steel':
      return openSteel(vendorOptions(host, kind), wires)
  }
}

function vendorOptions(
  { deployment, guardedFetch, ...host }: BrowserHost,
  id: 'browserbase' | 'steel',
): BrowserVendorOptions {
  const { baseUrl, keys, isReplaced } = deployment().vendor(id)
  const { check } = createTenantAddressGuard(host.env, host.tenantId, host.runInBackground)
  return {
    baseUrl,
    key: keys[0] ?? '',
    ask: async (url, { method = 'GET', headers, body }) =>
      (
        await guardedFetch({
          url,
          method,
          ...(headers && { headers }),
          body,
          isTrusted: true,
          timeoutMs: requestTimeoutMs,
        })
      ).response,
    requireAllowed: async (url) => {
      const reason = isReplaced ? undefined : await check(url)
      if (reason !== undefined)
        throw new BrowserProblem(`The vendor named an address that may not be called: ${reason}.`)
    },
  }
}

/** Judges the requests of the page by the guard of the tenant. */
function createNetwork(host: BrowserHost, { signal }: BrowserCall): NetworkGuard {
  const { check, mappedHosts } = createTenantAddressGuard(host.env, host.tenantId, host.runInBackground)
  return {
    check,
    mappedHosts,
    fetch: async (request) => (await host.guardedFetch({ ...request, signal, timeoutMs: requestTimeoutMs })).response,
  }
}

const ownerOf = ({ tenantId: tenant, sessionId: id }: BrowserHost) => ({ tenant, kind: 'browser', id })

const sealUrl = (host: BrowserHost, url: string): Promise<string> => seal(host.env, url, ownerOf(host))

async function toAcquired(
  host: BrowserHost,
  { sessionId, sealedUrl }: Pick<OpenBrowser, 'sessionId' | 'sealedUrl'>,
): Promise<AcquiredBrowser> {
  if (sealedUrl === undefined) return { sessionId }
  const opened = await unseal(host.env, sealedUrl, ownerOf(host))
  if (opened.kind !== 'opened') throw new CdpError('gone', opened.reason)
  return { sessionId, url: opened.secret }
}

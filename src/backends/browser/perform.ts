/** Performs one action on the page of a session and returns what the model sees of it. */

import type { ScheduleTimer } from '#agent/core/clock.ts'
import type { BrowserAction, PersonInput } from '#agent/core/browser/browser.ts'
import type { FilledField, OpenBrowser, SnapshotFrame } from '#agent/core/browser/browser-state.ts'
import { removeInvisible, removeInvisibleFrom } from '../web/remove-invisible.ts'
import type { CdpConnection } from './cdp.ts'
import { clearConsole, readConsole } from './console.ts'
import { BrowserProblem, click, findElement, pageChanged, press, type } from './element.ts'
import { fillField, type FilledValue } from './fill-field.ts'
import type { PageFrame, BrowserPage } from './page.ts'
import {
  actForPerson,
  listRequests,
  maskedNodes,
  printPage,
  requirePresentable,
  showScreen,
  uploadFiles,
} from './page-actions.ts'
import { graceOf, hasReacted, settle, startWatch, waitForDocument } from './page-activity.ts'
import { sendRawCommand } from './raw-command.ts'
import { type PageSnapshot, takeSnapshot } from './snapshot.ts'
import type { NetworkGuard } from './request-guard.ts'

export type ActionContext = {
  readonly page: BrowserPage
  readonly connection: CdpConnection
  readonly state: OpenBrowser
  readonly network: NetworkGuard
  readonly schedule: ScheduleTimer
  /** The first page of a browser may take longer. */
  readonly isFirst: boolean
  /** Shortens a snapshot, and stores all of it. */
  readonly limitText: (text: string) => Promise<string>
  /** Masks values of the vault and of people. Absent: there are none. */
  readonly redact?: ((text: string) => string) | undefined
  /** Opens a field of an entry of the vault. */
  readonly openField?: OpenField | undefined
}

/** Returns the origins where the value may be filled in, or rejects with a `BrowserProblem`. */
export type OpenField = (
  action: Extract<BrowserAction, { kind: 'fill' }>,
  field: string,
) => Promise<FilledValue & { readonly allowed: readonly string[] }>

export type ActionOutcome = {
  readonly value: Readonly<Record<string, unknown>>
  /** A screenshot: JPEG in base64. */
  readonly image?: string
  /** Changes that the session stores. */
  readonly change: Partial<OpenBrowser>
  /** The action is done, and led to an answer of the server that is no page. */
  readonly error?: string
}

type ActionResult = Pick<ActionOutcome, 'value' | 'image'> & {
  readonly snapshot?: PageSnapshot
  readonly filled?: readonly FilledField[]
  /** The steps before it count as done. */
  readonly error?: string
}

/** The others need no page: the session stores a choice, has the vault, or lends the browser. */
export type PageAction = Exclude<BrowserAction, { kind: 'dialog' | 'vault' | 'handOver' | 'takeBack' | 'tabs' }>

const openTimeoutMs = 60_000
const firstOpenTimeoutMs = 120_000
/** For navigations that a click or key begins. */
const actionLoadTimeoutMs = 15_000
const expressionTimeoutMs = 10_000
const jpegQuality = 70
const maxImages = 200
const maxHtmlChars = 2_000_000
const maxWindows = 10
const maxBlocked = 5
const maxFilled = 200
/** For an empty page, which needs no network. */
const leaveTimeoutMs = 5_000

export async function performAction(action: PageAction, context: ActionContext): Promise<ActionOutcome> {
  const { page, state } = context
  await requireAllowedPage(context, 'before')
  if (state.isGuarded) requireGuarded(action)
  const limitText = (text: string) => context.limitText(removeInvisible(text))
  const done = await performKind(action, { ...context, limitText })
  const main = await requireAllowedPage(context, 'after')
  const failed = page.activity.failedDocument ?? state.failed
  const failure = failed?.loaderId === main.loaderId ? failed : undefined
  const error = failure && openingKinds.has(action.kind) ? describeStatus(failure.status) : done.error
  return {
    ...(done.image !== undefined && { image: done.image }),
    ...(error !== undefined && { error }),
    value: removeInvisibleFrom({
      success: true,
      ...done.value,
      ...(hasLeft(done, main, state) && { url: main.url, note: pageChanged }),
      ...(failure && { http_status: failure.status, warning: describeStatus(failure.status) }),
      ...describeEvents(page),
    }),
    change: { url: main.url, failed: failure, dialog: page.unusedDialog, ...keepSeen(done, state) },
  }
}

const hasLeft = (
  { snapshot: taken }: ActionResult,
  { loaderId }: PageFrame,
  { frames: [shown] }: OpenBrowser,
): boolean => !taken && shown !== undefined && shown.loaderId !== loaderId

const keepSeen = ({ snapshot: taken, filled = [] }: ActionResult, state: OpenBrowser): Partial<OpenBrowser> => ({
  ...(taken && { frames: taken.frames, snapshotNo: state.snapshotNo + 1 }),
  ...(filled.length > 0 && { filled: [...(state.filled ?? []), ...filled].slice(-maxFilled), isGuarded: true }),
})

/** Refuses what could read protected values around their masks, or carry them elsewhere. */
function requireGuarded(action: PageAction): void {
  if (action.kind === 'cdp' || (action.kind === 'console' && action.expression !== undefined))
    throw new BrowserProblem('Refused: this browser holds values of the vault or of a person. Use browser_snapshot.')
  if (action.kind === 'press' && isCopying(action.key))
    throw new BrowserProblem('Refused: nothing is copied from a browser that holds values of the vault or of a person.')
}

/** Text that a key puts on the clipboard could be pasted elsewhere. */
function isCopying(key: string): boolean {
  const parts = key.toLowerCase().split('+')
  const last = parts.at(-1) ?? ''
  if (last === 'delete') return parts.includes('shift')
  const isHeld = parts.some((part) => ['control', 'ctrl', 'meta', 'command', 'cmd'].includes(part))
  return isHeld && ['c', 'x', 'insert'].includes(last)
}

const openingKinds: ReadonlySet<string> = new Set(['navigate', 'back'])

const describeStatus = (status: number): string =>
  `The server answered with status ${status}: ${statusTexts[status] ?? (status < 500 ? 'it refused' : 'it failed')}. It shows its error page instead of the page that was asked for.`

const statusTexts: Readonly<Record<number, string>> = {
  401: 'it asks for a login',
  403: 'it does not allow access',
  404: 'there is no such page',
  407: 'a proxy asks for a login',
  410: 'the page is gone',
  429: 'there were too many requests',
  451: 'the page is not available for legal reasons',
}

/** Informs the model about dialogs, windows and refused requests that it would not see. */
function describeEvents({ dialogs, windows, requests }: BrowserPage): Readonly<Record<string, unknown>> {
  const blocked = requests.blocked.filter(({ isMainDocument }) => !isMainDocument)
  return {
    ...(dialogs.length > 0 && { dialogs }),
    ...(windows.length > 0 && {
      new_windows: windows.slice(0, maxWindows),
      windows_note: 'New windows are not opened. Use browser_navigate for their addresses.',
    }),
    ...(blocked.length > 0 && { blocked_requests: blocked.slice(0, maxBlocked).map(({ url }) => url.slice(0, 300)) }),
  }
}

/** Between calls the page may have gone elsewhere, and redirects may end anywhere. */
async function requireAllowedPage({ page, network }: ActionContext, when: 'before' | 'after'): Promise<PageFrame> {
  const [main] = await page.frames()
  const refused = page.requests.blocked.find(({ isMainDocument }) => isMainDocument)
  if (refused) {
    await leave(page)
    throw new BrowserProblem(`${refused.url.slice(0, 500)} may not be opened: ${refused.reason}.`)
  }
  const reason = await checkShownPage(main.url, network)
  if (reason === undefined) return main
  await leave(page)
  const how = when === 'before' ? 'The page went by itself to' : 'The page led to'
  throw new BrowserProblem(`${how} ${main.url.slice(0, 500)}, which may not be opened: ${reason}.`)
}

async function checkShownPage(url: string, network: NetworkGuard): Promise<string | undefined> {
  if (/^(?:about:blank|chrome-error:)/.test(url)) return undefined
  return checkBrowserAddress(url) ?? network.check(url)
}

/** Also the error page of a refused request is left, so that the next call finds an empty page. */
async function leave(page: BrowserPage): Promise<void> {
  await page.load.wait(leaveTimeoutMs)
  page.load.begin()
  await page.send('Page.navigate', { url: 'about:blank' })
  await page.load.wait(leaveTimeoutMs)
}

function performKind(action: PageAction, context: ActionContext): Promise<ActionResult> {
  switch (action.kind) {
    case 'navigate':
      return navigate(action.url, context)
    case 'snapshot':
      return snapshot(action.isFull, context)
    case 'click':
      return withSettling(context, graceOf.click, async () => ({
        clicked: action.ref,
        ...(await click(await findElement(context.page, action.ref, context.state))),
      }))
    case 'type':
      return withSettling(context, graceOf.type, async () => ({
        element: action.ref,
        typed: await type(await findElement(context.page, action.ref, context.state), action.text),
      }))
    case 'press':
      return withSettling(context, graceOf.press, async () => {
        await press(context.page, action.key)
        return { pressed: action.key }
      })
    case 'scroll':
      return scroll(action.direction, context)
    case 'back':
      return goBack(context)
    case 'cdp':
      return sendCommand(action, context)
    case 'fill':
      return fill(action, context)
    case 'upload':
      return withSettling(context, graceOf.click, async () => {
        await uploadFiles(await findElement(context.page, action.ref, context.state), action.files)
        return { uploaded: action.files.map(({ name }) => name) }
      })
    case 'input':
      return useForPerson(action.input, context)
    default:
      return read(action, context)
  }
}

type ReadAction = Extract<
  PageAction,
  { kind: 'images' | 'console' | 'screenshot' | 'html' | 'requests' | 'pdf' | 'screen' }
>

function read(action: ReadAction, context: ActionContext): Promise<ActionResult> {
  switch (action.kind) {
    case 'images':
      return listImages(context)
    case 'console':
      return useConsole(action, context)
    case 'screenshot':
      return takeScreenshot(context)
    case 'html':
      return readHtml(context)
    case 'requests':
      return listRequests(context.page).then((requests) => ({ value: { requests, count: requests.length } }))
    case 'pdf':
      return printPdf(context)
    case 'screen':
      return showScreen(context.page).then(({ view, image }) => ({ value: { view }, image }))
  }
}

/** One field after another: a page may react to each. The references stay valid as long as the document does. */
async function fill(action: Extract<PageAction, { kind: 'fill' }>, context: ActionContext): Promise<ActionResult> {
  const filled: FilledField[] = []
  const { page, state, openField } = context
  if (!openField) throw new BrowserProblem('There is no vault here.')
  const fillAll = async () => {
    for (const { ref, field } of action.fields) {
      const { allowed, ...value } = await openField(action, field)
      const element = await findElement(page, ref, state)
      const frame = (await page.frames()).find(({ id }) => id === element.frameId)
      filled.push({ id: element.frameId, loaderId: frame?.loaderId ?? '', node: element.backendNodeId })
      await fillField(element, value, allowed)
    }
    return { filled: action.fields.map(({ field }) => field), entry: action.entry }
  }
  try {
    return { ...(await withSettling(context, graceOf.type, fillAll)), filled }
  } catch (error) {
    if (!(error instanceof BrowserProblem)) throw error
    return { value: {}, error: error.message, filled }
  }
}

async function useForPerson(input: PersonInput, context: ActionContext): Promise<ActionResult> {
  let filled: readonly FilledField[] = []
  const result = await withSettling(context, graceOf.type, async () => {
    filled = await actForPerson(context.page, input)
    return {}
  })
  return { ...result, filled }
}

async function printPdf(context: ActionContext): Promise<ActionResult> {
  await requirePresentable(context.page, context.state, hasSecretFor(context))
  return { value: {}, image: await printPage(context.page) }
}

const hasSecretFor =
  ({ redact }: ActionContext) =>
  (text: string): boolean =>
    redact !== undefined && redact(text) !== text

async function readHtml({ page }: ActionContext): Promise<ActionResult> {
  const [main] = await page.frames()
  const html = await page.evaluate<string>(`document.documentElement.outerHTML.slice(0, ${maxHtmlChars})`)
  return { value: { url: main.url, html } }
}

async function navigate(url: string, context: ActionContext): Promise<ActionResult> {
  const { page, isFirst, network } = context
  const reason = checkBrowserAddress(url) ?? (await network.check(url))
  if (reason !== undefined) throw new BrowserProblem(`${url.slice(0, 500)} may not be opened: ${reason}.`)
  const timeoutMs = isFirst ? firstOpenTimeoutMs : openTimeoutMs
  page.load.begin()
  const { errorText, isDownload } = await page.send<{ errorText?: string; isDownload?: boolean }>(
    'Page.navigate',
    { url },
    { timeoutMs },
  )
  if (isDownload || errorText === 'net::ERR_ABORTED')
    throw new BrowserProblem('This address is a download or has no page. Try web_extract.')
  if (errorText !== undefined) {
    await requireAllowedPage(context, 'after')
    throw new BrowserProblem(`The page could not be opened: ${errorText}.`)
  }
  const isLoaded = await waitForPage(context, timeoutMs)
  await requireAllowedPage(context, 'after')
  return withPage(await snapshot(false, context), context, isLoaded)
}

/** Waits for the document, and for what its scripts ask for at once. */
async function waitForPage({ page, schedule }: ActionContext, timeoutMs: number): Promise<boolean> {
  if (!(await waitForDocument(page, timeoutMs))) return false
  return settle(page, { schedule, graceMs: graceOf.opened })
}

const barriers = /captcha|just a moment|attention required|access denied|verify (?:that )?you are|are you a robot/i

/** Adds the address and the title to a snapshot. */
async function withPage(
  taken: ActionResult,
  { page, redact = unchanged }: ActionContext,
  isLoaded: boolean,
): Promise<ActionResult> {
  const [main] = await page.frames()
  const title = redact((await page.evaluate<string>('document.title')).slice(0, 5_000)).slice(0, 300)
  const warning = taken.snapshot?.hasPassword
    ? 'The page asks for a login.'
    : barriers.test(title) && 'The page may be a check for robots, and not the one that you want.'
  return {
    ...taken,
    value: {
      url: main.url,
      title,
      ...taken.value,
      ...(warning && { auth_wall_warning: warning }),
      ...(!isLoaded && { still_loading: true }),
    },
  }
}

const unchanged = (text: string): string => text

async function snapshot(isFull: boolean, { page, state, redact, limitText }: ActionContext): Promise<ActionResult> {
  const isMasked = redact !== undefined || state.filled !== undefined
  const mask = { nodesIn: (frame: SnapshotFrame) => maskedNodes(state, frame), redact: redact ?? unchanged }
  const taken = await takeSnapshot(page, isFull, isMasked ? mask : undefined)
  const text = await limitText(taken.lines.join('\n'))
  const note = taken.notes.length ? { note: taken.notes.join(' ') } : {}
  return { value: { snapshot: text, element_count: taken.elements, ...note }, snapshot: taken }
}

/** Acts, and waits while the page reacts: an action without an effect costs no wait. */
async function withSettling(
  { page, schedule }: ActionContext,
  graceMs: number,
  act: () => Promise<Readonly<Record<string, unknown>>>,
): Promise<ActionResult> {
  const [, value] = await Promise.all([startWatch(page), act()])
  if (!(await hasReacted(page))) return { value }
  const hasDocument = await waitForDocument(page, actionLoadTimeoutMs)
  const isLoaded = hasDocument && (await settle(page, { schedule, graceMs }))
  return { value: { ...value, ...(!isLoaded && { still_loading: true }) } }
}

const scrollBy = (sign: 1 | -1) => `(() => {
  const isScrollable = (element) => element.scrollHeight > element.clientHeight + 10 && /auto|scroll/.test(getComputedStyle(element).overflowY)
  const root = document.scrollingElement ?? document.documentElement
  let target = root
  if (root.scrollHeight <= innerHeight + 10) {
    let inner = document.elementFromPoint(innerWidth / 2, innerHeight / 2)
    while (inner && !isScrollable(inner)) inner = inner.parentElement
    target = inner ?? root
  }
  const before = target.scrollTop
  target.scrollBy({ top: ${sign} * Math.max(100, target.clientHeight * 0.8), behavior: 'instant' })
  globalThis.talariaScrolled = target
  return Math.round(target.scrollTop - before)
})()`
/** The page may have grown, or have moved by itself. */
const readScrolled = `(() => {
  const { scrollTop, scrollHeight, clientHeight } = globalThis.talariaScrolled ?? document.scrollingElement ?? document.documentElement
  return { position: Math.round(scrollTop), height: scrollHeight, view: clientHeight }
})()`

async function scroll(direction: 'up' | 'down', { page, schedule }: ActionContext): Promise<ActionResult> {
  const moved = await page.evaluate<number>(scrollBy(direction === 'down' ? 1 : -1))
  const isLoaded = await settle(page, { schedule, graceMs: graceOf.scroll })
  const measures = await page.evaluate<Readonly<Record<string, number>>>(readScrolled)
  return { value: { scrolled: direction, moved, ...measures, ...(!isLoaded && { still_loading: true }) } }
}

type NavigationHistory = {
  readonly currentIndex: number
  readonly entries: readonly { readonly id: number; readonly url: string }[]
}

async function goBack(context: ActionContext): Promise<ActionResult> {
  const { page } = context
  const { currentIndex, entries } = await page.send<NavigationHistory>('Page.getNavigationHistory')
  const earlier = entries[currentIndex - 1]
  if (!earlier || earlier.url === 'about:blank') throw new BrowserProblem('There is no earlier page.')
  page.load.begin()
  await page.send('Page.navigateToHistoryEntry', { entryId: earlier.id })
  const isLoaded = await waitForPage(context, openTimeoutMs)
  await requireAllowedPage(context, 'after')
  return withPage(await snapshot(false, context), context, isLoaded)
}

const findImages = `[...document.images].slice(0, ${maxImages}).map((image) => {
  const src = image.currentSrc || image.src
  return {
    src: src.startsWith('data:') ? src.slice(0, 30) + '…' : src.slice(0, 1000),
    alt: image.alt.slice(0, 200),
    width: image.naturalWidth,
    height: image.naturalHeight,
  }
})`

async function listImages({ page }: ActionContext): Promise<ActionResult> {
  const images = await page.evaluate<readonly object[]>(findImages)
  return { value: { images, count: images.length } }
}

type Evaluated = {
  readonly result: { readonly value?: unknown; readonly description?: string; readonly type: string }
  readonly exceptionDetails?: { readonly text: string; readonly exception?: { readonly description?: string } }
}

async function useConsole(
  { isCleared, expression }: Extract<PageAction, { kind: 'console' }>,
  { page, connection, limitText }: ActionContext,
): Promise<ActionResult> {
  if (expression !== undefined) {
    const { result, exceptionDetails } = await page.send<Evaluated>(
      'Runtime.evaluate',
      { expression, returnByValue: true, awaitPromise: true, timeout: expressionTimeoutMs },
      { timeoutMs: 2 * expressionTimeoutMs },
    )
    if (exceptionDetails)
      throw new BrowserProblem(
        `The expression failed: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`,
      )
    const shown = result.value === undefined ? (result.description ?? result.type) : JSON.stringify(result.value)
    return { value: { result: await limitText(shown) } }
  }
  const messages = await readConsole(page, connection)
  if (isCleared) await clearConsole(page)
  return { value: { messages, count: messages.length, ...(isCleared && { cleared: true }) } }
}

/** An input may begin a navigation. */
const sendCommand = (action: Extract<PageAction, { kind: 'cdp' }>, context: ActionContext): Promise<ActionResult> =>
  withSettling(context, graceOf.press, async () => ({
    method: action.method,
    result: await context.limitText(await sendRawCommand(action, context.page)),
  }))

async function takeScreenshot(context: ActionContext): Promise<ActionResult> {
  const { page } = context
  if (context.redact || context.state.filled) await requirePresentable(page, context.state, hasSecretFor(context))
  const { data } = await page.send<{ data: string }>('Page.captureScreenshot', {
    format: 'jpeg',
    quality: jpegQuality,
    optimizeForSpeed: true,
  })
  return { value: {}, image: data }
}

/** Returns the reason; undefined when the address may be judged further. */
export function checkBrowserAddress(address: string): string | undefined {
  const url = URL.parse(address)
  if (!url) return 'it is not a valid address'
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return `addresses with ${url.protocol} are not opened`
  return undefined
}

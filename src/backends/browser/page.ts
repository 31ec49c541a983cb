/**
 * Attaches to the page of a session for one call. Requests are paused and judged from the first moment; dialogs are
 * answered, new windows are closed before they load, and downloads are refused. Detaching is closing the connection.
 */

import type { ScheduleTimer } from '#agent/core/clock.ts'
import type { DialogChoice } from '#agent/core/browser/browser-state.ts'
import { type CdpConnection, CdpError, type CdpEvent } from './cdp.ts'
import { PageRequests } from './page-activity.ts'
import { type NetworkGuard, pausedPatterns, RequestGuard } from './request-guard.ts'

export type PageFrame = {
  readonly id: string
  readonly loaderId: string
  readonly url: string
  readonly parentId?: string
  /** How many frames are around it. */
  readonly depth: number
}

export type ShownDialog = { readonly type: string; readonly message: string; readonly answer: 'accepted' | 'dismissed' }

export type PageOptions = {
  readonly connection: CdpConnection
  readonly targetId: string
  /** Pages of the session beside this one. */
  readonly others?: readonly string[] | undefined
  readonly network: NetworkGuard
  readonly schedule: ScheduleTimer
  /** The browser reaches a private network: every request is judged. */
  readonly reachesPrivate: boolean
  readonly dialog?: DialogChoice | undefined
}

type FrameTree = {
  readonly frame: { readonly id: string; readonly loaderId: string; readonly url: string; readonly parentId?: string }
  readonly childFrames?: readonly FrameTree[]
}

/** Chrome keeps no bodies of requests for us. */
const noBodies = { maxTotalBufferSize: 0, maxResourceBufferSize: 0, maxPostDataSize: 0 }
const maxFrames = 30
const maxFrameDepth = 2
const maxDialogs = 20
const maxDialogChars = 500

export class BrowserPage {
  readonly #options: PageOptions
  readonly #connection: CdpConnection
  readonly #sessionId: string
  readonly #contextId: string | undefined
  /** Sessions of frames that run in processes of their own, by frame. */
  readonly #frameSessions = new Map<string, string>()
  /** Isolated worlds by frame: scripts of the page cannot change what ours see there. */
  readonly #worlds = new Map<string, Promise<number>>()
  readonly requests: RequestGuard
  readonly activity = new PageRequests()
  readonly load: LoadState
  readonly dialogs: ShownDialog[] = []
  /** Addresses that the page wanted to open in new windows. */
  readonly windows: string[] = []
  #dialog: DialogChoice | undefined
  #isTaken = false
  #mainFrameId: string

  private constructor(options: PageOptions, sessionId: string, contextId: string | undefined) {
    this.#options = options
    this.#connection = options.connection
    this.#sessionId = sessionId
    this.#contextId = contextId
    // The id of a target is that of its main frame.
    this.#mainFrameId = options.targetId
    this.#dialog = options.dialog
    this.requests = new RequestGuard(options.network)
    this.load = new LoadState(options.schedule, true)
  }

  static async attach(options: PageOptions): Promise<BrowserPage> {
    const { connection, targetId } = options
    let contextId: string | undefined
    const forget = connection.onEvent(({ method, params }) => {
      const info = params['targetInfo'] as TargetInfo | undefined
      if (method === 'Target.attachedToTarget' && info?.targetId === targetId) contextId = info.browserContextId
    })
    const attached = await connection.send<{ sessionId: string }>('Target.attachToTarget', { targetId, flatten: true })
    forget()
    const page = new BrowserPage(options, attached.sessionId, contextId)
    connection.onEvent((event) => page.#handle(event))
    await page.#prepare()
    return page
  }

  /** Nothing runs in the page before requests are paused. */
  async #prepare(): Promise<void> {
    const { network, reachesPrivate } = this.#options
    const autoAttach = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true }
    await Promise.all([
      this.send('Inspector.enable'),
      this.send('Fetch.enable', { patterns: pausedPatterns(reachesPrivate, network) }),
      this.send('Page.enable'),
      this.send('Target.setAutoAttach', { ...autoAttach, filter: [{ type: 'iframe' }] }),
      this.#connection.send('Target.setAutoAttach', { ...autoAttach, filter: [{ type: 'page' }] }),
      this.#connection.send('Browser.setDownloadBehavior', {
        behavior: 'deny',
        ...(this.#contextId !== undefined && { browserContextId: this.#contextId }),
      }),
      this.send('Network.enable', noBodies),
      ...(this.standsStill ? [this.send('Page.setWebLifecycleState', { state: 'active' })] : []),
      // A page that was frozen is hidden, as one behind others is: it draws no frames and sees no scrolling.
      this.send('Emulation.setFocusEmulationEnabled', { enabled: true }).catch(() => undefined),
    ])
  }

  /** Whether the page is frozen between calls: its requests need somebody who judges or answers them. */
  get standsStill(): boolean {
    const { reachesPrivate, network } = this.#options
    return reachesPrivate || network.mappedHosts.length > 0
  }

  /** Another connection has the page now, and answers its dialogs. */
  handOver(): void {
    this.#isTaken = true
  }

  async freeze(): Promise<void> {
    // Only a hidden page can be frozen.
    await this.send('Emulation.setFocusEmulationEnabled', { enabled: false }).catch(() => undefined)
    await this.send('Page.setWebLifecycleState', { state: 'frozen' })
  }

  /** Sends a command to the page, or to a frame with a process of its own. */
  send<T = unknown>(
    method: string,
    params: Readonly<Record<string, unknown>> = {},
    { frameId = '', timeoutMs }: { readonly frameId?: string; readonly timeoutMs?: number } = {},
  ): Promise<T> {
    const sessionId = this.#frameSessions.get(frameId) ?? this.#sessionId
    return this.#connection.send<T>(method, params, { sessionId, ...(timeoutMs !== undefined && { timeoutMs }) })
  }

  /** Whether the frame runs in a process of its own: its coordinates begin at its own corner. */
  isApart(frameId: string): boolean {
    return this.#frameSessions.has(frameId)
  }

  /** The main frame first; at most 30 frames, two levels deep. */
  async frames(): Promise<readonly [PageFrame, ...PageFrame[]]> {
    const treeOf = (at: { readonly frameId?: string }) =>
      this.send<{ frameTree: FrameTree }>('Page.getFrameTree', {}, at)
    // A frame may be gone before it answers.
    const [main, ...found] = await Promise.all([
      treeOf({}),
      ...[...this.#frameSessions.keys()].map((frameId) => treeOf({ frameId }).catch(() => undefined)),
    ])
    const apart = found.filter((tree) => tree !== undefined)
    this.#mainFrameId = main.frameTree.frame.id
    const [first, ...others] = flatten(main.frameTree, 0)
    const known = new Set([first.id, ...others.map(({ id }) => id)])
    const separate = apart.flatMap(({ frameTree }) => flatten(frameTree, 1)).filter(({ id }) => !known.has(id))
    return [first, ...[...others, ...separate].slice(0, maxFrames - 1)]
  }

  /** Runs a function of ours in a world that scripts of the page cannot reach. */
  async evaluate<T>(expression: string, frameId = this.#mainFrameId): Promise<T> {
    const contextId = await this.world(frameId)
    const answer = await this.send<{ result: { value: T }; exceptionDetails?: object }>(
      'Runtime.evaluate',
      { expression, contextId, returnByValue: true, awaitPromise: true },
      { frameId },
    )
    if (answer.exceptionDetails) throw new CdpError('refused', 'The page cannot be read.')
    return answer.result.value
  }

  /** The isolated world of a frame. */
  async world(frameId = this.#mainFrameId): Promise<number> {
    const known = this.#worlds.get(frameId)
    if (known) return known
    const created = this.send<{ executionContextId: number }>(
      'Page.createIsolatedWorld',
      { frameId, worldName: 'talaria' },
      { frameId },
    ).then(({ executionContextId }) => executionContextId)
    this.#worlds.set(frameId, created)
    created.catch(() => this.#worlds.delete(frameId))
    return created
  }

  #handle(event: CdpEvent): void {
    const { method, params, sessionId = '' } = event
    if (method === 'Target.attachedToTarget') return this.#handleTarget(params as unknown as AttachedTarget)
    if (method === 'Target.detachedFromTarget') return this.#forgetSession(String(params['sessionId']))
    if (method === 'Fetch.requestPaused' && this.#isOwn(sessionId))
      this.requests.handle(event, this.#sendTo(sessionId), this.#mainFrameId)
    if (method.startsWith('Network.') && this.#isOwn(sessionId)) this.activity.handle(event, this.#mainFrameId)
    if (sessionId === this.#sessionId) this.#handlePageEvent(event)
  }

  /** A frame that is gone, or that belongs to the process of its page now. */
  #forgetSession(sessionId: string): void {
    for (const [frameId, own] of this.#frameSessions) {
      if (own !== sessionId) continue
      this.#frameSessions.delete(frameId)
      this.#worlds.delete(frameId)
    }
  }

  /** Whether a session is that of the page, or of one of its frames. */
  #isOwn(sessionId: string): boolean {
    return sessionId === this.#sessionId || [...this.#frameSessions.values()].includes(sessionId)
  }

  #handlePageEvent(event: CdpEvent): void {
    const { method, params } = event
    this.load.handle(event, this.#mainFrameId)
    if (method === 'Page.javascriptDialogOpening') this.#answerDialog(params)
    else if (method === 'Page.windowOpen') this.windows.push(String(params['url']).slice(0, 2_000))
    else if (method === 'Page.frameNavigated') this.#worlds.delete((params['frame'] as { readonly id: string }).id)
    else if (method === 'Inspector.targetCrashed') this.#connection.fail(new CdpError('crashed', 'The page crashed.'))
  }

  /** Frames with a process of their own are judged like the page. Pages of others, on a shared browser, are let go. */
  #handleTarget({ sessionId, targetInfo, waitingForDebugger }: AttachedTarget): void {
    const send = this.#sendTo(sessionId)
    const isKnown = this.#options.others?.includes(targetInfo.targetId)
    const isOurs = !isKnown && targetInfo.browserContextId === this.#contextId
    const work: Promise<unknown>[] = []
    if (targetInfo.type === 'iframe') {
      this.#frameSessions.set(targetInfo.targetId, sessionId)
      const { network, reachesPrivate } = this.#options
      const patterns = pausedPatterns(reachesPrivate, network)
      work.push(send('Fetch.enable', { patterns }), send('Page.enable', {}), send('Network.enable', noBodies))
    } else if (isOurs && targetInfo.targetId !== this.#options.targetId && waitingForDebugger) {
      // A window that is closed while it waits would leave the page that opened it waiting.
      work.push(send('Fetch.enable', { patterns: [{ urlPattern: '*' }] }))
    }
    if (waitingForDebugger) work.push(send('Runtime.runIfWaitingForDebugger', {}))
    if (isOurs && targetInfo.type === 'page' && targetInfo.targetId !== this.#options.targetId)
      work.push(send('Page.close', {}))
    // A target may be gone before it is answered.
    void Promise.allSettled(work)
  }

  #sendTo(sessionId: string) {
    return (method: string, params: Readonly<Record<string, unknown>>) =>
      this.#connection.send(method, params, { sessionId })
  }

  /** An alert and the question whether to leave are accepted, others dismissed, unless the model has chosen. */
  #answerDialog({ type, message }: Readonly<Record<string, unknown>>): void {
    if (this.#isTaken) return
    const choice = this.#dialog
    const isHarmless = type === 'alert' || type === 'beforeunload'
    const accept = choice?.isAccepted ?? isHarmless
    if (!isHarmless) this.#dialog = undefined
    if (this.dialogs.length < maxDialogs)
      this.dialogs.push({
        type: String(type),
        message: String(message).slice(0, maxDialogChars),
        answer: accept ? 'accepted' : 'dismissed',
      })
    const promptText = choice?.text
    const params = { accept, ...(promptText !== undefined && { promptText }) }
    this.send('Page.handleJavaScriptDialog', params).catch(() => undefined)
  }

  /** The choice for dialogs that was not used. */
  get unusedDialog(): DialogChoice | undefined {
    return this.#dialog
  }
}

type TargetInfo = { readonly targetId: string; readonly type: string; readonly browserContextId?: string }
type AttachedTarget = {
  readonly sessionId: string
  readonly targetInfo: TargetInfo
  readonly waitingForDebugger: boolean
}

function flatten({ frame, childFrames = [] }: FrameTree, depth: number): [PageFrame, ...PageFrame[]] {
  const { id, loaderId, url, parentId } = frame
  const below = depth < maxFrameDepth ? childFrames.flatMap((child) => flatten(child, depth + 1)) : []
  return [{ id, loaderId, url, depth, ...(parentId !== undefined && { parentId }) }, ...below]
}

/** A requested navigation that has not begun after this time was cancelled by the page. */
const requestedMs = 1_000

/** Follows the navigation of one frame by its events, so that a call can wait until the page has loaded. */
class LoadState {
  readonly #schedule: (ms: number, work: () => void) => () => void
  #isPending = false
  #isLoaded: boolean
  /** The document is complete, with its scripts; pictures may be missing. */
  #isParsed = false
  #cancelTimer: () => void = () => undefined
  #waiting: (() => void)[] = []

  constructor(schedule: (ms: number, work: () => void) => () => void, isLoaded: boolean) {
    this.#schedule = schedule
    this.#isLoaded = isLoaded
  }

  get isIdle(): boolean {
    return !this.#isPending && this.#isLoaded
  }

  get isParsed(): boolean {
    return !this.#isPending && this.#isParsed
  }

  /** Takes the document as it is, though pictures are missing. */
  accept(): void {
    if (!this.isParsed) return
    this.#isLoaded = true
    this.#wake()
  }

  /** Resolves with true when nothing is loading any more, and with false after the timeout. */
  async wait(timeoutMs: number): Promise<boolean> {
    if (this.isIdle) return true
    return new Promise((resolve) => {
      const onLoaded = () => {
        cancel()
        resolve(true)
      }
      const cancel = this.#schedule(timeoutMs, () => {
        this.#waiting = this.#waiting.filter((one) => one !== onLoaded)
        resolve(false)
      })
      this.#waiting.push(onLoaded)
    })
  }

  /** Marks a navigation that the caller has started. */
  begin(): void {
    this.#isPending = true
    this.#isLoaded = false
    this.#isParsed = false
  }

  handle({ method, params }: CdpEvent, frameId: string): void {
    if (method === 'Page.loadEventFired') return this.#settle(false)
    if (method === 'Page.domContentEventFired') {
      this.#isParsed = true
      return
    }
    const frame = params['frame'] as { readonly id?: string } | undefined
    if ((params['frameId'] ?? frame?.id) !== frameId) return
    if (method === 'Page.frameRequestedNavigation') this.#expect()
    else if (method === 'Page.frameStartedNavigating') this.#start(String(params['navigationType']))
    else if (method === 'Page.frameStoppedLoading') this.#settle(true)
    else if (method === 'Page.frameNavigated') {
      this.#isPending = false
      this.#isLoaded = params['type'] === 'BackForwardCacheRestore'
      this.#isParsed = this.#isLoaded
      this.#wake()
    }
  }

  #expect(): void {
    if (this.#isPending) return
    this.#isPending = true
    this.#cancelTimer = this.#schedule(requestedMs, () => {
      this.#isPending = false
      this.#wake()
    })
  }

  #start(type: string): void {
    this.#cancelTimer()
    if (type.startsWith('sameDocument') || type === 'historySameDocument') {
      this.#isPending = false
      return this.#wake()
    }
    this.begin()
  }

  /** A load event may still belong to the document before; a frame that stopped loading has no navigation any more. */
  #settle(isStopped: boolean): void {
    if (isStopped) this.#isPending = false
    if (!this.#isPending) this.#isLoaded = true
    this.#wake()
  }

  #wake(): void {
    if (!this.isIdle) return
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

/** Follows the navigation of one frame by its events, so that a call can wait until the page has loaded. */

import type { CdpEvent } from './cdp.ts'

/** A requested navigation that has not begun after this time was cancelled by the page. */
const requestedMs = 1_000

export class LoadState {
  readonly #schedule: (ms: number, work: () => void) => () => void
  #isPending = false
  #isLoaded: boolean
  #cancelTimer: () => void = () => undefined
  #waiting: (() => void)[] = []
  /** Grows with each navigation that begins. */
  navigations = 0

  constructor(schedule: (ms: number, work: () => void) => () => void, isLoaded: boolean) {
    this.#schedule = schedule
    this.#isLoaded = isLoaded
  }

  get isIdle(): boolean {
    return !this.#isPending && this.#isLoaded
  }

  /** Resolves with true when nothing is loading any more, and with false after the timeout. */
  async wait(timeoutMs: number): Promise<boolean> {
    if (this.isIdle) return true
    return new Promise((resolve) => {
      const cancel = this.#schedule(timeoutMs, () => resolve(false))
      this.#waiting.push(() => {
        cancel()
        resolve(true)
      })
    })
  }

  /** Marks a navigation that the caller has started. */
  begin(): void {
    this.#isPending = true
    this.#isLoaded = false
    this.navigations++
  }

  handle({ method, params }: CdpEvent, frameId: string): void {
    if (method === 'Page.loadEventFired') return this.#settle(false)
    const frame = params['frame'] as { readonly id?: string } | undefined
    if ((params['frameId'] ?? frame?.id) !== frameId) return
    if (method === 'Page.frameRequestedNavigation') this.#expect()
    else if (method === 'Page.frameStartedNavigating') this.#start(String(params['navigationType']))
    else if (method === 'Page.frameStoppedLoading') this.#settle(true)
    else if (method === 'Page.frameNavigated') {
      this.#isPending = false
      this.#isLoaded = params['type'] === 'BackForwardCacheRestore'
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

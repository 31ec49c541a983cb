/** The browser of a session: its stored state, and when it is closed. The code that drives it is loaded when it is used. */

import type { Browser } from '#agent/core/browser/browser.ts'
import type { BrowserState } from '#agent/core/browser/browser-state.ts'
import { log } from '#agent/core/log.ts'
import { limitConcurrency } from '#backends/limit-concurrency.ts'
import { clock } from '#durable/platform/clock.ts'
import type { ToolPorts } from '../tool-ports.ts'
import { type BrowserHost, type BrowserSession, getIdleMs } from './browser-host.ts'
import { BrowserRow } from './browser-row.ts'

export type { BrowserSession } from './browser-host.ts'

/** `status`: the server answered with an error, whose page is not read. */
type BrowsedPage = { readonly url: string; readonly html: string } | { readonly status: number }

export class SessionBrowser implements Browser {
  readonly #host: BrowserHost
  readonly #queue = limitConcurrency(1)
  /** Calls that run or wait. */
  #running = 0
  /** The page was opened by `read`: nobody has seen it. */
  #isForReading = false

  constructor(ports: ToolPorts, sql: SqlStorage, session: BrowserSession) {
    this.#host = { ...ports, ...session, row: new BrowserRow(sql, session.hasTable) }
  }

  readonly act: Browser['act'] = (action, call) =>
    this.#enqueue(() => {
      this.#isForReading = false
      return this.#act(action, call)
    })

  get state(): BrowserState | undefined {
    return this.#host.row.get()
  }

  /** One at a time: two would open two browsers, or change the page below each other. */
  async #enqueue<T>(use: () => Promise<T>): Promise<T> {
    this.#running++
    try {
      return await this.#queue(use)
    } finally {
      this.#running--
      this.#host.arm()
    }
  }

  readonly #act: Browser['act'] = async (action, call) => {
    if (call.signal.aborted) return { kind: 'failed', error: 'Stopped by the user, before it began.' }
    const { act } = await import('./act.ts')
    return act(this.#host, action, { ...call, mayEvaluate: this.mayEvaluate() })
  }

  /**
   * Opens an address and returns its document as scripts have made it. Undefined: there is no browser, it shows a page of
   * the model's, or it failed.
   */
  async read(url: string, signal: AbortSignal): Promise<BrowsedPage | undefined> {
    const { disabled = [] } = this.#host.deployment().settings.toolsets ?? {}
    return disabled.includes('browser') ? undefined : this.#enqueue(() => this.#read(url, signal))
  }

  async #read(url: string, signal: AbortSignal): Promise<BrowsedPage | undefined> {
    if (this.#host.row.get()?.at === 'open' && !this.#isForReading) return undefined
    this.#isForReading = true
    const call = { callId: 'web_extract', signal }
    const opened = await this.#act({ kind: 'navigate', url }, call)
    const status = opened.kind === 'failed' ? opened.details?.['http_status'] : undefined
    if (typeof status === 'number') return { status }
    const read = opened.kind === 'done' ? await this.#act({ kind: 'html' }, call) : opened
    if (read.kind === 'failed') return undefined
    const { url: shown, html } = read.value
    return { url: String(shown), html: String(html) }
  }

  readonly mayEvaluate: Browser['mayEvaluate'] = () =>
    this.#host.deployment().settings.browser?.allow_expressions === true

  /** When the browser is closed because nobody uses it, or is tried to be closed again. */
  getNextWake(): number | undefined {
    const state = this.#host.row.get()
    if (state?.at === 'closing') return state.nextAt
    return state?.at === 'open' && this.#running === 0 ? state.usedAt + getIdleMs(this.#host) : undefined
  }

  /** Called by the alarm. A failure is tried again by the next one. A call that comes meanwhile waits for it. */
  async closeIdle(): Promise<void> {
    if ((this.getNextWake() ?? Infinity) > clock.now()) return
    await this.#queue(() => this.close('it was not used for a while'))
  }

  /** Never rejects. */
  async close(reason: string): Promise<void> {
    const state: BrowserState | undefined = this.#host.row.get()
    if (state === undefined || state.at === 'closed') return
    try {
      const { closeBrowser } = await import('./act.ts')
      await closeBrowser(this.#host, reason)
    } catch (error) {
      log.warn('browser.unclosed', 'A browser could not be closed.', { error })
    }
  }
}

/** The browser of a session: its stored state, and when it is closed. The code that drives it is loaded when it is used. */

import type { Browser } from '../../../../agent/model/browser/browser.ts'
import type { BrowserState } from '../../../../agent/model/browser/browser-state.ts'
import { log } from '../../../../agent/model/log.ts'
import { clock } from '../../../platform/clock.ts'
import type { ToolPorts } from '../tool-ports.ts'
import { type BrowserHost, type BrowserSession, getIdleMs } from './browser-host.ts'
import { BrowserRow } from './browser-row.ts'

export type { BrowserSession } from './browser-host.ts'

export class SessionBrowser implements Browser {
  readonly #host: BrowserHost
  #running = 0
  /** The page was opened by `read`: nobody has seen it. */
  #isForReading = false

  constructor(ports: ToolPorts, sql: SqlStorage, session: BrowserSession) {
    this.#host = { ...ports, ...session, row: new BrowserRow(sql, session.hasTable) }
  }

  readonly act: Browser['act'] = (action, call) => {
    this.#isForReading = false
    return this.#act(action, call)
  }

  readonly #act: Browser['act'] = async (action, call) => {
    this.#running++
    try {
      const { act } = await import('./act.ts')
      return await act(this.#host, action, { ...call, mayEvaluate: this.mayEvaluate() })
    } finally {
      this.#running--
      this.#host.arm()
    }
  }

  /**
   * Opens an address and returns its document as scripts have made it. Undefined: there is no browser, it shows a page of
   * the model's, or it failed.
   */
  async read(url: string, signal: AbortSignal): Promise<{ readonly url: string; readonly html: string } | undefined> {
    const { disabled = [] } = this.#host.deployment().settings.toolsets ?? {}
    if (disabled.includes('browser') || (this.#host.row.get()?.at === 'open' && !this.#isForReading)) return undefined
    this.#isForReading = true
    const call = { callId: 'web_extract', signal }
    const opened = await this.#act({ kind: 'navigate', url }, call)
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

  /** Called by the alarm. A failure is tried again by the next one. */
  async closeIdle(): Promise<void> {
    if ((this.getNextWake() ?? Infinity) > clock.now()) return
    await this.close('it was not used for a while')
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

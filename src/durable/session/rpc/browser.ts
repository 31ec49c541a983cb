/** RPC subject `browser`: shows the browser of a session to a person, and passes on what they do there. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { BrowserAction } from '#agent/core/browser/browser.ts'
import type { SessionHost } from '../session-host.ts'

export class BrowserSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  get(authority: Authority) {
    return this.#host.with(authority, async ({ toolRuntime }) =>
      (await import('../core/person-browser.ts')).describeBrowser(toolRuntime.browser),
    )
  }

  act(authority: Authority, action: Extract<BrowserAction, { kind: 'screen' | 'input' }>) {
    return this.#host.with(authority, async ({ toolRuntime }) =>
      (await import('../core/person-browser.ts')).actForPerson(toolRuntime.browser, action),
    )
  }

  giveBack(authority: Authority) {
    return this.#host.with(authority, async ({ toolRuntime }) =>
      (await import('../core/person-browser.ts')).giveBack(toolRuntime.browser),
    )
  }
}

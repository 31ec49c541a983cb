/** RPC subject `deliveries`: accepts messages that nobody typed, such as the result of a job. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { InjectedMessage } from '#durable/storage/injected-messages.ts'
import { inject, type InjectionOutcome } from '../inject.ts'
import type { SessionHost } from '../session-host.ts'

export class InjectedSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /**
   * Undefined when there is no such session. `authority`: what the turn that reads the message may do. A message counts
   * once per key, so a sender repeats the call until it has an answer.
   */
  submit(authority: Authority, message: InjectedMessage): Promise<InjectionOutcome | undefined> {
    return this.#host.asCaller(authority, async () => inject(this.#host.session, authority, message))
  }
}

/** RPC subject `inbound`: accepts events of messaging platforms. */

import { RpcTarget } from 'cloudflare:workers'
import type { InboundCommand } from '../intake/inbound.ts'
import type { Submitted } from '../intake/intake.ts'
import { submit } from '../submit.ts'
import type { SessionHost } from '../session-host.ts'

export class InboundSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /** Creates the session when there is none. Undefined only while it is being deleted. */
  submit(command: InboundCommand): Promise<Submitted | undefined> {
    return submit(this.#host.session, command)
  }
}

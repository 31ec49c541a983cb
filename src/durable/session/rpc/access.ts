/** RPC subject `access`: the tenant's object reports that the tenant or a key may act no more, or again. */

import { RpcTarget } from 'cloudflare:workers'
import type { Access } from '../../../agent/model/access.ts'
import { forgetSnapshot } from '../../tenant/tenant-snapshot.ts'
import type { SessionHost } from '../session-host.ts'

export class AccessSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /** Resolves to whether this session needs the next report too. */
  change(access: Access): Promise<boolean> {
    forgetSnapshot(this.#host.session.tenantId)
    return this.#host.session.access.change(access)
  }
}

/** RPC subject `access`: the tenant's object reports that the tenant or a key may act no more, or again. */

import { RpcTarget } from 'cloudflare:workers'
import type { Access } from '#agent/core/permission/access.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import type { SessionHost } from '../session-host.ts'

export class AccessSubject extends RpcTarget {
  readonly #host: SessionHost

  constructor(host: SessionHost) {
    super()
    this.#host = host
  }

  /** Deletes the session with its tenant: also one that does not exist for callers. */
  async erase(authority: Authority): Promise<void> {
    this.#requireOwn(authority)
    if (this.#host.session.turns.isClosing) throw new Error('The session is being deleted already.')
    if (await this.#host.delete()) return
    await this.#host.ctx.storage.deleteAlarm()
    await this.#host.ctx.storage.deleteAll()
  }

  /**
   * Resolves to whether this session needs the next report too. `isWatched`: somebody listens to the events of the tenant.
   */
  async change(authority: Authority, access: Access, isWatched?: boolean): Promise<boolean> {
    this.#requireOwn(authority)
    forgetSnapshot(this.#host.session.tenantId)
    if (isWatched !== undefined) this.#host.session.tenant.noteWatched(isWatched)
    return this.#host.session.access.change(access)
  }

  #requireOwn(authority: Authority): void {
    if (!this.#host.isOwn(authority)) throw new Error('The call is not for this session.')
  }
}

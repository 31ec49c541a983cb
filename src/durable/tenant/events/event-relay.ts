/**
 * Receives events for the sockets of a relay: an instance of the tenant's class that only holds sockets. Its access is
 * that of the tenant's own object, which assigns every socket after it has checked the reader.
 */

import { type Access, fullAccess } from '#agent/core/permission/access.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { clock } from '#durable/platform/clock.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import { assignmentMs } from './event-relays.ts'
import type { TenantSockets } from './tenant-sockets.ts'

/** `isLost`: events before these are missing, so clients have to connect and read their lists again. */
export type Delivery = { readonly texts: readonly string[]; readonly isLost: boolean }
export type RelayReport = { readonly sockets: number; readonly keys: readonly string[] }

export class EventRelay extends TenantPart {
  readonly #sockets: () => TenantSockets
  #access: Access = fullAccess
  #changedAt = 0

  constructor(mayChange: ChangeCheck, sockets: () => TenantSockets) {
    super(mayChange)
    this.#sockets = sockets
  }

  /** The last change, while sockets that were assigned before it may arrive. Later ones were assigned after it. */
  get access(): Access {
    return clock.now() - this.#changedAt < assignmentMs ? this.#access : fullAccess
  }

  setAccess(authority: Authority, access: Access): void {
    this.requireOwn(authority)
    this.#access = access
    this.#changedAt = clock.now()
    this.#sockets().closeRefused(access)
  }

  deliver(authority: Authority, { texts, isLost }: Delivery): RelayReport {
    this.requireOwn(authority)
    const sockets = this.#sockets()
    if (isLost) sockets.closeAll()
    return sockets.broadcast(texts)
  }
}

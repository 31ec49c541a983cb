/**
 * Publishes what changes in the sessions of a tenant to those who listen. Nothing is stored: a reader that connects again
 * reads the lists again.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import type { TenantEvent } from './tenant-event.ts'
import type { TenantSockets } from './tenant-sockets.ts'

export class TenantEvents extends TenantPart {
  readonly #sockets: TenantSockets

  constructor(mayChange: ChangeCheck, sockets: TenantSockets) {
    super(mayChange)
    this.#sockets = sockets
  }

  /** Called by sessions. Resolves to whether anybody listens, so that the caller may save the next call. */
  publish(authority: Authority, events: readonly TenantEvent[]): boolean {
    this.requireOwn(authority)
    return this.#sockets.send(events)
  }
}

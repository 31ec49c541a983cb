/** What waits for a person in this session, told to the tenant's list of such things. */

import { type Asking, waitingItems } from './pending-requests.ts'
import type { TenantDO } from '../tenant/tenant-object.ts'

/**
 * Written only when something waits, or did. An object that has just woken up cannot know what its former life
 * announced.
 */
export class WaitingList {
  readonly #asking: Asking
  readonly #tenant: () => DurableObjectStub<TenantDO>
  #announced: boolean

  constructor(asking: Asking, tenant: () => DurableObjectStub<TenantDO>) {
    this.#asking = asking
    this.#tenant = tenant
    this.#announced = asking.store.current() !== undefined
  }

  /** Rejects when the tenant cannot be reached. */
  async announce(): Promise<void> {
    const items = waitingItems(this.#asking)
    if (!items.length && !this.#announced) return
    await this.#tenant().setWaiting(this.#asking.sessionId, items)
    this.#announced = items.length > 0
  }

  /** Now. If the tenant cannot be reached, history's turn comes with another try. */
  async tell(): Promise<void> {
    await this.announce().catch((error: unknown) => console.warn('The tenant cannot be reached.', error))
  }

  /** The session is going away. */
  async clear(): Promise<void> {
    if (this.#announced) await this.#tenant().setWaiting(this.#asking.sessionId, [])
  }
}

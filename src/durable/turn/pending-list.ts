/** Publishes what waits for a person in this session to the tenant's list. */

import { chatName } from '#agent/core/permission/authority.ts'
import { log } from '#agent/core/log.ts'
import type { PendingItem } from '#durable/tenant/events/pending-item.ts'
import type { TenantDO } from '#durable/tenant/tenant-object.ts'
import { personRequests } from './pending-requests.ts'
import type { TurnSession } from './turn-session.ts'

/** Writes only when something waits, or did: after an eviction it is unknown what was published before. */
export class PendingList {
  readonly #session: TurnSession
  readonly #tenant: () => DurableObjectStub<TenantDO>
  #isPublished: boolean

  constructor(session: TurnSession, tenant: () => DurableObjectStub<TenantDO>) {
    this.#session = session
    this.#tenant = tenant
    this.#isPublished = session.store.current() !== undefined
  }

  /** Rejects when the tenant's object cannot be reached. */
  async publish(): Promise<void> {
    const items = personRequests(this.#session)
    if (!items.length && !this.#isPublished) return
    const { ownAuthority, sessionId } = this.#session
    const chat = items.length ? this.#chatOf() : {}
    await this.#tenant().pending.set(
      ownAuthority,
      sessionId,
      items.map((item) => ({ ...item, ...chat })),
    )
    this.#isPublished = items.length > 0
  }

  /** The chat of the session, and the person there who is asked. */
  #chatOf(): Pick<PendingItem, 'chat' | 'person'> {
    const { meta, store } = this.#session
    if (!meta.origin) return {}
    const person = store.current()?.options.asker?.person ?? meta.origin.person
    return { chat: chatName(meta.origin), ...(person !== undefined && { person }) }
  }

  /** Never rejects: the next projection to history publishes again. */
  async tryPublish(): Promise<void> {
    await this.publish().catch((error: unknown) =>
      log.warn('pending.unpublished', 'The list of pending requests was not updated.', { error }),
    )
  }

  /** Removes the session from the list, because it is being deleted. */
  async clear(): Promise<void> {
    if (this.#isPublished) await this.#tenant().pending.set(this.#session.ownAuthority, this.#session.sessionId, [])
  }
}

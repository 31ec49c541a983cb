/** Stores the browsers that want push messages, and tells those that have no open socket what waits or has ended. */

import { type Access, findRefusal, keyOf, withoutRules } from '#agent/core/permission/access.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { log } from '#agent/core/log.ts'
import { createReader, listTags } from '#durable/platform/reader-tags.ts'
import type { SecretOwner } from '#durable/platform/seal.ts'
import type { TenantEvent } from '../events/tenant-event.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import type { StoredValues } from '../stored-values.ts'
import { listNotices } from './notice.ts'

export type NewSubscription = {
  readonly endpoint: string
  readonly p256dh: string
  readonly auth: string
  /** Given to the push service: an address of the operator. */
  readonly contact: string
}

/** `reader`: the tags of the key, so that a revoked one gets nothing. */
export type PushSubscription = NewSubscription & { readonly reader: readonly string[] }

/** `sealed`: the private key. */
export type StoredVapid = { readonly publicKey: string; readonly sealed: string }

type StoredPush = { readonly vapid?: StoredVapid; readonly list: readonly PushSubscription[] }

export type TenantPushOptions = {
  readonly mayChange: ChangeCheck
  readonly values: StoredValues
  readonly env: Env
  readonly tenantId: string
  readonly access: () => Access
  /** Called when a browser subscribes and none had before. */
  readonly onFirst: () => void
  readonly runInBackground: (work: Promise<unknown>) => void
}

export const vapidOwner = (tenant: string): SecretOwner => ({ tenant, kind: 'push', id: 'vapid' })

const name = 'push'
const maxSubscriptions = 50

export class TenantPush extends TenantPart {
  readonly #options: TenantPushOptions
  /** Read once: only this object writes it. */
  #cached: StoredPush | undefined

  constructor(options: TenantPushOptions) {
    super(options.mayChange)
    this.#options = options
  }

  get isWanted(): boolean {
    return this.#stored.list.length > 0
  }

  getVapid(authority: Authority): StoredVapid | undefined {
    this.requireOwn(authority)
    return this.#stored.vapid
  }

  /** Returns the stored pair: another request may have been first. */
  putVapid(authority: Authority, vapid: StoredVapid): StoredVapid {
    this.requireOwn(authority)
    if (!this.#stored.vapid) this.#store({ ...this.#stored, vapid })
    return this.#stored.vapid ?? vapid
  }

  /** For the operator: the pair stays, sealed anew. */
  resealVapid(authority: Authority, sealed: string): void {
    this.requireOwn(authority, 'admin')
    const { vapid } = this.#stored
    if (vapid) this.#store({ ...this.#stored, vapid: { ...vapid, sealed } })
  }

  subscribe(authority: Authority, subscription: NewSubscription): void {
    this.requireOwn(authority, 'read')
    const isFirst = !this.isWanted
    const others = this.#stored.list.filter(({ endpoint }) => endpoint !== subscription.endpoint)
    const list = [...others, { ...subscription, reader: listTags(authority) }]
    this.#store({ ...this.#stored, list: list.length > maxSubscriptions ? withoutOldest(list) : list })
    if (isFirst) this.#options.onFirst()
  }

  /** Returns whether the key had subscribed this endpoint. */
  unsubscribe(authority: Authority, endpoint: string): boolean {
    this.requireOwn(authority, 'read')
    const own = withoutRules(keyOf(authority) ?? '')
    const found = this.#stored.list.some(
      ({ endpoint: stored, reader: [holder = ''] }) => stored === endpoint && withoutRules(holder) === own,
    )
    if (found) this.#remove([endpoint])
    return found
  }

  /** Sends what is worth a message to the browsers of keys without an open socket. */
  notify(events: readonly TenantEvent[], openKeys: ReadonlySet<string>): void {
    const notices = this.isWanted ? listNotices(events) : []
    if (!notices.length) return
    const access = this.#options.access()
    const isRefused = ({ reader }: PushSubscription) => findRefusal(access, createReader(reader)) !== undefined
    const { list, vapid } = this.#stored
    const subscriptions = list.filter((one) => !openKeys.has(one.reader[0] ?? '') && !isRefused(one))
    this.#remove(list.filter(isRefused).map(({ endpoint }) => endpoint))
    if (!vapid || !subscriptions.length) return
    const { env, tenantId, runInBackground } = this.#options
    const work = async () => {
      const { sendPush } = await import('./send-push.ts')
      this.#remove(await sendPush({ env, tenantId, vapid, notices, subscriptions, runInBackground }))
    }
    runInBackground(
      work().catch((error: unknown) => log.warn('push.unsent', 'Push messages could not be sent.', { error })),
    )
  }

  #remove(endpoints: readonly string[]): void {
    if (!endpoints.length) return
    const list = this.#stored.list.filter(({ endpoint }) => !endpoints.includes(endpoint))
    this.#store({ ...this.#stored, list })
  }

  get #stored(): StoredPush {
    return (this.#cached ??= this.#options.values.get<StoredPush>(name) ?? { list: [] })
  }

  #store(value: StoredPush): void {
    this.#options.values.set(name, value)
    this.#cached = value
  }
}

const holderOf = ({ reader: [holder = ''] }: PushSubscription): string => withoutRules(holder)

/** A browser more takes the place of the oldest one of the key or person with the most, so that nobody pushes out others. */
function withoutOldest(list: readonly PushSubscription[]): readonly PushSubscription[] {
  const countOf = (one: PushSubscription) => list.filter((other) => holderOf(other) === holderOf(one)).length
  const most = Math.max(...list.map(countOf))
  return list.toSpliced(
    list.findIndex((one) => countOf(one) === most),
    1,
  )
}

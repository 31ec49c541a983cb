/** Stores which provider keys of a tenant are suspended or dead, for all of its sessions. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import type { StoredKeyHealth } from '#durable/models/key-pool.ts'
import { clock } from '#durable/platform/clock.ts'
import type { StoredValues } from '../stored-values.ts'

export class TenantKeyHealth extends TenantPart {
  readonly #values: StoredValues

  constructor(mayChange: ChangeCheck, values: StoredValues) {
    super(mayChange)
    this.#values = values
  }

  /** The suspended and the dead keys, by key id. */
  list(): StoredKeyHealth {
    return this.#values.get<StoredKeyHealth>('keys') ?? {}
  }

  /** Suspends a key until a time, or marks it as dead. Suspensions that are over are removed. */
  suspend(authority: Authority, keyId: string, state: StoredKeyHealth[string]): void {
    this.requireOwn(authority)
    const now = clock.now()
    const current = Object.entries(this.list()).filter(([, { until, dead }]) => dead || until > now)
    this.#values.set('keys', { ...Object.fromEntries(current), [keyId]: state })
  }

  /** Removes the state of a key that was deleted. */
  remove(authority: Authority, keyId: string): void {
    this.requireOwn(authority)
    const { [keyId]: _removed, ...others } = this.list()
    this.#values.set('keys', others)
  }
}

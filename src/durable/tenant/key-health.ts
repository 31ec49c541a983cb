/** Stores which provider keys of a tenant are suspended or dead, for all of its sessions. */

import { RpcTarget } from 'cloudflare:workers'
import type { StoredKeyHealth } from '../models/key-pool.ts'
import { clock } from '../platform/clock.ts'
import type { StoredValues } from './stored-values.ts'

export class TenantKeyHealth extends RpcTarget {
  readonly #values: StoredValues

  constructor(values: StoredValues) {
    super()
    this.#values = values
  }

  /** The suspended and the dead keys, by key id. */
  list(): StoredKeyHealth {
    return this.#values.get<StoredKeyHealth>('keys') ?? {}
  }

  /** Suspends a key until a time, or marks it as dead. Suspensions that are over are removed. */
  suspend(keyId: string, state: StoredKeyHealth[string]): void {
    const now = clock.now()
    const current = Object.entries(this.list()).filter(([, { until, dead }]) => dead || until > now)
    this.#values.set('keys', { ...Object.fromEntries(current), [keyId]: state })
  }

  /** Removes the state of a key that was deleted. */
  remove(keyId: string): void {
    const { [keyId]: _removed, ...others } = this.list()
    this.#values.set('keys', others)
  }
}

/** Stores the sealed provider keys that a tenant pays for itself. */

import { RpcTarget } from 'cloudflare:workers'
import {
  type Added,
  type Credential,
  type KeptCredentials,
  type SealedKeys,
  sealedKeys,
  withCredential,
  withoutCredential,
} from '../models/credentials.ts'
import type { KeptHealth } from '../models/key-pool.ts'
import type { TenantKeyHealth } from './key-health.ts'
import type { StoredValues } from './stored-values.ts'

export class TenantCredentials extends RpcTarget {
  readonly #values: StoredValues
  readonly #keyHealth: TenantKeyHealth

  constructor(values: StoredValues, keyHealth: TenantKeyHealth) {
    super()
    this.#values = values
    this.#keyHealth = keyHealth
  }

  /** All credentials, oldest first, with the health of all keys. */
  list(): { readonly list: readonly Credential[]; readonly health: KeptHealth } {
    return { list: this.#stored()?.list ?? [], health: this.#keyHealth.list() }
  }

  add(credential: Credential): Added {
    const { is, kept } = withCredential(this.#stored() ?? noCredentials, credential)
    if (kept) this.#values.set('credentials', kept)
    return is
  }

  /** Returns whether there was a credential of this id. */
  remove(id: string): boolean {
    const left = withoutCredential(this.#stored() ?? noCredentials, id)
    if (!left) return false
    this.#values.set('credentials', left)
    this.#keyHealth.remove(id)
    return true
  }

  /** The keys as a snapshot carries them; undefined when the tenant never had one. */
  sealed(): SealedKeys | undefined {
    return sealedKeys(this.#stored())
  }

  #stored(): KeptCredentials | undefined {
    return this.#values.get<KeptCredentials>('credentials')
  }
}

const noCredentials: KeptCredentials = { revision: 0, list: [] }

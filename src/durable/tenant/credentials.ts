/** Stores the sealed provider keys that a tenant pays for itself. */

import { RpcTarget } from 'cloudflare:workers'
import {
  type AddResult,
  type Credential,
  type StoredCredentials,
  type SealedKeys,
  sealedKeys,
  withCredential,
  withoutCredential,
} from '../models/credentials.ts'
import type { StoredKeyHealth } from '../models/key-pool.ts'
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
  list(): { readonly list: readonly Credential[]; readonly health: StoredKeyHealth } {
    return { list: this.#stored()?.list ?? [], health: this.#keyHealth.list() }
  }

  add(credential: Credential): AddResult {
    const { result, stored } = withCredential(this.#stored() ?? noCredentials, credential)
    if (stored) this.#values.set('credentials', stored)
    return result
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

  #stored(): StoredCredentials | undefined {
    return this.#values.get<StoredCredentials>('credentials')
  }
}

const noCredentials: StoredCredentials = { revision: 0, list: [] }

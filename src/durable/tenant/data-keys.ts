/** Stores the wrapped data key of a tenant. Only the last one is kept: sealed values carry their own. */

import { RpcTarget } from 'cloudflare:workers'
import type { DataKey } from '../platform/data-key.ts'
import type { StoredValues } from './stored-values.ts'

export class TenantDataKeys extends RpcTarget {
  readonly #values: StoredValues

  constructor(values: StoredValues) {
    super()
    this.#values = values
  }

  get(): DataKey | undefined {
    return this.#values.get<DataKey>('data-key')
  }

  /** Replaces the key with this wrapped text. Returns the stored key: another request may have been first. */
  put(key: DataKey, replaces: string | undefined): DataKey {
    const stored = this.get()
    if (stored?.wrapped !== replaces) return stored ?? key
    this.#values.set('data-key', key)
    return key
  }
}

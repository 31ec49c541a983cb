/** Stores the wrapped data key of a tenant. Only the last one is kept: sealed values carry their own. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import type { DataKey } from '#durable/platform/data-key.ts'
import type { StoredValues } from '../stored-values.ts'

export class TenantDataKeys extends TenantPart {
  readonly #values: StoredValues

  constructor(mayChange: ChangeCheck, values: StoredValues) {
    super(mayChange)
    this.#values = values
  }

  get(authority: Authority): DataKey | undefined {
    this.requireOwn(authority)
    return this.#values.get<DataKey>('data-key')
  }

  /** Replaces the key with this wrapped text. Returns the stored key: another request may have been first. */
  put(authority: Authority, key: DataKey, replaces: string | undefined): DataKey {
    const stored = this.get(authority)
    if (stored?.wrapped !== replaces) return stored ?? key
    this.#values.set('data-key', key)
    return key
  }
}

/** Stores context windows of models that no catalog describes, as sessions of the tenant found them out. */

import { RpcTarget } from 'cloudflare:workers'
import type { Authority } from '#agent/core/permission/authority.ts'
import { type ChangeCheck, requireOwn } from './own-tenant.ts'
import type { Windows } from '#durable/models/learned-windows.ts'
import type { StoredValues } from './stored-values.ts'

export class TenantWindows extends RpcTarget {
  readonly #mayChange: ChangeCheck
  readonly #values: StoredValues

  constructor(mayChange: ChangeCheck, values: StoredValues) {
    super()
    this.#mayChange = mayChange
    this.#values = values
  }

  /** Tokens by model id. */
  list(): Windows {
    return this.#values.get<Windows>('windows') ?? {}
  }

  /** Records the window of a model. The smallest value stays. */
  record(authority: Authority, modelId: string, tokens: number): void {
    requireOwn(this.#mayChange, authority)
    const windows = this.list()
    if (tokens < (windows[modelId] ?? Infinity)) this.#values.set('windows', { ...windows, [modelId]: tokens })
  }
}

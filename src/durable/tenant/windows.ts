/** Stores context windows of models that no catalog describes, as sessions of the tenant found them out. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { type ChangeCheck, TenantPart } from './tenant-part.ts'
import type { Windows } from '#durable/models/learned-windows.ts'
import type { StoredValues } from './stored-values.ts'

export class ContextWindows extends TenantPart {
  readonly #values: StoredValues

  constructor(mayChange: ChangeCheck, values: StoredValues) {
    super(mayChange)
    this.#values = values
  }

  /** Tokens by model id. */
  list(): Windows {
    return this.#values.get<Windows>('windows') ?? {}
  }

  /** Records the window of a model. The smallest value stays. */
  record(authority: Authority, modelId: string, tokens: number): void {
    this.requireOwn(authority)
    const windows = this.list()
    if (tokens < (windows[modelId] ?? Infinity)) this.#values.set('windows', { ...windows, [modelId]: tokens })
  }
}

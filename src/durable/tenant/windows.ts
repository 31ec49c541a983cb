/** Stores context windows of models that no catalog describes, as sessions of the tenant found them out. */

import { RpcTarget } from 'cloudflare:workers'
import type { Windows } from '../models/learned-windows.ts'
import type { StoredValues } from './stored-values.ts'

export class TenantWindows extends RpcTarget {
  readonly #values: StoredValues

  constructor(values: StoredValues) {
    super()
    this.#values = values
  }

  /** Tokens by model id. */
  list(): Windows {
    return this.#values.get<Windows>('windows') ?? {}
  }

  /** Records the window of a model. The smallest value stays. */
  record(modelId: string, tokens: number): void {
    const windows = this.list()
    if (tokens < (windows[modelId] ?? Infinity)) this.#values.set('windows', { ...windows, [modelId]: tokens })
  }
}

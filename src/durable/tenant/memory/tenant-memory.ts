/** Reaches the memory of a tenant (stored-memory.ts), whose code is loaded with the first call: many remember nothing. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { TenantPart } from '../tenant-part.ts'
import type { MemoryMethod } from './memory.ts'
import type { StoredMemory, StoredMemoryOptions } from './stored-memory.ts'

export class TenantMemory extends TenantPart {
  readonly #options: StoredMemoryOptions
  #memory: StoredMemory | undefined

  constructor(options: StoredMemoryOptions) {
    super(options.mayChange)
    this.#options = options
  }

  /** The methods check further scopes. */
  async run(authority: Authority, method: MemoryMethod, given: unknown[]): Promise<unknown> {
    this.requireOwn(authority)
    const { StoredMemory: Memory } = await import('./stored-memory.ts')
    this.#memory ??= new Memory(this.#options)
    const call = this.#memory[method] as (...args: readonly unknown[]) => unknown
    return call.call(this.#memory, authority, ...given)
  }
}

/** Reaches the rows of connected apps (app-rows.ts), whose code is loaded with the first call: few tenants have apps. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { TenantPart } from '../tenant-part.ts'
import type { AppMethod } from './app-row.ts'
import type { AppRows, AppRowsOptions } from './app-rows.ts'

export class TenantApps extends TenantPart {
  readonly #options: AppRowsOptions
  #rows: AppRows | undefined

  constructor(options: AppRowsOptions) {
    super(options.mayChange)
    this.#options = options
  }

  /** The methods check further scopes. */
  async run(authority: Authority, method: AppMethod, given: unknown[]): Promise<unknown> {
    this.requireOwn(authority)
    const { AppRows: Rows } = await import('./app-rows.ts')
    this.#rows ??= new Rows(this.#options)
    const call = this.#rows[method] as (...args: readonly unknown[]) => unknown
    return call.call(this.#rows, authority, ...given)
  }
}

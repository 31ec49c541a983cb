/** Reaches the rows of plugins (plugin-rows.ts), whose code is loaded with the first call: few tenants have plugins. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { TenantPart } from '../tenant-part.ts'
import type { PluginRows, TenantPluginsOptions } from './plugin-rows.ts'
import { type PluginMethod, versionName } from './plugin-row.ts'

export class TenantPlugins extends TenantPart {
  readonly #options: TenantPluginsOptions
  #rows: PluginRows | undefined

  constructor(options: TenantPluginsOptions) {
    super(options.mayChange)
    this.#options = options
  }

  /** Undefined as long as there was never a plugin. */
  readonly version = (): number | undefined => this.#options.values.get<number>(versionName)

  /** The methods check further scopes. */
  async run(authority: Authority, method: PluginMethod, given: unknown[]): Promise<unknown> {
    this.requireOwn(authority)
    const { PluginRows: Rows } = await import('./plugin-rows.ts')
    this.#rows ??= new Rows(this.#options)
    const call = this.#rows[method] as (...args: readonly unknown[]) => unknown
    return call.call(this.#rows, authority, ...given)
  }
}

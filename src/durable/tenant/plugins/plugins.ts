/** Reaches the rows of plugins (plugin-rows.ts), whose code is loaded with the first call: few tenants have plugins. */

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

  /** Every method checks the authority, which is its first argument. */
  async run(method: PluginMethod, given: unknown[]): Promise<unknown> {
    const { PluginRows: Rows } = await import('./plugin-rows.ts')
    this.#rows ??= new Rows(this.#options)
    const call = this.#rows[method] as (...args: readonly unknown[]) => unknown
    return call.apply(this.#rows, given)
  }
}

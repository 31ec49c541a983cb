/** Reaches the rows of plugins (plugin-rows.ts): few tenants have plugins. */

import { LoadedTenantPart } from '../tenant-part.ts'
import type { PluginRows, TenantPluginsOptions } from './plugin-rows.ts'
import { type PluginMethod, versionName } from './plugin-row.ts'

export class TenantPlugins extends LoadedTenantPart<PluginRows, PluginMethod> {
  readonly #values: TenantPluginsOptions['values']

  constructor(options: TenantPluginsOptions) {
    super(options.mayChange, async () => new (await import('./plugin-rows.ts')).PluginRows(options))
    this.#values = options.values
  }

  /** Undefined as long as there was never a plugin. */
  readonly version = (): number | undefined => this.#values.get<number>(versionName)
}

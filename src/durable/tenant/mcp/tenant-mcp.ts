/** Reaches the MCP servers of a tenant (servers.ts): few tenants have servers. */

import { LoadedTenantPart } from '../tenant-part.ts'
import { deploymentServers, type McpMethod } from './server-row.ts'
import type { McpServers, McpServersOptions } from './servers.ts'

/** The stored value that counts the changes. */
export const versionName = 'mcp version'

/** Undefined as long as there was never a server. */
export const readVersion = ({ values, env }: Pick<McpServersOptions, 'values' | 'env'>): number | undefined =>
  values.get<number>(versionName) ?? (deploymentServers(env).length ? 1 : undefined)

export class TenantMcp extends LoadedTenantPart<McpServers, McpMethod> {
  readonly #options: McpServersOptions

  constructor(options: McpServersOptions) {
    super(options.mayChange, async () => new (await import('./servers.ts')).McpServers(options))
    this.#options = options
  }

  readonly version = (): number | undefined => readVersion(this.#options)
}

/** Reaches the MCP servers of a tenant (servers.ts), whose code is loaded with the first call: few tenants have servers. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { TenantPart } from '../tenant-part.ts'
import { deploymentServers, type McpMethod } from './server-row.ts'
import type { McpServers, McpServersOptions } from './servers.ts'

/** The stored value that counts the changes. */
export const versionName = 'mcp version'

/** Undefined as long as there was never a server. */
export const readVersion = ({ values, env }: Pick<McpServersOptions, 'values' | 'env'>): number | undefined =>
  values.get<number>(versionName) ?? (deploymentServers(env).length ? 1 : undefined)

export class TenantMcp extends TenantPart {
  readonly #options: McpServersOptions
  #servers: McpServers | undefined

  constructor(options: McpServersOptions) {
    super(options.mayChange)
    this.#options = options
  }

  readonly version = (): number | undefined => readVersion(this.#options)

  /** The methods check further scopes. */
  async run(authority: Authority, method: McpMethod, given: unknown[]): Promise<unknown> {
    this.requireOwn(authority)
    const { McpServers: Servers } = await import('./servers.ts')
    this.#servers ??= new Servers(this.#options)
    const call = this.#servers[method] as (...args: readonly unknown[]) => unknown
    return call.call(this.#servers, authority, ...given)
  }
}

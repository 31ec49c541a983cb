/** `/reload-mcp`: connects to all MCP servers anew, and says how many tools each has. */

import { mcpOf } from '#durable/tenant/mcp/server-row.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { type CommandHandler, reply } from './command.ts'

const timeoutMs = 10_000

export const reloadMcpCommand: CommandHandler = async (session) => {
  const { tenantId, ownAuthority, outside } = session
  const mcp = () => mcpOf(outside.env, tenantId)
  const { servers } = await mcp().catalogue(ownAuthority)
  if (!servers.length) return reply('There are no MCP servers. Add one under /api/mcp/servers, or on the page.')
  const { refreshServer } = await import('#durable/tenant/mcp/list-server.ts')
  const secrets = session.tenant.snapshot?.secrets
  await Promise.all(servers.map((server) => refreshServer(server, { env: outside.env, tenantId, secrets }, timeoutMs)))
  forgetSnapshot(tenantId)
  const lines = (await mcp().list(ownAuthority))
    .filter(({ config }) => config.enabled)
    .map(({ config, state, toolCount }) => {
      const health = state.status === 'ready' ? `${toolCount} tools` : `${state.status}: ${state.reason ?? ''}`
      return `- ${config.alias}: ${health.trim()}`
    })
  return reply(['MCP servers, for the next message:', ...lines].join('\n'))
}

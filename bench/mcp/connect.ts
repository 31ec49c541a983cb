/** Starts the MCP servers of the benchmark, and a Talaria that is connected with all of them. */

import { join } from 'node:path'
import { json, sendMessage, type Target, TurnFailed } from '../client.ts'
import { ready } from '../model.ts'
import { freePort, start } from '../process.ts'
import { repository, type Stage } from '../stage.ts'
import { eras, serverCount, toolCount } from './answer.ts'
import type { Calls } from './main.ts'

export type McpStage = {
  readonly target: Target
  /** The address of a server. */
  readonly addressOf: (server: number) => string
  readonly calls: () => Promise<Calls>
  readonly forgetCalls: () => Promise<void>
}

export const aliasOf = (server: number): string => `s${server}`

/** People add servers with a public address and a token: the guard judges the one, and the other is opened for each call. */
const host = 'mcp.example.com'

type ListedServer = { readonly status: string; readonly tool_count: number }

/** A session without the tools is faster. */
async function requireTools(target: Target): Promise<void> {
  const { data } = await json<{ data: readonly ListedServer[] }>(target, 'GET', '/api/mcp/servers')
  const tools = data.reduce((sum, server) => sum + server.tool_count, 0)
  if (data.some(({ status }) => status !== 'ready') || tools !== toolCount)
    throw new TurnFailed(`the MCP servers have ${tools} tools: ${JSON.stringify(data).slice(0, 300)}`)
}

async function connect(stage: Stage): Promise<McpStage> {
  const port = await freePort()
  const running = start([process.execPath, join(repository, 'bench/mcp/main.ts'), String(port)], {
    cwd: repository,
    env: {},
  })
  const servers: Target = { name: 'mcp', origin: `http://127.0.0.1:${port}`, prefix: '' }
  await ready(servers, running, '/calls')
  const addressOf = (server: number) => `${servers.origin}/${server}`
  const aliases = Array.from({ length: serverCount }, (_, n) => aliasOf(n))
  const rows = aliases.map((alias, n) => [alias, { url: addressOf(n), trusted: true }]).slice(eras.length)
  const variables = {
    MCP_SERVERS: JSON.stringify(Object.fromEntries(rows)),
    WEB_HOST_MAP: JSON.stringify({ [host]: servers.origin }),
  }
  const { target } = await stage.connected(variables, 'with-mcp-servers')
  for (const [n, alias] of aliases.slice(0, eras.length).entries())
    await json(target, 'POST', '/api/mcp/servers', {
      alias,
      url: `https://${host}/${n}`,
      token: `bench-token-${n}`,
      trusted: true,
    })
  await sendMessage(target, 'Hello. [[text 5]]')
  await requireTools(target)
  return {
    target,
    addressOf,
    calls: () => json<Calls>(servers, 'GET', '/calls'),
    forgetCalls: async () => void (await json(servers, 'DELETE', '/calls')),
  }
}

const connected = new WeakMap<Stage, Promise<McpStage>>()

/** Started once: several metrics use them. */
export function connectServers(stage: Stage): Promise<McpStage> {
  const found = connected.get(stage) ?? connect(stage)
  connected.set(stage, found)
  return found
}

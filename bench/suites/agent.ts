/** Starts an agent with the MCP servers of a suite, and runs the cases of the suite on it side by side. */

import { type Client, createClient, eventually } from '../../test/e2e/support/client.ts'
import { deleteState, startServer } from '../../test/e2e/support/server.ts'

export type ToolServer = readonly [alias: string, server: { readonly url: string; readonly close: () => void }]

/** The variable that adds the servers. */
export const toolServers = (servers: readonly ToolServer[], more: object = {}) => ({
  MCP_SERVERS: JSON.stringify(Object.fromEntries(servers.map(([alias, { url }]) => [alias, { url, ...more }]))),
})

export async function waitForTools(client: Client, servers: readonly ToolServer[]): Promise<void> {
  for (const [alias] of servers)
    await eventually(
      () => client.post(`/api/mcp/servers/${alias}/test`),
      ({ json }) => json?.ok,
      300_000,
    )
}

type AgentOptions = {
  readonly env: Readonly<Record<string, string>>
  readonly servers: readonly ToolServer[]
  /** Of the rows of the servers. */
  readonly row?: object
  /** Of the tenant. */
  readonly settings?: object
}

export async function startAgent({ env, servers, row = {}, settings }: AgentOptions) {
  const server = await startServer({ env: { ...env, ...toolServers(servers, row) } })
  const client = createClient(server.url, server.key)
  if (settings) await client.send('PATCH', '/api/settings', { body: settings })
  await waitForTools(client, servers)
  return {
    client,
    stop: async () => {
      await server.stop()
      for (const [, one] of servers) one.close()
      deleteState(server.state)
    },
  }
}

/** Each lane takes the next case as soon as it is free. A case that throws is reported and does not stop the others. */
export async function runInLanes<Case>(
  cases: readonly Case[],
  lanes: readonly number[],
  play: (one: Case, lane: number) => Promise<void>,
  fail: (one: Case, error: unknown) => void,
): Promise<void> {
  const open = [...cases]
  const work = async (lane: number) => {
    while (open.length) {
      const one = open.shift() as Case
      await play(one, lane).catch((error: unknown) => fail(one, error))
    }
  }
  await Promise.all(lanes.map(work))
}

export const listLanes = (count: string): readonly number[] => Array.from({ length: Number(count) }, (_, at) => at)

/** Marks a message, so that the scripted model finds the case of the lane. */
export const markLane = (lane: number): string => `(lane ${lane})`
/** The newest mark in the text counts. */
export const readLane = (text: string): number => Number([...text.matchAll(/\(lane (\d{1,4})\)/g)].at(-1)?.[1])

/** Starts counting the seconds of a run. */
export function startWatch(): () => number {
  const started = Date.now()
  return () => Math.round((Date.now() - started) / 1_000)
}

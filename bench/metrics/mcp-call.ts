/**
 * P23: measures a call of an MCP server beyond its bare request, in a session with forty servers. A step that calls is
 * compared with a step of `todo` and the same request, which the floor sends to the same server. A server that may ask on
 * a stream of its own has it open during each call, also of the floor.
 */

import { json, sendMessage, type Target, TurnFailed } from '../client.ts'
import { type Metric, times } from '../metric.ts'
import { called } from '../mcp/catalogue.ts'
import { aliasOf, connectServers, type McpStage } from '../mcp/connect.ts'
import { inSequence, overheadRows, type Steps } from '../overhead.ts'
import type { Stage } from '../stage.ts'
import { toolResults } from '../tool-results.ts'
import { loopOf } from './tool-loop.ts'

const steps = 20
const turns = 3
const text = 'some words'

/** By the number of the server. */
const kinds = ['2026-07-28', '2025-11-25', '2025-11-25 with a stream for questions']

const toolOf = (server: number): string => `mcp__${aliasOf(server)}__${called}`

/** A call that failed is fast. */
async function requireAnswers(target: Target, session: string): Promise<void> {
  const results = (await toolResults(target, session)).filter((result) => !result.includes('"todos"'))
  const wrong = results.find((result) => !result.includes(text))
  if (!results.length || wrong !== undefined) throw new TurnFailed(`calls failed: ${wrong ?? 'no results'}`)
}

/** Times from one bare request to the next, as their server sees them. */
async function bareRequests(stage: Stage, mcp: McpStage, server: number, count: number): Promise<readonly number[]> {
  const { last: call, stream } = await mcp.calls()
  if (call?.server !== server) throw new TurnFailed('the last call was of another server')
  await mcp.forgetCalls()
  const { target: floor } = await stage.floor()
  const sent = { call, ...(stream?.server === server && { stream }) }
  await json(floor, 'POST', '/fetches', { url: mcp.addressOf(server), ...sent, count: count + 1 })
  const { arrivals } = await mcp.calls()
  return arrivals.slice(1).map((at, n) => at - (arrivals[n] ?? NaN))
}

async function sample(stage: Stage, mcp: McpStage, server: number): Promise<Steps> {
  const { target } = mcp
  await stage.model.reset()
  const { session } = await sendMessage(target, 'Hello. [[text 5]]')
  const loop = async (more: object = {}) => (await loopOf(stage.model, target, { steps, ...more }, session)).gaps
  const call = (more: object = {}) => loop({ tool: toolOf(server), input: { text }, ...more })
  await call({ steps: 3 })
  const [calls, others]: [number[], number[]] = [[], []]
  for (let n = 0; n < turns; n++) {
    others.push(...(await loop()))
    calls.push(...(await call()))
  }
  const fetches = await bareRequests(stage, mcp, server, calls.length)
  await requireAnswers(target, session)
  return { with: calls, without: inSequence(others, fetches) }
}

export const mcpCall: Metric = {
  id: 'P23',
  what: 'a call of an MCP server',
  run: async (stage, { rounds }) => {
    const mcp = await connectServers(stage)
    const found = (await times(1 + rounds, () => times(kinds.length, (n) => sample(stage, mcp, n)))).slice(1)
    return kinds.flatMap((kind, n) =>
      overheadRows(
        'P23',
        `a call of an MCP server beyond its bare request, ${kind}`,
        3,
        found.flatMap((round) => round[n] ?? []),
      ),
    )
  },
}

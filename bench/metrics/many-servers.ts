/** P25: measures P1 and P2 in sessions with forty MCP servers. */

import { atMost, type Metric, pairs, ratioRow } from '../metric.ts'
import { connectServers } from '../mcp/connect.ts'
import { serverCount, toolCount } from '../mcp/answer.ts'
import { median } from '../stats.ts'
import { ttftOf, warmSession } from './first-token.ts'
import type { Target } from '../client.ts'

const kinds = [
  { what: 'first word of a warm session', goal: 1.75, sessionFor: warmSession },
  { what: 'first word of a new session', goal: 2.4, sessionFor: async () => undefined },
]

export const manyServers: Metric = {
  id: 'P25',
  what: `first word with ${serverCount} MCP servers`,
  run: async (stage, { rounds }) => {
    const { target: connected } = await connectServers(stage)
    const { target: plain } = await stage.ours()
    const proxy = await stage.proxy()
    const rows = []
    for (const { what, goal, sessionFor } of kinds) {
      const ttft = async (target: Target) => ttftOf(target, await sessionFor(target))
      const without: number[] = []
      const found = await pairs(
        rounds,
        () => ttft(connected),
        async (round) => {
          const early = await ttft(plain)
          if (round >= 0) without.push(early)
          return ttftOf(proxy)
        },
      )
      const ratio = median(found.map(({ floor }, n) => (without[n] ?? NaN) / floor))
      const note = `without servers ${ratio.toFixed(2)}`
      const named = { metric: 'P25', goal: atMost(goal), absoluteUnit: 'ms', note }
      rows.push(
        ratioRow({ ...named, what: `${what} ÷ bare proxy, ${serverCount} MCP servers with ${toolCount} tools` }, found),
      )
    }
    return rows
  },
}

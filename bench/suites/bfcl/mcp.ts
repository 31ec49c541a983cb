/**
 * `node bench/suites/bfcl/mcp.ts FOLDER [--every N] [--lanes N]`: makes the calls of BFCL's cases of one turn as tools of MCP
 * servers, in four dialects of providers in turn, and compares the arguments that the servers get with those that the
 * model wrote.
 */

import { parseArgs } from 'node:util'
import { startDialectServer } from '../../../test/kit/index.ts'
import { listLanes, markLane, readLane, runInLanes, startAgent, startWatch } from '../agent.ts'
import { serveTools } from '../serve-tools.ts'
import { type BfclCase, readCases } from './cases.ts'
import { dialectSettings, modelOf } from './dialect-models.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { every: { type: 'string', default: '1' }, lanes: { type: 'string', default: '4' } },
})
const [folder] = positionals
if (!folder) throw new Error('usage: node bench/suites/bfcl/mcp.ts FOLDER [--every N] [--lanes N]')
const cases = readCases(folder).filter((_, at) => at % Number(values.every) === 0)

/** Cases whose functions have no name in common with another meaning, on one server. */
type Pool = { readonly tools: Map<string, BfclCase['tools'][number]>; readonly cases: Set<BfclCase> }
/** A session has all of a server's tools in its requests. */
const maxTools = 60
const pools: Pool[] = []

function findPool(one: BfclCase): Pool {
  const fits = ({ tools }: Pool) =>
    tools.size < maxTools &&
    one.tools.every((tool) => {
      const other = tools.get(tool.name)
      return other === undefined || JSON.stringify(other) === JSON.stringify(tool)
    })
  const found = pools.find(fits)
  if (found) return found
  const made: Pool = { tools: new Map(), cases: new Set() }
  pools.push(made)
  return made
}
for (const one of cases) {
  const pool = findPool(one)
  pool.cases.add(one)
  for (const tool of one.tools) pool.tools.set(tool.name, tool)
}

type Made = { readonly name: string; readonly json: string }
type Playing = { readonly left: Made[]; readonly got: Made[]; readonly names: ReadonlyMap<string, string> }
const playing: Playing[] = []
/** The pool that each lane uses now. No two lanes use one at a time. */
const busy = new Map<number, number>()

const servers = await Promise.all(
  pools.map(async ({ tools }, at) => {
    const served = [...tools.values()].map(({ name, description, parameters }) => ({
      name,
      description: description.slice(0, 500),
      inputSchema: { type: 'object', ...parameters },
      annotations: {},
    }))
    const call = (name: string, input: object) => {
      playing[busy.get(at) ?? -1]?.got.push({ name, json: JSON.stringify(input) })
      return 'ok'
    }
    return [`pool${at}`, await serveTools(served, call)] as const
  }),
)
const provider = await startDialectServer(({ text, nth }) => {
  const { left = [], names } = playing[readLane(text)] ?? {}
  if (!left.length) return { text: 'Done.' }
  const calls = left
    .splice(0)
    .map(({ name, json }, at) => ({ id: `call_${nth}_${at}`, name: names?.get(name) ?? name, json }))
  return { calls }
})
const agent = await startAgent({
  env: dialectSettings(provider.urlOf),
  servers,
  settings: { approvals: { mode: 'off' }, tools: { tool_search: { enabled: 'off' } } },
})
const { client } = agent

type ToolRow = { readonly tool: string; readonly name: string; readonly state: string; readonly hash: string }
/** The names that the model sees. A person would approve what looks like an attack and is none. */
async function listNames(
  alias: string,
): Promise<{ readonly names: ReadonlyMap<string, string>; readonly held: number }> {
  const path = `/api/mcp/servers/${alias}`
  const { json } = await client.get(`${path}/tools`)
  const rows = json.data as readonly ToolRow[]
  const held = rows.filter(({ state }) => state === 'quarantined')
  if (held.length) await client.post(`${path}/approve`, { tools: held.map(({ tool, hash }) => ({ tool, hash })) })
  return { names: new Map(rows.map(({ tool, name }) => [tool, name])), held: held.length }
}

const expected = ({ calls }: BfclCase) =>
  calls.map(({ name, json }) => ({ name, json: JSON.stringify(JSON.parse(json)) }))
const sorted = (made: readonly Made[]) => JSON.stringify(made.map((one) => JSON.stringify(one)).toSorted())

const seconds = startWatch()
let [equal, held, shown] = [0, 0, 0]
const nthOf = new Map(cases.map((one, nth) => [one, nth]))

async function playPool(at: number, lane: number): Promise<void> {
  const known = await listNames(`pool${at}`)
  held += known.held
  busy.set(at, lane)
  for (const one of pools[at]?.cases ?? []) {
    const now: Playing = { left: [...one.calls], got: [], names: known.names }
    playing[lane] = now
    const session = await client.newSession({ model: modelOf(nthOf.get(one) ?? 0) })
    await client.chat(session, `${markLane(lane)} go`, { 'x-talaria-toolsets': `mcp-pool${at}` })
    // Calls of one answer may run side by side.
    const isEqual = sorted(now.got) === sorted(expected(one))
    equal += Number(isEqual)
    if (isEqual || shown++ >= 40) continue
    const results = (await client.messages(session)).filter(({ role }) => role === 'tool')
    const [refused] = results.map(({ content }) => content?.slice(0, 200)).filter((text) => text !== 'ok')
    console.log(`${one.id}: ${JSON.stringify(expected(one)).slice(0, 300)}\n  ${refused}`)
  }
}

try {
  const all = pools.map((_, at) => at)
  await runInLanes(all, listLanes(values.lanes), playPool, (at, error) => console.log(`pool ${at}: ${String(error)}`))
  console.log(
    `${equal} of ${cases.length} cases with equal arguments, ${pools.length} servers, ${held} tools quarantined, ${seconds()} s`,
  )
} finally {
  await agent.stop()
  await provider.close()
}
process.exitCode = equal === cases.length ? 0 : 1

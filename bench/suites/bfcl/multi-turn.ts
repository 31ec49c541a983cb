/**
 * `node bench/suites/bfcl/multi-turn.ts FOLDER [--every N] [--lanes N]`: plays the multi-turn cases of BFCL through a
 * server, whose tools are the simulators as MCP servers, and compares their end states with those of the known calls.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { replay, startModelServer } from '../../../test/kit/index.ts'
import { createClient, eventually } from '../../../test/e2e/support/client.ts'
import { deleteState, startServer } from '../../../test/e2e/support/server.ts'
import { modelSettings } from '../../../test/e2e/support/shared.ts'
import { serveTools } from '../serve-tools.ts'
import { toJsonSchema } from './cases.ts'
import { type SimulatedCall, startSimulator } from './simulator.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { every: { type: 'string', default: '1' }, lanes: { type: 'string', default: '2' } },
})
const [folder] = positionals
if (!folder) throw new Error('usage: node bench/suites/bfcl/multi-turn.ts FOLDER [--every N] [--lanes N]')
const data = join(folder, 'bfcl_eval/data')
const categories = ['base', 'long_context', 'miss_func', 'miss_param']
/** The classes with the files that describe them. */
const classes: Readonly<Record<string, string>> = {
  GorillaFileSystem: 'gorilla_file_system',
  MathAPI: 'math_api',
  MessageAPI: 'message_api',
  TwitterAPI: 'posting_api',
  TicketAPI: 'ticket_api',
  TradingBot: 'trading_bot',
  TravelAPI: 'travel_booking',
  VehicleControlAPI: 'vehicle_control',
}

type Case = {
  readonly id: string
  readonly involved_classes: readonly string[]
  readonly initial_config: object
  readonly turns: readonly (readonly string[])[]
}
const readLines = <Line>(path: string): readonly Line[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)

const cases = categories
  .flatMap((category) => {
    const file = `BFCL_v4_multi_turn_${category}.json`
    const gold = new Map(
      readLines<{ readonly id: string; readonly ground_truth: Case['turns'] }>(join(data, 'possible_answer', file)).map(
        (one) => [one.id, one.ground_truth],
      ),
    )
    return readLines<Omit<Case, 'turns'>>(join(data, file)).map((one) => ({ ...one, turns: gold.get(one.id) ?? [] }))
  })
  .filter((_, at) => at % Number(values.every) === 0)

const simulator = startSimulator(folder)
const lanes = Array.from({ length: Number(values.lanes) }, (_, at) => at)
const aliasOf = (name: string, lane: number): string => `${classes[name]?.replaceAll('_', '')}${lane}`
const prefixOf = (name: string, lane: number): string => `mcp__${aliasOf(name, lane)}__`
const classOf = new Map<string, string>()
const servers = await Promise.all(
  lanes.flatMap((lane) =>
    Object.entries(classes).map(async ([name, file]) => {
      const described = readLines<{ readonly name: string; readonly description: string; readonly parameters: object }>(
        join(data, 'multi_turn_func_doc', `${file}.json`),
      )
      for (const tool of described) classOf.set(`${name} ${tool.name}`, name)
      const tools = described.map((tool) => ({
        name: tool.name,
        description: tool.description.slice(0, 500),
        inputSchema: toJsonSchema(tool.parameters) as object,
        isReadOnly: false,
      }))
      const call = (tool: string, input: SimulatedCall['input']) => simulator.call(`run${lane}`, { name: tool, input })
      return [aliasOf(name, lane), await serveTools(tools, call)] as const
    }),
  ),
)

/** The calls of the turn that each lane plays now. */
const playing: (readonly { readonly name: string; readonly input: unknown }[])[] = []
const model = await startModelServer()
model.script((asked) => {
  const calls = playing[Number(/lane (\d+)/.exec(asked.text)?.[1])]
  return calls && replay(calls.map((call) => ({ calls: [call] })))(asked)
})
const server = await startServer({
  env: {
    ...modelSettings(model.url),
    MCP_SERVERS: JSON.stringify(Object.fromEntries(servers.map(([alias, { url }]) => [alias, { url }]))),
  },
})
const client = createClient(server.url, server.key)
await client.send('PATCH', '/api/settings', { body: { approvals: { mode: 'off' } } })
for (const [alias] of servers)
  await eventually(
    () => client.post(`/api/mcp/servers/${alias}/test`),
    ({ json }) => json?.ok,
    30_000,
  )

const ownerOf = ({ involved_classes: involved }: Case, tool: string): string =>
  involved.find((name) => classOf.has(`${name} ${tool}`)) ?? ''

/** Returns why the end states differ, or undefined. */
async function play(one: Case, lane: number): Promise<string | undefined> {
  const isLong = one.id.includes('long_context')
  const [run, gold] = [`run${lane}`, `gold${lane}`]
  for (const name of [run, gold]) await simulator.open(name, one.involved_classes, one.initial_config, isLong)
  const session = await client.newSession()
  const toolsets = one.involved_classes.map((name) => `mcp-${aliasOf(name, lane)}`).join(',')
  for (const [turn, texts] of one.turns.entries()) {
    const calls = await Promise.all(texts.map((text) => simulator.parse(gold, text)))
    for (const call of calls) await simulator.call(gold, call)
    playing[lane] = calls.map(({ name, input }) => ({ name: `${prefixOf(ownerOf(one, name), lane)}${name}`, input }))
    const answer = await client.chat(session, `lane ${lane} turn ${turn}`, { 'x-talaria-toolsets': toolsets })
    if (answer.status !== 200) return `turn ${turn}: ${answer.status} ${answer.text.slice(0, 200)}`
    if ((await simulator.state(run)) !== (await simulator.state(gold)))
      return `turn ${turn}: ${texts.join('; ').slice(0, 300)} (${session}: ${answer.json.output?.slice(0, 200)})`
  }
  return undefined
}

const started = Date.now()
let [equal, unreadable] = [0, 0]
try {
  const open = [...cases]
  const work = async (lane: number) => {
    for (let one = open.shift(); one; one = open.shift()) {
      const { id } = one
      const why = await play(one, lane).catch((error: unknown) => {
        unreadable++
        return String(error)
      })
      if (why === undefined) equal++
      else console.log(`${id}: ${why}`)
    }
  }
  await Promise.all(lanes.map(work))
  console.log(
    `${equal} of ${cases.length} end states equal, ${unreadable} not played, ${Math.round((Date.now() - started) / 1_000)} s`,
  )
} finally {
  await server.stop()
  await model.close()
  for (const [, one] of servers) one.close()
  simulator.close()
  deleteState(server.state)
}
process.exitCode = equal === cases.length ? 0 : 1

/**
 * `node bench/suites/bfcl/multi-turn.ts FOLDER [--every N] [--lanes N]`: plays the multi-turn cases of BFCL through a
 * server in four dialects of providers, one after the other. Its tools are the simulators as MCP servers. Compares their
 * end states with those of the known calls.
 */

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startDialectServer } from '../../../test/kit/index.ts'
import { listLanes, markLane, readLane, runInLanes, startAgent, startWatch } from '../agent.ts'
import { serveTools } from '../serve-tools.ts'
import { readLines, toJsonSchema } from './cases.ts'
import { dialectSettings, modelOf } from './dialect-models.ts'
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
  readonly model: string
  readonly involved_classes: readonly string[]
  readonly initial_config: object
  readonly turns: readonly (readonly string[])[]
}
const cases = categories
  .flatMap((category) => {
    const file = `BFCL_v4_multi_turn_${category}.json`
    const gold = new Map(
      readLines<{ readonly id: string; readonly ground_truth: Case['turns'] }>(join(data, 'possible_answer', file)).map(
        (one) => [one.id, one.ground_truth],
      ),
    )
    return readLines<Omit<Case, 'turns' | 'model'>>(join(data, file)).map((one) => ({
      ...one,
      turns: gold.get(one.id) ?? [],
    }))
  })
  .filter((_, at) => at % Number(values.every) === 0)
  .map((one, nth) => ({ ...one, model: modelOf(nth) }))

const simulator = startSimulator(folder)
const lanes = listLanes(values.lanes)
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
        annotations: {},
      }))
      const call = (tool: string, input: SimulatedCall['input']) => simulator.call(`run${lane}`, { name: tool, input })
      return [aliasOf(name, lane), await serveTools(tools, call)] as const
    }),
  ),
)

/** The calls that are left of the turn that each lane plays now. */
const playing: { readonly name: string; readonly input: unknown }[][] = []
const provider = await startDialectServer(({ text, nth }) => {
  const call = playing[readLane(text)]?.shift()
  if (!call) return { text: 'Done.' }
  return { calls: [{ id: `call_${nth}`, name: call.name, json: JSON.stringify(call.input) }] }
})
const agent = await startAgent({
  env: dialectSettings(provider.urlOf),
  servers,
  settings: { approvals: { mode: 'off' } },
})
const { client } = agent

const ownerOf = ({ involved_classes: involved }: Case, tool: string): string =>
  involved.find((name) => classOf.has(`${name} ${tool}`)) ?? ''

/** Returns why the end states differ, or undefined. */
async function play(one: Case, lane: number): Promise<string | undefined> {
  const isLong = one.id.includes('long_context')
  const [run, gold] = [`run${lane}`, `gold${lane}`]
  for (const name of [run, gold]) await simulator.open(name, one.involved_classes, one.initial_config, isLong)
  const session = await client.newSession({ model: one.model })
  const toolsets = one.involved_classes.map((name) => `mcp-${aliasOf(name, lane)}`).join(',')
  for (const [turn, texts] of one.turns.entries()) {
    const calls = await Promise.all(texts.map((text) => simulator.parse(gold, text)))
    for (const call of calls) await simulator.call(gold, call)
    playing[lane] = calls.map(({ name, input }) => ({ name: `${prefixOf(ownerOf(one, name), lane)}${name}`, input }))
    const answer = await client.chat(session, `${markLane(lane)} turn ${turn}`, { 'x-talaria-toolsets': toolsets })
    if (answer.status !== 200) return `turn ${turn}: ${answer.status} ${answer.text.slice(0, 200)}`
    if ((await simulator.state(run)) !== (await simulator.state(gold)))
      return `turn ${turn}: ${texts.join('; ').slice(0, 300)} (${session}: ${await lastResult(session)})`
  }
  return undefined
}

const lastResult = async (session: string): Promise<string> =>
  (await client.messages(session)).findLast(({ role }) => role === 'tool')?.content?.slice(0, 300) ?? ''

const seconds = startWatch()
let [equal, unreadable] = [0, 0]
try {
  await runInLanes(
    cases,
    lanes,
    async (one, lane) => {
      const why = await play(one, lane)
      if (why === undefined) equal++
      else console.log(`${one.id} (${one.model}): ${why}`)
    },
    ({ id }, error) => {
      unreadable++
      console.log(`${id}: ${String(error)}`)
    },
  )
  console.log(`${equal} of ${cases.length} end states equal, ${unreadable} not played, ${seconds()} s`)
} finally {
  await agent.stop()
  await provider.close()
  simulator.close()
}
process.exitCode = equal === cases.length ? 0 : 1

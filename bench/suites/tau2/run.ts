/**
 * `node bench/suites/tau2/run.ts FOLDER [--seeds N] [--seed N] [--every N] [--lanes N] [--kill off]`: replays the tasks of
 * tau2's retail domain through a server that is killed at a random moment of each round, with every message sent twice.
 */

import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startModelServer } from '../../../test/kit/index.ts'
import { randomOf } from '../../../test/agent/shell-policy/mutations.ts'
import { createClient, eventually } from '../../../test/e2e/support/client.ts'
import { deleteState, newState, startServer } from '../../../test/e2e/support/server.ts'
import { modelSettings } from '../../../test/e2e/support/shared.ts'
import { markLane, readLane, startWatch, toolServers, type ToolServer, waitForTools } from '../agent.ts'
import { serveTools } from '../serve-tools.ts'
import { replayTask } from './replay-task.ts'
import { callRetail, isRead, retailTools, type Shop } from './retail.ts'
import { applyGold, hashShop, readShop, readTasks, type Task } from './tasks.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    every: { type: 'string', default: '1' },
    lanes: { type: 'string', default: '3' },
    kill: { type: 'string', default: 'on' },
  },
})
const [folder] = positionals
if (!folder)
  throw new Error('usage: node bench/suites/tau2/run.ts FOLDER [--seeds N] [--seed N] [--every N] [--lanes N]')
const shop = readShop(folder)
const tasks = readTasks(folder).filter((_, at) => at % Number(values.every) === 0)
const patienceMs = 600_000
const longestCallMs = 40

/** A shop of its own for each task that runs at a time. */
type Lane = { shop: Shop; task: Task; done: number[]; writes: number }
const lanes: Lane[] = Array.from({ length: Number(values.lanes) }, () => ({
  shop: structuredClone(shop),
  task: { id: '', calls: [] },
  done: [],
  writes: 0,
}))
let random = randomOf(1)
const prefixOf = (lane: number): string => `mcp__shop${lane}__`

const servers = await Promise.all(
  lanes.map(async (lane, at): Promise<ToolServer> => {
    const served = await serveTools(
      retailTools,
      (name, input) => {
        const result = callRetail(lane.shop, name, input)
        if (!isRead(name)) lane.writes++
        const nth = lane.task.calls.findIndex(
          (call, n) =>
            !lane.done.includes(n) && call.name === name && JSON.stringify(call.input) === JSON.stringify(input),
        )
        if (nth >= 0) lane.done.push(nth)
        return result
      },
      () => random(longestCallMs),
    )
    return [`shop${at}`, served]
  }),
)
const model = await startModelServer()
model.script((asked) => {
  const at = readLane(asked.text)
  const lane = lanes[at]
  return lane && replayTask(asked, lane.task, prefixOf(at), (nth) => lane.done.includes(nth))
})
const state = newState()
const start = () => startServer({ state, env: { ...modelSettings(model.url), ...toolServers(servers) } })
let server = await start()
const client = () => createClient(server.url, server.key)
await client().send('PATCH', '/api/settings', { body: { approvals: { mode: 'off' } } })
await waitForTools(client(), servers)

/** Sends the message twice with one key, as a client that lost the first answer. */
async function begin(at: number): Promise<string> {
  // A busy machine may close a kept connection just now.
  const session = await client()
    .newSession()
    .catch(() => client().newSession())
  const headers = { 'idempotency-key': randomUUID() }
  const message = { input: markLane(at), wait: false }
  const path = `/api/sessions/${session}/chat`
  const send = () => client().post(path, message, headers)
  await Promise.allSettled([send(), send()])
  return session
}

async function isDone(session: string): Promise<boolean> {
  const { json } = await client()
    .get(`/api/sessions/${session}`)
    .catch(() => ({ json: undefined }))
  return json?.status === 'idle'
}

type Count = { equal: number; doubled: number; kills: number; missed: string[] }

async function runRound(some: readonly Task[], count: Count): Promise<void> {
  for (const [at, task] of some.entries())
    Object.assign(lanes[at] ?? {}, { shop: structuredClone(shop), task, done: [], writes: 0 })
  const sessions = await Promise.all(some.map((_, at) => begin(at)))
  if (values.kill !== 'off') {
    await delay(random(1_500))
    await server.kill()
    count.kills++
    server = await start()
  }
  for (const [at, task] of some.entries()) {
    const lane = lanes[at]
    await eventually(() => isDone(sessions[at] ?? ''), Boolean, patienceMs).catch(() => undefined)
    if (!lane) continue
    const users = (await client().messages(sessions[at] ?? '')).filter(({ role }) => role === 'user').length
    const gold = task.calls.filter(({ name }) => !isRead(name)).length
    if (hashShop(lane.shop) === applyGold(shop, task) && users === 1) count.equal++
    else count.missed.push(`${task.id} (${lane.done.length} of ${task.calls.length} calls, ${users} messages)`)
    if (lane.writes > gold) count.doubled++
  }
}

const seconds = startWatch()
let isRight = true
try {
  for (let seed = Number(values.seed); seed < Number(values.seed) + Number(values.seeds); seed++) {
    random = randomOf(seed)
    const count: Count = { equal: 0, doubled: 0, kills: 0, missed: [] }
    for (let from = 0; from < tasks.length; from += lanes.length)
      await runRound(tasks.slice(from, from + lanes.length), count)
    isRight &&= count.equal === tasks.length && count.doubled === 0
    console.log(
      `seed ${seed}: ${count.equal} of ${tasks.length} equal, ${count.doubled} double effects, ${count.kills} kills, ${seconds()} s`,
    )
    for (const one of count.missed) console.log(`  missed: ${one}`)
  }
} finally {
  await server.stop()
  await model.close()
  for (const [, one] of servers) one.close()
  deleteState(state)
}
process.exitCode = isRight ? 0 : 1

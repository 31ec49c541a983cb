// Starts a model server and servers with a shared state folder, which tests kill and start again.
import { startModelServer } from '../support/model-server/server.ts'
import { createClient } from '../e2e/support/client.ts'
import { deleteState, newState, startServer } from '../e2e/support/server.ts'
import { modelSettings } from '../e2e/support/shared.ts'
import { subscribe } from '../e2e/support/sse.ts'

// Each started server adds an exit listener.
process.setMaxListeners(0)

/** A turn ends within this time after the runtime is back, without any request (reliability §4, row 4). */
export const recoveryTimeoutMs = 20_000

export async function newWorld() {
  const model = await startModelServer()
  const state = newState()
  const running = new Set()
  const start = async (env = {}) => {
    const server = await startServer({ state, env: { ...modelSettings(model.url), ...env } })
    running.add(server)
    return server
  }
  const kill = async (server) => {
    await server.kill()
    running.delete(server)
  }
  const close = async () => {
    for (const server of running) await server.kill()
    await model.close()
    deleteState(state)
  }
  return { model, start, kill, close }
}

export const clientTo = ({ url, key }) => createClient(url, key)

export const follow = ({ url, key }, session, after) =>
  subscribe({ url, key, path: `/api/sessions/${session}/events`, ...(after !== undefined && { after }) })

/** Lists the problems of a transcript. It is empty when every provider would accept it. */
export function listProblems(messages) {
  const trouble = []
  const ids = new Set()
  let open = []
  let before = 'assistant'
  for (const [n, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (open.shift() !== message.tool_call_id) trouble.push(`${n}: a result without an open call`)
      continue
    }
    if (open.length) trouble.push(`${n}: calls without results: ${open}`)
    if (message.role === before && messages[n - 1]?.role !== 'tool') trouble.push(`${n}: two of ${before} in a row`)
    open = (message.tool_calls ?? []).map(({ id }) => id)
    for (const id of open) if (ids.has(id)) trouble.push(`${n}: the id ${id} twice`)
    for (const id of open) ids.add(id)
    if (!open.length && !message.content?.trim()) trouble.push(`${n}: no content`)
    before = message.role
  }
  if (messages.at(-1)?.role !== 'assistant' || messages.at(-1)?.tool_calls)
    trouble.push('the last message is no answer')
  return trouble
}

/** Reads all events of a session up to the end of this run. */
export async function eventsOf(server, session, run) {
  const listener = await follow(server, session, 0)
  const ends = ({ type, data }) => /^run\.(completed|failed|cancelled)$/.test(type) && data.run_id === run
  await listener.until(ends)
  listener.close()
  return listener.events
}

export const isRising = (numbers) => numbers.every((number, n) => n === 0 || number > numbers[n - 1])

/** Counts the lines of the file `log` that are this word. */
export async function countInLog(client, session, word) {
  const { status, text } = await client.get(`/api/sessions/${session}/files/log`)
  return status === 200 ? text.split('\n').filter((line) => line === word).length : 0
}

/** Creates a seeded random generator (mulberry32). */
export function createRandom(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

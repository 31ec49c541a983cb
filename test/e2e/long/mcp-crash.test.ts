/**
 * Kills the server at every boundary of a call of an MCP server, of its question, of its task, and of the delivery of an
 * outgoing webhook. The MCP server and the receiver count what reaches them: nothing twice, and nothing is lost.
 */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from '../support/client.ts'
import { clientTo, kill, start } from '../support/killed-turns.ts'
import type { Server } from '../support/server.ts'

type Rpc = { readonly id?: number; readonly method: string; readonly params?: Record<string, unknown> }

const tools = ['plain', 'ask', 'work'].map((name) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: { mark: { type: 'string' } } },
}))
const text = (value: string) => ({ resultType: 'complete', content: [{ type: 'text', text: value }] })
const form = {
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message: 'Under which name?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
}

/** Requests that had an effect, by the mark of the call, and looks at tasks. */
const effects: string[] = []
let looks = 0
let isTaskDone = false

function answerRpc({ method, params = {} }: Rpc): object | undefined {
  if (method === 'server/discover')
    return { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
  if (method === 'tools/list') return { resultType: 'complete', tools }
  if (method === 'tasks/get') {
    looks++
    const rest = isTaskDone ? { status: 'completed', result: text('the task is done') } : { status: 'working' }
    return { resultType: 'complete', taskId: 'task-1', pollIntervalMs: 1_000, ...rest }
  }
  return method === 'tools/call' ? answerCall(params) : undefined
}

function answerCall({ name, arguments: input, inputResponses }: Record<string, unknown>): object {
  const { mark } = input as { mark: string }
  if (name === 'ask' && !inputResponses)
    return { resultType: 'input_required', inputRequests: { name: form }, requestState: 's' }
  effects.push(mark)
  if (name === 'work')
    return { resultType: 'task', taskId: 'task-1', status: 'working', ttlMs: 600_000, pollIntervalMs: 1_000 }
  return text(`did ${mark} ${JSON.stringify(inputResponses ?? {})}`)
}

type Event = { readonly type: string; readonly data: { readonly session_id: string; readonly run_id: string } }
const received: { readonly id: string; readonly event: Event }[] = []

const peer = createServer((request, response) => {
  const parts: Buffer[] = []
  request.on('data', (part: Buffer) => parts.push(part))
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(parts).toString() || '{}') as Rpc & Event
    if (request.url === '/hook') {
      received.push({ id: String(request.headers['webhook-id']), event: body })
      return void response.writeHead(204).end()
    }
    const result = answerRpc(body)
    const answer = result ? { result } : { error: { code: -32_601, message: 'unknown' } }
    response.writeHead(result ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, ...answer }))
  })
})

const callPlaces = ['before-tool', 'during-tool', 'after-tool'] as const
const hookPlaces = ['hook-reporting', 'hook-stored', 'hook-claimed', 'hook-sent'] as const
const hangs = (places: readonly string[]) => places.map((place) => `${place}=hang@1`).join(',')
const finalRuns = 20_000

describe('a server killed at the boundaries of what it asks of other services', () => {
  const sessions = new Map<string, string>()
  let back: Server

  const begin = async (server: Server, name: string, tool: string) => {
    const session = await clientTo(server).newSession()
    sessions.set(name, session)
    const input = `[[call mcp__peer__${tool} {"mark":"${name}"} then say done]]`
    await clientTo(server).post(`/api/sessions/${session}/chat`, { input, wait: false })
    return session
  }
  const question = async (server: Server) => {
    const find = async () =>
      (await clientTo(server).get('/api/questions')).json.data as { id: string; session_id: string }[]
    const all = await eventually(find, (found) => found.some(({ session_id: of }) => of === sessions.get('ask')))
    return all.find(({ session_id: of }) => of === sessions.get('ask'))?.id as string
  }

  beforeAll(async () => {
    await new Promise<void>((ready) => peer.listen(0, '127.0.0.1', ready))
    const address = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`
    const env = {
      MCP_SERVERS: JSON.stringify({ peer: { url: `${address}/mcp` } }),
      WEB_HOST_MAP: JSON.stringify({ 'hooks.example.com': address }),
    }
    const first = await start({ ...env, FAILPOINTS: hangs([...callPlaces, ...hookPlaces]) })
    const client = clientTo(first)
    await client.send('PATCH', '/api/settings', { body: { approvals: { mode: 'off' } } })
    await client.post('/api/mcp/servers/peer/test')
    await client.post('/api/hooks', { url: 'https://hooks.example.com/hook', events: ['*'] })
    // Each call stops at the first failpoint that none before it has used up.
    for (const place of callPlaces) {
      await begin(first, place, 'plain')
      await first.printed(`FP:${place}`)
    }
    await begin(first, 'ask', 'ask')
    await question(first)
    await begin(first, 'work', 'work')
    await eventually(
      () => looks,
      (count) => count > 0,
    )
    for (const place of hookPlaces) await first.printed(`FP:${place}`)
    await kill(first)

    // Now a look at the task dies under way, and then the request with the answer of the person.
    const port = Number(new URL(first.url).port)
    const before = looks
    const second = await start({ ...env, FAILPOINTS: hangs(['during-tool', 'after-tool']) }, port)
    await second.printed('FP:during-tool')
    await eventually(
      () => looks,
      (count) => count > before,
    )
    await clientTo(second).post(`/api/questions/${await question(second)}`, {
      action: 'accept',
      content: { name: 'Ada' },
    })
    await second.printed('FP:after-tool')
    await kill(second)
    isTaskDone = true
    back = await start(env, port)
  }, 300_000)

  afterAll(() => (peer.closeAllConnections(), void peer.close()))

  const resultOf = (name: string) =>
    eventually(
      async () => {
        const messages = await clientTo(back).messages(sessions.get(name) as string)
        return messages.at(-1)?.role === 'assistant' ? messages.filter(({ role }) => role === 'tool') : []
      },
      (results) => results.length > 0,
      finalRuns,
    )
  const times = (name: string) => effects.filter((mark) => mark === name).length

  it.each([
    ['before-tool', 0, 'unknown'],
    ['during-tool', 1, 'unknown'],
    ['after-tool', 1, 'unknown'],
    ['ask', 1, 'unknown'],
    ['work', 1, 'the task is done'],
  ])('%s: reached the server %i times, and its one result says so', async (name, count, said) => {
    const results = await resultOf(name)
    expect(results).toHaveLength(1)
    expect(results[0]?.content).toContain(said)
    expect(times(name)).toBe(count)
  })

  it('every event arrives, and each has one id', async () => {
    const ended = () =>
      new Set(received.flatMap(({ event }) => (event.type === 'on_session_end' ? [event.data.session_id] : [])))
    await eventually(ended, (of) => [...sessions.values()].every((session) => of.has(session)), 60_000)
    const find = async () => {
      const hook = (await clientTo(back).get('/api/hooks')).json.data[0].id as string
      const deliveries = (await clientTo(back).get(`/api/hooks/${hook}/deliveries?limit=100`)).json.data
      return deliveries as { id: string; status: string }[]
    }
    const deliveries = await eventually(find, (all) => all.every(({ status }) => status === 'delivered'), 60_000)
    expect(new Set(received.map(({ id }) => id))).toEqual(new Set(deliveries.map(({ id }) => id)))
    for (const session of sessions.values()) {
      const own = new Map(
        received.flatMap(({ id, event }) => (event.data.session_id === session ? [[id, event.type] as const] : [])),
      )
      expect([...own.values()].toSorted()).toEqual([
        'on_session_end',
        'on_session_start',
        'post_llm_call',
        'post_tool_call',
      ])
    }
  })
})

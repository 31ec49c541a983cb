/** Tests calls of MCP servers that wait: for a person whom the server asks, and for a task of the server. */

import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { objectOf, turnOf } from '../durable/support/object.ts'
import { type McpServer, type Message, serveMcp, text, tool } from '../support/mcp-server.ts'
import { calls, listTexts, model, type ModelRequest, says, until } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newSession, newTenant } from './client.ts'

beforeAll(applyMigrations)
afterEach(() => void vi.restoreAllMocks())

const host = 'mcp.example.com'
const form = (properties: object, required: readonly string[] = []) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Under which name?', requestedSchema: { type: 'object', properties, required } },
})
const nameForm = form({ name: { type: 'string', minLength: 2 } }, ['name'])
const page = (url: string) => ({ method: 'elicitation/create', params: { mode: 'url', message: 'Sign here.', url } })

type Question = { id: string; session_id: string; question: string; choices: string[]; [field: string]: unknown }

async function start(given: Partial<McpServer>, row: object = {}) {
  const server = serveMcp(host, { tools: [tool('greet')], ...given })
  const { key, id: tenant } = await newTenant()
  await call('POST', '/api/mcp/servers', { key, body: { alias: 'wiki', url: `https://${host}/mcp`, ...row } })
  await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'off' } } })
  const asked: ModelRequest[] = []
  const scripted = model((request, nth) => {
    asked.push(request)
    return nth === 0 ? calls({ name: 'mcp__wiki__greet', input: { text: 'a' } }) : says('done')
  })
  const { id } = await newSession({ model: scripted.id }, key)
  const run = call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
  run.catch(() => undefined)
  const read = () => listTexts(asked.at(-1) as ModelRequest).join('\n')
  const questions = async () => (await call<{ data: Question[] }>('GET', '/api/questions', { key })).body.data
  const question = async () => {
    await until(async () => (await questions()).length > 0)
    return (await questions())[0] as Question
  }
  const answer = (name: string, body: object) => call<ErrorBody>('POST', `/api/questions/${name}`, { key, body })
  const ended = () => until(async () => (await call('GET', `/api/sessions/${id}`, { key })).body['status'] === 'idle')
  const toolCalls = () => server.requests.filter(({ body }) => body.method === 'tools/call')
  const object = () => objectOf(id, tenant)
  const kill = () => runInDurableObject(object(), (_, state) => state.abort('killed by a test')).catch(() => undefined)
  const evict = () => evictDurableObject(object())
  const fireAlarm = () => runDurableObjectAlarm(object())
  const turn = () => turnOf(id, tenant)
  return { server, kill, evict, fireAlarm, turn, key, id, run, read, question, questions, answer, ended, toolCalls }
}

/** A tool that asks once for each request and then names the answers. */
const asks =
  (requests: object) =>
  (message: Message): object | undefined => {
    if (message.method !== 'tools/call') return undefined
    const { inputResponses, requestState } = message.params ?? {}
    if (!inputResponses) return { resultType: 'input_required', inputRequests: requests, requestState: 'state-7' }
    return text(`answers ${JSON.stringify(inputResponses)} with ${String(requestState)}`, { resultType: 'complete' })
  }

describe('a server that asks', () => {
  it('gets the answer of a person after the object was killed, with its state', async () => {
    const { question, answer, kill, ended, read, toolCalls } = await start({ handle: asks({ name: nameForm }) })
    const asked = await question()
    expect(asked).toMatchObject({ kind: 'elicitation', server: 'wiki', mode: 'form', choices: ['Decline'] })
    expect(asked['schema']).toMatchObject({ required: ['name'] })
    expect(asked.question).toContain('The MCP server wiki asks: Under which name?')
    await kill()
    const unfit = await answer(asked.id, { action: 'accept', content: { name: 'x' } })
    expect([unfit.status, unfit.body.error.message]).toEqual([400, 'The field "name" needs at least 2 characters.'])
    expect((await answer(asked.id, { action: 'accept', content: { name: 'Ada' } })).status).toBe(200)
    await ended()
    expect(read()).toContain(
      'answers {\\"name\\":{\\"action\\":\\"accept\\",\\"content\\":{\\"name\\":\\"Ada\\"}}} with state-7',
    )
    expect(toolCalls()).toHaveLength(2)
    expect((await answer(asked.id, { action: 'decline' })).status).toBe(409)
  })

  it('is told that the person has declined, by a word in the conversation', async () => {
    const { question, id, key, ended, read } = await start({ handle: asks({ name: nameForm }) })
    await question()
    await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'decline' } })
    await ended()
    expect(read()).toContain('{\\"action\\":\\"decline\\"}')
  })

  it('waits for an answer that fits, also in the conversation', async () => {
    const { question, questions, id, key, ended, read } = await start({
      handle: asks({ trip: form({ seats: { type: 'integer' }, meal: { enum: ['fish', 'none'] } }, ['seats']) }),
    })
    expect((await question()).question).toContain('- meal (fish | none; optional)')
    await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'seats: many', wait: false } })
    await until(async () => (await questions()).some((one) => one.question.includes('must be a number')))
    await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'seats: 2\nmeal: fish' } })
    await ended()
    expect(read()).toContain('\\"content\\":{\\"seats\\":2,\\"meal\\":\\"fish\\"}')
  })

  itInTurn('hears that nobody has answered in time', async () => {
    const row = { elicitation: { timeout: 1 } }
    const { question, ended, read, questions } = await start({ handle: asks({ name: nameForm }) }, row)
    await question()
    await ended()
    expect(read()).toContain('{\\"action\\":\\"cancel\\"}')
    expect(await questions()).toEqual([])
  })

  it.each([
    ['a password', form({ password: { type: 'string' } })],
    ['an API key, in the title of a field', form({ value: { type: 'string', title: 'Your API key' } })],
    ['a page without https', page('http://pay.example.com/')],
    ['a page whose address hides its host', page('https://bank.example.com@evil.example.com/')],
  ])('is declined without asking anybody when it asks for %s', async (_, request) => {
    const { run, read, questions } = await start({ handle: asks({ one: request }) })
    await run
    expect(read()).toContain('{\\"one\\":{\\"action\\":\\"decline\\"}}')
    expect(await questions()).toEqual([])
  })

  it('shows the host of a page in ASCII, and accepts when the person has been there', async () => {
    const { question, answer, ended, read } = await start({ handle: asks({ p: page('https://bänk.example.com/x') }) })
    const asked = await question()
    expect(asked).toMatchObject({ mode: 'url', host: 'xn--bnk-qla.example.com', choices: ['Done', 'Decline'] })
    expect((await answer(asked.id, { answer: 'Done' })).status).toBe(200)
    await ended()
    expect(read()).toContain('{\\"p\\":{\\"action\\":\\"accept\\"}}')
  })

  it('asks nobody where its row forbids it, and is not told that it may', async () => {
    const row = { elicitation: { enabled: false } }
    const { run, read, toolCalls } = await start({ handle: asks({ name: nameForm }) }, row)
    await run
    expect(read()).toContain('nobody can be asked here')
    const meta = toolCalls()[0]?.body.params?.['_meta'] as Record<string, object>
    expect(meta['io.modelcontextprotocol/clientCapabilities']).not.toHaveProperty('elicitation')
  })

  itInTurn('that asks again and again is stopped after ten rounds', async () => {
    const handle = ({ method }: Message) =>
      method === 'tools/call'
        ? { resultType: 'input_required', inputRequests: { s: form({ secret: { type: 'string' } }) } }
        : undefined
    const { run, read, toolCalls } = await start({ handle })
    await run
    expect(read()).toContain('asked more than 10 times')
    expect(toolCalls()).toHaveLength(11)
  })

  it('and asks for a model instead of a person is refused', async () => {
    const { run, read } = await start({ handle: asks({ s: { method: 'sampling/createMessage', params: {} } }) })
    await run
    expect(read()).toContain('asks for \\"sampling/createMessage\\", which is not offered')
  })
})

/** A legacy server that asks on the stream of the call, and ends that stream when the answer has arrived. */
function legacyAsks(hasIds: boolean) {
  const encoder = new TextEncoder()
  let write: ((data: object, id?: string) => void) | undefined
  let callId: unknown
  const opened: string[] = []
  const open = () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    write = (data, id) =>
      void writer
        .write(encoder.encode(`${id && hasIds ? `id: ${id}\n` : ''}data: ${JSON.stringify(data)}\n\n`))
        .catch(() => undefined)
    return new Response(readable, { headers: { 'content-type': 'text/event-stream' } })
  }
  const handle = (message: Message, request: Request) => {
    if (request.method === 'GET') {
      const last = request.headers.get('last-event-id')
      if (last === null) return new Response(null, { status: 405 })
      opened.push(last)
      const response = open()
      write?.({ jsonrpc: '2.0', id: callId, result: text('resumed') })
      return response
    }
    if (message.result) {
      const { action, content } = message.result
      write?.({ jsonrpc: '2.0', id: callId, result: text(`${String(action)} ${JSON.stringify(content)}`) })
      return new Response(null, { status: 202 })
    }
    if (message.method !== 'tools/call') return undefined
    callId = message.id
    const response = open()
    write?.({ jsonrpc: '2.0', id: 'ask-1', ...nameForm }, 'event-3')
    return response
  }
  return { handle, opened }
}

describe('a legacy server that asks on the stream of a call', () => {
  it('gets the answer, and the call goes on there', async () => {
    const { question, answer, ended, read } = await start({ era: 'legacy', handle: legacyAsks(false).handle })
    const asked = await question()
    expect((await answer(asked.id, { answer: 'Ada' })).status).toBe(200)
    await ended()
    expect(read()).toContain('accept {\\"name\\":\\"Ada\\"}')
  })

  it('is read on by another object after an eviction, where it numbers its events', async () => {
    const { handle, opened } = legacyAsks(true)
    const { question, answer, ended, read, kill } = await start({ era: 'legacy', handle })
    const asked = await question()
    await kill()
    await answer(asked.id, { answer: 'Ada' })
    await ended()
    expect(opened).toEqual(['event-3'])
    expect(read()).toContain('resumed')
  })

  it('leaves an unknown outcome after an eviction, where it does not', async () => {
    const { question, answer, ended, read, kill } = await start({ era: 'legacy', handle: legacyAsks(false).handle })
    const asked = await question()
    await kill()
    await answer(asked.id, { answer: 'Ada' })
    await ended()
    expect(read()).toContain('The connection on which the server had asked was lost')
    expect(read()).toContain('may have taken effect')
  })
})

/** A legacy server that asks on the stream of its session. A question that finds no stream is dropped. */
function asksBeside(refusals: readonly number[]) {
  const encoder = new TextEncoder()
  const left = [...refusals]
  let isForgotten = false
  let [questions, answers]: (WritableStreamDefaultWriter<Uint8Array> | undefined)[] = []
  let callId: unknown
  const open = (keep: (writer: WritableStreamDefaultWriter<Uint8Array>) => void) => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    keep(writable.getWriter())
    return new Response(readable, { headers: { 'content-type': 'text/event-stream' } })
  }
  const write = (to: typeof questions, data: object) =>
    void to?.write(encoder.encode(`data: ${JSON.stringify({ jsonrpc: '2.0', ...data })}\n\n`)).catch(() => undefined)
  const finish = (result: object) => write(answers, { id: callId, result })
  return (message: Message, request: Request) => {
    if (request.method === 'GET') {
      const status = left.shift()
      isForgotten ||= status === 404
      return status === undefined ? open((writer) => (questions = writer)) : new Response(null, { status })
    }
    if (message.result) {
      finish(text(`answered ${JSON.stringify(message.result['content'])}`))
      return new Response(null, { status: 202 })
    }
    if (message.method === 'initialize') isForgotten = false
    if (message.method !== 'tools/call') return undefined
    if (isForgotten) return new Response(null, { status: 404 })
    callId = message.id
    const response = open((writer) => (answers = writer))
    if (questions) write(questions, { id: 'ask-1', ...nameForm })
    else finish(text('nobody listens'))
    return response
  }
}

describe('a legacy server that asks on the stream of its session', () => {
  it.each([
    ['opens it at once', []],
    ['has not noticed yet that the last one is closed', [409, 409]],
    ['does not know the session any more', [404]],
  ])('and %s is answered', async (_, refusals) => {
    const { question, answer, ended, read } = await start({ era: 'legacy', handle: asksBeside(refusals) })
    const asked = await question()
    await answer(asked.id, { answer: 'Ada' })
    await ended()
    expect(read()).toContain('answered {\\"name\\":\\"Ada\\"}')
  })
})

/** A task that ends with the given looks at it. */
function taskServer(looks: readonly object[], isLegacy = false) {
  let look = 0
  const methods: string[] = []
  const handle = ({ method, params }: Message, request: Request): object | undefined => {
    // The modern revision repeats the id in a header.
    const named = isLegacy ? params?.['taskId'] : request.headers.get('mcp-name')
    if (method.startsWith('tasks/')) methods.push(`${method} ${String(named)}`)
    switch (method) {
      case 'tools/call':
        if (isLegacy) return params?.['task'] ? { task: { taskId: 't-1', status: 'working', ttl: 60_000 } } : undefined
        return { resultType: 'task', taskId: 't-1', status: 'working', ttlMs: 60_000, pollIntervalMs: 1_000 }
      case 'tasks/get':
        return { taskId: 't-1', resultType: 'complete', ...looks[Math.min(look++, looks.length - 1)] }
      case 'tasks/result':
        return text('the result of the task')
      case 'tasks/update':
      case 'tasks/cancel':
        return { resultType: 'complete' }
      default:
        return undefined
    }
  }
  return { handle, methods }
}

const complete = { status: 'completed', result: text('the result of the task') }

describe('a task of a server', () => {
  it('is looked at until it ends, also when the object dies twice, and its result arrives once', async () => {
    const { handle, methods } = taskServer([
      { status: 'working' },
      { status: 'working', statusMessage: 'half' },
      complete,
    ])
    const { turn, kill, evict, fireAlarm, ended, read, toolCalls } = await start({ handle })
    for (const wanted of [0, 1]) {
      await until(async () => methods.length >= wanted && isAway(await turn()))
      await (wanted ? evict() : kill())
      await fireAlarm()
    }
    await ended()
    expect(read()).toContain('the result of the task')
    expect(toolCalls()).toHaveLength(1)
    expect(methods).toEqual(['tasks/get t-1', 'tasks/get t-1', 'tasks/get t-1'])
  })

  itInTurn('of the revision 2025-11-25 is asked for where the tool wants it, and its result is read', async () => {
    const { handle, methods } = taskServer([{ status: 'working' }, { status: 'completed' }], true)
    const tools = [tool('greet', { execution: { taskSupport: 'required' } })]
    const { run, read } = await start({ era: 'legacy', tools, handle })
    await run
    expect(read()).toContain('the result of the task')
    expect(methods).toEqual(['tasks/get t-1', 'tasks/get t-1', 'tasks/result t-1'])
  })

  itInTurn('may ask a person', async () => {
    const { handle, methods } = taskServer([{ status: 'input_required', inputRequests: { n: nameForm } }, complete])
    const { question, answer, ended, read } = await start({ handle })
    await answer((await question()).id, { answer: 'Ada' })
    await ended()
    expect(methods).toEqual(['tasks/get t-1', 'tasks/update t-1', 'tasks/get t-1'])
    expect(read()).toContain('the result of the task')
  })

  itInTurn.each([
    ['fails', { status: 'failed', error: { code: -1, message: 'no disk' } }, 'The task of the server failed: no disk'],
    ['is cancelled', { status: 'cancelled' }, 'The server has cancelled the task.'],
    ['has an odd status', { status: 'lost' }, 'has the unknown status'],
  ])('that %s says so', async (_, look, said) => {
    const { run, read } = await start({ handle: taskServer([look]).handle })
    await run
    expect(read()).toContain(said)
  })

  it('is cancelled when the person stops the turn', async () => {
    const { handle, methods } = taskServer([{ status: 'working' }])
    const { id, key, turn, ended } = await start({ handle })
    await until(async () => isAway(await turn()))
    await call('POST', `/api/sessions/${id}/stop`, { key })
    await ended()
    await until(() => methods.includes('tasks/cancel t-1'))
    expect(methods.filter((one) => one.startsWith('tasks/cancel'))).toHaveLength(1)
  })
})

const isAway = ({ stage }: Awaited<ReturnType<typeof turnOf>>): boolean =>
  stage.at === 'tools' && stage.calls.some(({ state }) => state === 'away')

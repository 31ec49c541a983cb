/** Tests the cases that the Open Responses specification asks for: plain and streamed, with tools, compaction, sockets. */

import { runInDurableObject } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import type * as z from 'zod'
import type { responseShape } from '#worker/responses/response-shape.ts'
import { ownerAuthority } from '../../support/authority.ts'
import { calls, model as modelOf, type ModelRequest, says, type Script, until } from '../../support/scripted-model.ts'
import { applyMigrations, bindings, call, type ErrorBody, newKey, newTenant, request } from '../client.ts'
import { openSocket, type ServerEvent } from './socket.ts'

beforeAll(applyMigrations)

const model = (script: Script) => modelOf(script).id
type Response_ = z.infer<typeof responseShape>
const create = (body: object, key?: string) => call<Response_>('POST', '/v1/responses', { body, ...(key && { key }) })
const textsOf = ({ output }: Response_) =>
  output.flatMap((item) => (item.type === 'message' ? item.content.map(({ text }) => text) : []))
const user = (content: unknown) => ({ type: 'message', role: 'user', content })
const weather = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } }
const asksWeather: Script = ({ messages }) =>
  messages.at(-1)?.role === 'tool'
    ? says(`It is ${String(messages.at(-1)?.content)}.`)
    : calls({ name: 'get_weather', input: { location: 'San Francisco' } })
const userTexts = ({ messages }: ModelRequest) =>
  messages.flatMap(({ role, content }) => (role === 'user' ? [String(content)] : [])).join(' | ')

async function stream(body: object): Promise<readonly ServerEvent[]> {
  const answer = await request('POST', '/v1/responses', { body: { ...body, stream: true } })
  return [...(await answer.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? '') as ServerEvent)
}

describe('a response', () => {
  it('has every field, with the values of the request', async () => {
    const fields = {
      instructions: 'Be kind.',
      metadata: { topic: 'a' },
      temperature: 0.5,
      top_p: 0.9,
      max_output_tokens: 900,
      max_tool_calls: 3,
      parallel_tool_calls: false,
      truncation: 'disabled',
      safety_identifier: 'someone',
      prompt_cache_key: 'key',
    }
    const { body } = await create({
      model: model(() => says('Hi.')),
      input: [user('Hello')],
      tools: [weather],
      ...fields,
    })
    expect(body).toMatchObject({ ...fields, status: 'completed', store: true, background: false, tool_choice: 'auto' })
    expect(body.tools).toEqual([{ ...weather, description: null, strict: false }])
    expect(body.completed_at).toBeGreaterThanOrEqual(body.created_at)
    expect((await call('GET', `/v1/responses/${body.id}`)).body).toEqual(body)
  })

  it('takes system messages, phases, images and a history', async () => {
    let received: ModelRequest | undefined
    const name = model((asked) => {
      received = asked
      return says('Four.')
    })
    const pixel =
      'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/q842iQAAAABJRU5ErkJggg=='
    const input = [
      { type: 'message', role: 'system', content: 'Be a pirate.' },
      user('Hi.'),
      { type: 'message', role: 'assistant', phase: 'commentary', content: 'I look.' },
      { type: 'message', role: 'assistant', phase: 'final_answer', content: 'It is four.' },
      user([
        { type: 'input_text', text: 'Say it.' },
        { type: 'input_image', image_url: pixel },
      ]),
    ]
    expect(textsOf((await create({ model: name, input })).body)).toEqual(['Four.'])
    expect(received?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
    expect(String(received?.messages[0]?.content)).toMatch(/Be a pirate\.$/)
  })

  it('streams numbered events, with the same items as the stored response', async () => {
    const events = await stream({ model: model(() => says('One ', 'two')), input: 'count' })
    expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_, at) => at))
    const last = events.at(-1)?.response
    expect((await call('GET', `/v1/responses/${last?.id}`)).body).toEqual(last)
    const added = events.flatMap(({ type, item }) => (type === 'response.output_item.added' ? [item?.id] : []))
    expect(added).toEqual(last?.output.map(({ id }) => id))
  })
})

describe('tools of the client', () => {
  it('end the response with calls, and the result continues the run', async () => {
    const name = model(asksWeather)
    const { body: first } = await create({ model: name, input: 'weather?', tools: [weather] })
    expect(first).toMatchObject({ status: 'completed', output: [{ type: 'function_call', name: 'get_weather' }] })
    const [asked] = first.output
    const result = {
      type: 'function_call_output',
      call_id: asked?.type === 'function_call' && asked.call_id,
      output: 'sunny',
    }
    const go = { model: name, tools: [weather], previous_response_id: first.id, input: [result] }
    const { body: second } = await create(go)
    expect([textsOf(second), second.previous_response_id]).toEqual([['It is sunny.'], first.id])
    expect((await create(go)).body).toEqual(second)
    expect((await call('GET', `/v1/responses/${first.id}`)).body).toEqual(first)
    expect((await call('GET', `/v1/responses/${second.id}`)).body).toEqual(second)
    const { body: list } = await call<{ data: object[] }>('GET', `/v1/responses/${second.id}/input_items`)
    expect(list.data).toMatchObject([{ type: 'function_call_output', call_id: result.call_id, output: 'sunny' }])
  })

  it('continue by the whole input as well, in the same session', async () => {
    const name = model(asksWeather)
    const { body: first, headers } = await create({ model: name, input: 'weather?', tools: [weather], store: false })
    const [asked] = first.output
    const result = {
      type: 'function_call_output',
      call_id: asked?.type === 'function_call' && asked.call_id,
      output: 'wet',
    }
    const waiting = await call('GET', `/api/sessions/${headers.get('x-talaria-session-id')}`)
    expect([waiting.body['status'], waiting.body['expires_at']]).toEqual(['waiting', expect.any(String)])
    const input = [user('weather?'), ...first.output, result]
    const second = await create({ model: name, tools: [weather], store: false, input })
    expect(textsOf(second.body)).toEqual(['It is wet.'])
    expect(second.headers.get('x-talaria-session-id')).toBe(headers.get('x-talaria-session-id'))
  })

  it('stream their arguments, and are sent to another session as history', async () => {
    const name = model(asksWeather)
    const events = await stream({ model: name, input: 'weather?', tools: [weather] })
    expect(events.map(({ type }) => type.replace('response.', ''))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ])
    const input = [
      user('weather?'),
      { type: 'function_call', call_id: 'c1', name: 'get_weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'dry' },
    ]
    expect(textsOf((await create({ model: name, tools: [weather], input })).body)).toEqual(['It is dry.'])
  })

  it('are refused for an unknown call, and for other kinds of tools', async () => {
    const { body: first } = await create({ model: model(() => says('Hi.')), input: 'x' })
    const result = { type: 'function_call_output', call_id: 'call_none', output: 'x' }
    const unknown = await call('POST', '/v1/responses', { body: { previous_response_id: first.id, input: [result] } })
    const alone = await call<ErrorBody>('POST', '/v1/responses', { body: { input: [result] } })
    expect([alone.status, alone.body.error.param]).toEqual([400, 'input'])
    const tools = [{ type: 'code_interpreter' }]
    const other = await call<ErrorBody>('POST', '/v1/responses', { body: { input: 'x', tools } })
    expect([unknown.status, other.status, other.body.error.param]).toEqual([400, 400, 'tools.0'])
    expect(other.body.error.message).toContain('code_interpreter')
  })
})

describe('approvals', () => {
  const pushes: Script = ({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? says('Done.')
      : calls({ name: 'terminal', input: { command: 'git push origin main' } })
  const setUp = async () => {
    const { id, key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' } } })
    return { id, key, name: model(pushes) }
  }

  it.each([true, false])('are items that a key with the scope answers (approve: %s)', async (approve) => {
    const { key, name } = await setUp()
    const { body: first } = await create({ model: name, input: 'push' }, key)
    expect(first).toMatchObject({ status: 'completed', output: [{ type: 'mcp_approval_request', name: 'terminal' }] })
    const id = first.output[0]?.id
    const answer = { type: 'mcp_approval_response', approval_request_id: id, approve, reason: 'because' }
    const { body: second } = await create({ model: name, previous_response_id: first.id, input: [answer] }, key)
    expect(second.output).toMatchObject([
      { type: 'mcp_call', approval_request_id: id, name: 'terminal' },
      { type: 'message' },
    ])
    expect(JSON.stringify(second.output[0]).includes('because')).toBe(!approve)
    expect((await call('GET', `/v1/responses/${second.id}`, { key })).body).toEqual(second)
    expect((await call('GET', `/v1/responses/${first.id}`, { key })).body).toEqual(first)
  })

  it('end the answer of a key without the scope with text, and it cannot decide', async () => {
    const { id: tenant, key, name } = await setUp()
    const weak = await newKey(tenant, ['chat', 'read'])
    const { body: first } = await create({ model: name, input: 'push' }, weak)
    expect(first).toMatchObject({ status: 'completed', output: [{ type: 'message' }] })
    const { body: seen } = await call<Response_>('GET', `/v1/responses/${first.id}`, { key })
    const answer = { type: 'mcp_approval_response', approval_request_id: seen.output[0]?.id, approve: true }
    const decided = await create({ model: name, previous_response_id: first.id, input: [answer] }, weak)
    expect(decided.status).toBe(403)
  })
})

describe('compaction and counting', () => {
  it('returns an item that begins another conversation', async () => {
    const name = model((asked) => says(userTexts(asked).includes('Summary') ? 'slate' : 'The word is slate.'))
    const input = [user('Remember the word slate.'), { role: 'assistant', content: 'OK.' }]
    const made = await call<{ output: readonly object[]; object: string }>('POST', '/v1/responses/compact', {
      body: { model: name, input },
    })
    expect(made.body).toMatchObject({ object: 'response.compaction', output: [{ type: 'compaction' }] })
    const { body } = await create({ model: name, input: [...made.body.output, user('Which word?')] })
    expect(textsOf(body)).toEqual(['slate'])
    expect((await call('POST', '/v1/responses/compact', { body: { input } })).status).toBe(400)
  })

  it('counts prompt, tools, history and input', async () => {
    const name = model(() => says('Hi.'))
    const count = async (body: object) =>
      (await call<{ input_tokens: number }>('POST', '/v1/responses/input_tokens', { body: { model: name, ...body } }))
        .body.input_tokens
    const plain = await count({ input: 'hello' })
    expect(plain).toBeGreaterThan(100)
    expect(await count({ input: 'hello '.repeat(500) })).toBeGreaterThan(plain + 300)
    const { body } = await create({ model: name, input: 'word '.repeat(500) })
    expect(await count({ input: 'hello', previous_response_id: body.id })).toBeGreaterThan(plain + 300)
  })
})

describe('over a WebSocket', () => {
  const counting = () => model((asked) => says(userTexts(asked)))
  const open = (body: object) => ({ type: 'response.create', store: false, ...body })

  it('answers one request after another, and continues what is not stored', async () => {
    const name = counting()
    const socket = await openSocket()
    const first = await socket.ask(open({ model: name, input: 'one' }))
    expect(first.response?.status).toBe('completed')
    const second = await socket.ask(open({ model: name, input: 'two', previous_response_id: first.response?.id }))
    expect(second.response && textsOf(second.response)).toEqual(['one | two'])
    expect(second.response?.previous_response_id).toBe(first.response?.id)
    socket.close()
    const other = await openSocket()
    const lost = await other.ask(open({ model: name, input: 'x', previous_response_id: first.response?.id }))
    expect([lost.type, lost.error?.code]).toEqual(['error', 'previous_response_not_found'])
    expect((await other.ask(open({ model: name, input: 'again' }))).response?.status).toBe('completed')
    other.close()
  })

  it('forgets a response whose continuation failed', async () => {
    const name = counting()
    const socket = await openSocket()
    const first = await socket.ask(open({ model: name, input: 'one' }))
    const previous = { previous_response_id: first.response?.id }
    const result = { type: 'function_call_output', call_id: 'call_none', output: 'x' }
    expect((await socket.ask(open({ model: name, ...previous, input: [result] }))).type).toBe('error')
    const stale = await socket.ask(open({ model: name, ...previous, input: 'two' }))
    expect(stale.error?.code).toBe('previous_response_not_found')
    socket.close()
  })

  it('names what is wrong with a message, and closes when the key is revoked', async () => {
    const made = await call<{ id: string; key: string }>('POST', '/api/admin/keys', {
      body: { tenant_id: 'default', scopes: ['chat'] },
    })
    const socket = await openSocket(made.body.key)
    expect((await socket.ask({ type: 'session.update' })).error?.param).toBe('type')
    expect((await socket.ask(open({ input: 'x', background: true }))).error?.param).toBe('background')
    expect((await socket.askRaw('{')).error?.code).toBe('invalid_json')
    await call('DELETE', `/api/admin/keys/${made.body.id}`)
    expect(await until(() => socket.closeCode())).toBe(4401)
  })

  it('holds a socket to the object of its tenant, which sends nothing and ends with it', async () => {
    const { id, key } = await newTenant()
    const tenant = bindings.TENANT.getByName(`t/${id}`)
    const count = () => runInDurableObject(tenant, (_object, ctx) => ctx.getWebSockets('access-only').length)
    const socket = await openSocket(key)
    expect(await until(count)).toBe(1)
    expect((await tenant.snapshot()).isWatched).toBeUndefined()
    socket.close()
    expect(await until(async () => (await count()) === 0)).toBe(true)
  })

  it('closes while nothing is asked, when its tenant is suspended elsewhere', async () => {
    const { id, key } = await newTenant()
    const tenant = bindings.TENANT.getByName(`t/${id}`)
    const socket = await openSocket(key)
    await until(() => runInDurableObject(tenant, (_object, ctx) => ctx.getWebSockets('access-only').length))
    await tenant.access.setStatus(ownerAuthority(), 'suspended')
    expect(await until(() => socket.closeCode())).toBe(4403)
  })

  it('needs an upgrade', async () => {
    expect((await call('GET', '/v1/responses')).status).toBe(400)
  })
})

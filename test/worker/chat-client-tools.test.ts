/** Tests tools of the client in chat completions: whole and streamed, answered, refused, forgotten, and after a loss. */

import { beforeAll, describe, expect, it } from 'vitest'
import { kill } from '../durable/support/object.ts'
import { calls, listTexts, model, type Reply, says, type ScriptedCall } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, request } from './client.ts'

beforeAll(applyMigrations)

const toolOf = (name: string) => ({
  type: 'function',
  function: { name, description: `About ${name}.`, parameters: { type: 'object', properties: {} }, strict: true },
})
const tools = [toolOf('get_weather'), toolOf('get_time')]
const weather = (city: string, id: string): ScriptedCall => ({ id, name: 'get_weather', input: { city } })
const user = (content: string) => ({ role: 'user', content })
const toolResult = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })

type Fragment = { index: number; id?: string; type?: string; function: { name?: string; arguments: string } }
type Frame = {
  readonly choices: readonly { delta: { tool_calls?: Fragment[] }; finish_reason: string | null }[]
  readonly usage?: object
}
type Message = {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly { id: string; type: string; function: { name: string; arguments: string } }[]
}
type Completion = ErrorBody & {
  readonly choices: readonly { readonly message: Message; readonly finish_reason: string }[]
  readonly usage: { readonly completion_tokens: number }
}

/** A client that keeps the conversation, as the SDKs do. */
function clientOf(replies: readonly Reply[], fields: object = {}) {
  const scripted = model(replies)
  const messages: object[] = []
  let session: string | undefined
  const send = async (...added: readonly object[]) => {
    messages.push(...added)
    const headers = session === undefined ? {} : { 'x-talaria-session-id': session }
    const body = { model: scripted.id, messages, tools, ...fields }
    const answer = await call<Completion>('POST', '/v1/chat/completions', { body, headers })
    session ??= answer.headers.get('x-talaria-session-id') ?? undefined
    const choice = answer.body.choices?.[0]
    if (choice) messages.push(choice.message)
    return { ...answer, choice, run: answer.headers.get('x-talaria-run-id') }
  }
  return { send, scripted, messages, sessionId: () => session ?? '', forget: () => (session = undefined) }
}

describe('tools of the client in a chat completion', () => {
  it('end the answer with the calls, and their results go on with the same run', async () => {
    const client = clientOf([calls(weather('Rome', 'c1'), weather('Oslo', 'c2')), says('Sunny and cold.')])
    const first = await client.send(user('Weather?'))
    expect(first.choice).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
          { id: 'c2', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
        ],
      },
    })
    const second = await client.send(toolResult('c1', 'sun'), toolResult('c2', 'snow'))
    expect(second.choice).toMatchObject({ finish_reason: 'stop', message: { content: 'Sunny and cold.' } })
    expect(second.run).toBe(first.run)
    expect([first.body.usage.completion_tokens, second.body.usage.completion_tokens]).toEqual([10, 10])
    expect(listTexts(client.scripted.requests[1] as never).slice(-2)).toEqual(['tool: sun', 'tool: snow'])
  })

  it('are streamed as deltas of calls', async () => {
    const scripted = model([
      calls(weather('Rome', 'c1'), { id: 'own', name: 'todo', input: {} }, weather('Oslo', 'c2')),
    ])
    const response = await request('POST', '/v1/chat/completions', {
      body: {
        model: scripted.id,
        messages: [user('Weather?')],
        tools,
        stream: true,
        stream_options: { include_usage: true },
      },
    })
    const frames = (await response.text()).split('\n\n').flatMap((frame) => {
      const [, data] = /^data: (.*)$/m.exec(frame) ?? []
      return data === undefined || data === '[DONE]' ? [] : [JSON.parse(data) as Frame]
    })
    const made: Fragment[] = []
    for (const { index, ...more } of frames.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])) {
      const known = made[index]
      if (known) known.function.arguments += more.function.arguments
      else made[index] = { index, ...more }
    }
    expect(made).toEqual([
      { index: 0, id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
      { index: 1, id: 'c2', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
    ])
    expect(frames.flatMap(({ choices }) => choices[0]?.finish_reason ?? [])).toEqual(['tool_calls'])
    expect(frames.at(-1)?.usage).toMatchObject({ completion_tokens: 10 })
  })

  it('stream the next part alone', async () => {
    const client = clientOf([calls(weather('Rome', 'c1')), says('Sun', 'ny.')])
    await client.send(user('Weather?'))
    const response = await request('POST', '/v1/chat/completions', {
      body: {
        model: client.scripted.id,
        messages: [...client.messages, toolResult('c1', 'sun')],
        tools,
        stream: true,
        stream_options: { include_usage: true },
      },
      headers: { 'x-talaria-session-id': client.sessionId() },
    })
    const text = await response.text()
    expect(text.match(/"content":"[^"]*"/g)).toEqual(['"content":"Sun"', '"content":"ny."'])
    expect(text).not.toContain('tool_calls')
    expect(text).toContain('"completion_tokens":10')
    expect(text.trim().endsWith('data: [DONE]')).toBe(true)
  })

  it('go on for many requests with one run, also after a crash', async () => {
    const cities = ['Rome', 'Oslo', 'Lima']
    const client = clientOf([...cities.map((city, n) => calls(weather(city, `c${n}`))), says('Done.')])
    const { run } = await client.send(user('Weather?'))
    for (const n of cities.keys()) {
      await kill(client.sessionId())
      const next = await client.send(toolResult(`c${n}`, 'sun'))
      expect([n, next.run]).toEqual([n, run])
    }
    expect(client.messages.at(-1)).toMatchObject({ content: 'Done.' })
  })

  it('get an error for a call that the client did not answer', async () => {
    const client = clientOf([calls(weather('Rome', 'c1'), weather('Oslo', 'c2')), says('ok')])
    await client.send(user('Weather?'))
    await client.send(toolResult('c2', 'snow'))
    expect(listTexts(client.scripted.requests[1] as never).slice(-2)).toEqual([
      'tool: {"error":"The client did not run this call."}',
      'tool: snow',
    ])
  })

  it('may be followed by results and a message at once', async () => {
    const client = clientOf([calls(weather('Rome', 'c1')), says('ok')])
    await client.send(user('Weather?'))
    await client.send(toolResult('c1', 'sun'), user('In short, please.'))
    expect(listTexts(client.scripted.requests[1] as never).slice(-2)).toEqual(['tool: sun', 'user: In short, please.'])
  })

  it('refuse an unknown call by its name', async () => {
    const client = clientOf([calls(weather('Rome', 'c1'))])
    await client.send(user('Weather?'))
    const { status, body } = await client.send(toolResult('c7', 'x'))
    expect([status, body.error]).toMatchObject([400, { code: 'invalid_request', param: 'messages' }])
    expect(body.error.message).toContain('"c7"')
    const alone = await call<ErrorBody>('POST', '/v1/chat/completions', {
      body: { messages: [user('Hi'), toolResult('c7', 'x')] },
    })
    expect([alone.status, alone.body.error.message]).toMatchObject([400, expect.stringContaining('"c7"')])
  })

  it('are answered from the messages when the run is lost', async () => {
    const client = clientOf([calls(weather('Rome', 'c1'), weather('Oslo', 'c2')), says('From history.')])
    const first = await client.send(user('Weather?'))
    await call('DELETE', `/api/sessions/${client.sessionId()}`)
    client.forget()
    const second = await client.send(toolResult('c1', 'sun'))
    expect(second.choice).toMatchObject({ finish_reason: 'stop', message: { content: 'From history.' } })
    expect(second.run).not.toBe(first.run)
    expect(listTexts(client.scripted.requests[1] as never)).toEqual([
      'user: Weather?',
      'assistant: → get_weather, get_weather',
      'tool: sun',
      'tool: {"error":"The client did not run this call."}',
    ])
    expect((await client.send(user('Thanks.'))).status).toBe(200)
  })

  it.each([
    ['two tools of one name', { tools: [toolOf('a'), toolOf('a')] }, 'tools.1.function.name'],
    ['a bad name', { tools: [toolOf('a b')] }, 'tools.0.function.name'],
    ['a choice of an unknown tool', { tool_choice: { type: 'function', function: { name: 'x' } } }, 'tool_choice'],
    ['functions', { functions: [{ name: 'a' }] }, 'functions'],
  ])('refuse %s', async (_case, fields, param) => {
    const body = { messages: [user('Hi')], tools, ...fields }
    const { status, body: answer } = await call<ErrorBody>('POST', '/v1/chat/completions', { body })
    expect([status, answer.error.param]).toEqual([400, param])
  })

  it.each([
    ['required', { tool_choice: 'required' }, { tool_choice: 'required' }],
    [
      'named',
      { tool_choice: { type: 'function', function: { name: 'get_time' } }, parallel_tool_calls: false },
      { tool_choice: { type: 'function', function: { name: 'get_time' } }, parallel_tool_calls: false },
    ],
  ])('are %s by the request', async (_case, fields, expected) => {
    const client = clientOf([says('ok')], fields)
    await client.send(user('Hi'))
    expect(client.scripted.requests[0]).toMatchObject(expected)
    expect(client.scripted.requests[0]?.tools).toContainEqual(
      expect.objectContaining({ function: expect.objectContaining({ name: 'get_time', strict: true }) as never }),
    )
  })
})

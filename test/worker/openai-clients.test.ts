/** Tests what clients of OpenAI's API rely on: bytes of calls, names of tools, commands of their own, items and codes. */

import { beforeAll, describe, expect, it } from 'vitest'
import { encodeToolName } from '#agent/providers/shared/call-id.ts'
import { calls, listTexts, model, type Reply, says, type ScriptedCall, until } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, request } from './client.ts'

beforeAll(applyMigrations)

type Call = { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }
type Completion = ErrorBody & {
  readonly choices: readonly {
    readonly message: { readonly content: string | null; readonly tool_calls?: readonly Call[] }
  }[]
}
type Item = { readonly id: string; readonly type: string; readonly [more: string]: unknown }
type Answer = ErrorBody & { readonly id: string; readonly output: readonly Item[]; readonly [more: string]: unknown }

const toolOf = (name: string) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: {} } },
})
const user = (content: string) => ({ role: 'user', content })

async function complete(scripted: { readonly id: string }, messages: readonly object[], fields: object = {}) {
  const body = { model: scripted.id, messages, ...fields }
  const answer = await call<Completion>('POST', '/v1/chat/completions', { body })
  return {
    ...answer,
    session: answer.headers.get('x-talaria-session-id') ?? '',
    message: answer.body.choices?.[0]?.message,
  }
}
const respond = (body: object) => call<Answer>('POST', '/v1/responses', { body })

/** A reply whose arguments are these bytes. */
const callsAsWritten = (...written: readonly (readonly [name: string, json: string])[]): Reply =>
  (
    calls(...written.map(([name], at): ScriptedCall => ({ id: `w${at}`, name, input: `@${at}` }))) as readonly string[]
  ).map((part) =>
    written.reduce(
      (text, [, json], at) => text.replace(JSON.stringify(JSON.stringify(`@${at}`)), () => JSON.stringify(json)),
      part,
    ),
  )

describe('calls of tools', () => {
  const json = '{ "id": 1234567890123456789, "x": 5.0, "most": 1e400 }'

  it('keep their bytes: whole, streamed, as items, in lists, in the next request and through an export', async () => {
    const scripted = model([callsAsWritten(['pay', json], ['pay', json]), says('Paid.'), says('Again.')])
    const { message, session } = await complete(scripted, [user('Pay.')], { tools: [toolOf('pay')] })
    const made = message?.tool_calls ?? []
    expect(made.map((one) => one.function.arguments)).toEqual([json, json])
    const results = made.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'ok' }))
    const second = await complete(scripted, [user('Pay.'), message!, ...results], { tools: [toolOf('pay')] })
    expect(second.message?.content).toBe('Paid.')
    const sent = scripted.requests[1]?.messages
      .flatMap((one) => one.tool_calls ?? [])
      .map((one) => one.function.arguments)
    expect(sent).toEqual([json, json])
    const listed = await call<{ data: { tool_calls?: Call[] }[] }>('GET', `/api/sessions/${session}/messages`)
    expect(listed.body.data.flatMap((one) => one.tool_calls ?? []).map((one) => one.function.arguments)).toEqual([
      json,
      json,
    ])
    const exported = await (await request('GET', `/api/sessions/${session}/export?format=json`)).text()
    expect(exported.split(JSON.stringify(json)).length).toBeGreaterThan(2)
    const imported = await call<{ id: string }>('POST', '/api/sessions/import', {
      body: JSON.parse(exported) as object,
    })
    expect(imported.status).toBe(201)
    const again = await (await request('GET', `/api/sessions/${imported.body.id}/export?format=json`)).text()
    expect(again.split(JSON.stringify(json)).length).toBe(exported.split(JSON.stringify(json)).length)

    const streamed = model([callsAsWritten(['pay', json])])
    const stream = await request('POST', '/v1/chat/completions', {
      body: { model: streamed.id, stream: true, messages: [user('Pay.')], tools: [toolOf('pay')] },
    })
    expect(await stream.text()).toContain(JSON.stringify(json))
    const tools = [{ type: 'function', name: 'pay', parameters: { type: 'object', properties: {} } }]
    const { body } = await respond({ model: model([callsAsWritten(['pay', json])]).id, input: 'Pay.', tools })
    expect(body.output.map((item) => item['arguments'])).toEqual([json])
  })

  it('of more than 128 at once are an error', async () => {
    const many = Array.from({ length: 129 }, (_, n): ScriptedCall => ({ name: 'roll', input: { n } }))
    const { status, body } = await complete(model([calls(...many)]), [user('Roll.')], { tools: [toolOf('roll')] })
    expect([status, body.error?.code]).toEqual([422, 'invalid_output'])
  })

  it('have names with dots and of any length, which the provider gets in a form that it takes', async () => {
    const long = `mcp__${'server_'.repeat(12)}read`
    const wire = encodeToolName('math.factorial')
    const scripted = model([calls({ name: wire, input: {} }, { name: encodeToolName(long), input: {} })])
    const tools = [toolOf('math.factorial'), toolOf('math_factorial'), toolOf(long)]
    const tool_choice = { type: 'function', function: { name: 'math.factorial' } }
    const { message } = await complete(scripted, [user('5!')], { tools, tool_choice })
    expect(message?.tool_calls?.map((one) => one.function.name)).toEqual(['math.factorial', long])
    const [asked] = scripted.requests
    const names = asked?.tools?.map((one) => one.function.name) ?? []
    expect(names.filter((name) => !/^[\w-]{1,64}$/.test(name))).toEqual([])
    expect(names).toEqual(expect.arrayContaining([wire, 'math_factorial', encodeToolName(long)]))
    expect(asked?.['tool_choice']).toMatchObject({ function: { name: wire } })
  })

  it('are not offered at all when the client has tools and forbids calls', async () => {
    const scripted = model([says('No call.'), says('Ours.')])
    await complete(scripted, [user('Hello.')], { tools: [toolOf('roll')], tool_choice: 'none' })
    expect(scripted.requests[0]?.tools).toBe(undefined)
    await complete(scripted, [user('Hello again.')], { tool_choice: 'none' })
    expect(scripted.requests[1]?.tools?.length).toBeGreaterThan(0)
  })

  it('that the client runs have results without a fence, whatever their names', async () => {
    const text = 'A result of a search that the client has made itself, and trusts.'
    const scripted = model([calls({ id: 's1', name: 'web_search', input: { q: 'x' } }), says('Found.')])
    const tools = [toolOf('web_search')]
    const { message } = await complete(scripted, [user('Search.')], { tools })
    await complete(scripted, [user('Search.'), message!, { role: 'tool', tool_call_id: 's1', content: text }], {
      tools,
    })
    expect(listTexts(scripted.requests[1]!).at(-1)).toBe(`tool: ${text}`)
  })
})

describe('a message that begins with a slash', () => {
  it.each(['/no_think hello', '/summarize this text', '/frobnicate'])('goes to the model: %s', async (text) => {
    const chat = model([says('From the model.')])
    expect((await complete(chat, [user(text)])).message?.content).toBe('From the model.')
    expect(listTexts(chat.requests[0]!)).toEqual([`user: ${text}`])
    const scripted = model([says('From the model.')])
    await respond({ model: scripted.id, input: text })
    expect(listTexts(scripted.requests[0]!)).toEqual([`user: ${text}`])
  })

  it('and is a command of ours is answered without the model', async () => {
    const scripted = model([])
    expect((await complete(scripted, [user('/status')])).message?.content).toContain('Status: idle')
    expect(scripted.requests).toEqual([])
  })
})

describe('responses', () => {
  it('of an unknown one before have the code of the API', async () => {
    for (const id of ['resp_nothing', 'resp_5b1f0c9e8a7d4e62', 'x']) {
      const { status, body } = await respond({ model: model([]).id, input: 'more', previous_response_id: id })
      expect([status, body.error?.code, body.error?.param]).toEqual([
        404,
        'previous_response_not_found',
        'previous_response_id',
      ])
    }
  })

  it('repeat whether calls may be parallel', async () => {
    for (const sent of [false, true, undefined]) {
      const { body } = await respond({ model: model([says('ok')]).id, input: `go ${sent}`, parallel_tool_calls: sent })
      expect(body['parallel_tool_calls']).toBe(sent ?? true)
    }
  })

  it('in the background stream, and can be streamed again from any event', async () => {
    const scripted = model([says('one ', 'two')])
    const body = { model: scripted.id, input: 'count', background: true, stream: true }
    const first = await (await request('POST', '/v1/responses', { body })).text()
    const events = [...first.matchAll(/^data: (\{.*)$/gm)].map(
      ([, data = '']) => JSON.parse(data) as Record<string, unknown>,
    )
    expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['response.created', 'response.completed']))
    const { id, background } = (events[0] as { response: { id: string; background: boolean } }).response
    expect(background).toBe(true)
    const rest = await (await request('GET', `/v1/responses/${id}?stream=true&starting_after=2`)).text()
    expect([...rest.matchAll(/"sequence_number":(\d+)/g)].map(([, n]) => Number(n))[0]).toBe(3)
    expect(rest).toContain('response.completed')
  })

  it.each(['the item', 'a reference'])(
    'take %s of an approval in the input as the end of what is known',
    async (form) => {
      const push = { id: 'p', name: 'terminal', input: { command: 'git push origin main' } }
      const scripted = model([calls(push), says('Denied, so I stop.')])
      await call('PATCH', '/api/settings', { body: { approvals: { mode: 'manual' } } })
      const question = {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: `Push it, by ${form}.` }],
      }
      const first = await respond({ model: scripted.id, input: [question] })
      const asked = first.body.output.find(({ type }) => type === 'mcp_approval_request')
      const decision = { type: 'mcp_approval_response', approval_request_id: asked?.id, approve: false }
      const repeated = form === 'the item' ? asked : { type: 'item_reference', id: asked?.id }
      const second = await respond({ model: scripted.id, input: [question, repeated, decision] })
      expect(JSON.stringify(second.body)).toContain('Denied, so I stop.')
      const sent = listTexts(scripted.requests[1]!).filter((text) => text.startsWith('user:'))
      expect(sent).toEqual([`user: Push it, by ${form}.`])
      await call('PATCH', '/api/settings', { body: { approvals: { mode: 'smart' } } })
    },
  )
})

describe('a conversation', () => {
  it('loses its last added item, one after the other, and no earlier one', async () => {
    const items = ['one', 'two', 'three'].map((content) => ({ type: 'message', role: 'user', content }))
    const { body: made } = await call<{ id: string }>('POST', '/v1/conversations', {
      body: { items: items.slice(0, 2) },
    })
    const path = `/v1/conversations/${made.id}/items`
    await call('POST', path, { body: { items: items.slice(2) } })
    const list = async () => (await call<{ data: Item[] }>('GET', `${path}?order=asc`)).body.data.map(({ id }) => id)
    const before = await list()
    expect((await call('DELETE', `${path}/${before[0]}`)).status).toBe(409)
    for (const kept of [2, 1, 0]) {
      expect((await call('DELETE', `${path}/${before[kept]}`)).status).toBe(200)
      expect(await list()).toEqual(before.slice(0, kept))
    }
    const scripted = model([says('ok')])
    await respond({ model: scripted.id, input: 'four', conversation: made.id })
    expect(listTexts(scripted.requests[0]!)).toEqual(['user: four'])
  })

  it('loses the call of an added answer, and keeps its text', async () => {
    const items = [
      { type: 'message', role: 'user', content: 'go' },
      { type: 'message', role: 'assistant', content: 'I look.' },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
    ]
    const { body: made } = await call<{ id: string }>('POST', '/v1/conversations', { body: { items } })
    const path = `/v1/conversations/${made.id}/items`
    const list = async () => (await call<{ data: Item[] }>('GET', `${path}?order=asc`)).body.data
    const last = (await list()).at(-1)
    expect(last?.type).toBe('function_call')
    expect((await call('DELETE', `${path}/${last?.id}`)).status).toBe(200)
    expect((await list()).map(({ type }) => type)).toEqual(['message', 'message'])
  })
})

it('a run that is started again by its idempotency key has a status of runs', async () => {
  const scripted = model([says('Done.')])
  const start = () =>
    call<{ run_id: string; status: string }>('POST', '/v1/runs', {
      body: { model: scripted.id, input: 'go' },
      headers: { 'idempotency-key': 'run-again' },
    })
  const first = await start()
  await until(
    async () => (await call<{ exit_reason: unknown }>('GET', `/v1/runs/${first.body.run_id}`)).body.exit_reason,
  )
  const again = await start()
  expect(again.body).toMatchObject({ run_id: first.body.run_id, status: 'completed' })
})

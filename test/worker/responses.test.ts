/** Tests `/v1/responses`: continuing, forking, deleting and isolating responses. */

import { createExecutionContext } from 'cloudflare:test'
import { itInTurn } from '#test/support/long.ts'
import { createApp } from '#worker/app.ts'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type ModelRequest,
  calls,
  Gate,
  model as modelOf,
  type ReplyPart,
  says,
  type Script,
} from '../support/scripted-model.ts'
import { ownerAuthority } from '../support/authority.ts'
import { adminKey, bindings, call, applyMigrations, newTenant, type ErrorBody, request } from './client.ts'
import { listMessages } from './listen.ts'

beforeAll(applyMigrations)

const model = (script: Script) => modelOf(script).id

type Item = { readonly type: string; readonly id: string; readonly [more: string]: unknown }
type Response_ = {
  readonly id: string
  readonly status: string
  readonly output: readonly Item[]
  readonly previous_response_id: string | null
  readonly conversation: { readonly id: string } | null
  readonly usage: { readonly total_tokens: number }
}

const create = async (body: object, ask: { readonly key?: string; readonly headers?: Record<string, string> } = {}) =>
  call<Response_>('POST', '/v1/responses', { body, ...ask })
const get = (id: string, key?: string) => call<Response_>('GET', `/v1/responses/${id}`, key ? { key } : {})
const textOf = ({ output }: Response_) =>
  output
    .flatMap((item) => (item.type === 'message' ? (item['content'] as { text: string }[]) : []))
    .map(({ text }) => text)
const sessionOf = (headers: Headers) => headers.get('x-talaria-session-id') ?? ''

/** Says how many messages of users it has been sent. */
const counting = () =>
  model(({ messages }: ModelRequest) => says(`${messages.filter(({ role }) => role === 'user').length} so far`))

describe('a response', () => {
  it('has the answer and can be read again', async () => {
    const { status, body, headers } = await create({ model: model(() => says('Hello')), input: 'hi' })
    expect([status, body.status, textOf(body)]).toEqual([200, 'completed', ['Hello']])
    expect(body.usage.total_tokens).toBe(110)
    expect(headers.get('x-talaria-session-id')).toMatch(/^ses_/)
    const again = await get(body.id)
    expect(again.body).toMatchObject({ id: body.id, status: 'completed', output: body.output, usage: body.usage })
  })

  it('has tools that ran as completed items', async () => {
    const name = model((_asked, nth) => (nth ? says('Nothing to do.') : calls({ name: 'todo', input: {} })))
    const { body } = await create({ model: name, input: 'what is there to do?' })
    expect(body.output.map(({ type, status }) => [type, status])).toEqual([
      ['mcp_call', 'completed'],
      ['message', 'completed'],
    ])
    expect(body.output[0]).toMatchObject({ server_label: 'talaria', name: 'todo', arguments: '{}', error: null })
    expect(body.output[0]?.['output']).toContain('todos')
  })

  it('takes a history of items, and instructions', async () => {
    let received: ModelRequest | undefined
    const name = model((request_) => {
      received = request_
      return says('Yes.')
    })
    const input = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'input_text', text: 'Look.' }] },
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":1}' },
      { type: 'function_call_output', call_id: 'c1', output: 'a tree' },
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_1',
        content: [{ type: 'output_text', text: 'A tree.', annotations: [] }],
      },
      { role: 'user', content: 'Sure?' },
    ]
    expect((await create({ model: name, input, instructions: 'Be kind.' })).status).toBe(200)
    expect(received?.messages[0]?.content).toMatch(/Be kind\.\n\nBe brief\.$/)
    expect(received?.messages.slice(1).map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Look.'],
      ['assistant', null],
      ['tool', 'a tree'],
      ['assistant', 'A tree.'],
      ['user', 'Sure?'],
    ])
  })

  it('streams with the names of all events, and ends with the whole', async () => {
    const answer = await request('POST', '/v1/responses', {
      body: { model: model(() => says('Hel', 'lo')), input: 'hi', stream: true },
    })
    const frames = (await answer.text()).split('\n\n').filter((frame) => frame.startsWith('event: '))
    const names = frames.map((frame) => /^event: (\S+)/.exec(frame)?.[1])
    expect(names[0]).toBe('response.created')
    expect(names.at(-1)).toBe('response.completed')
    const { response } = JSON.parse(/^data: (.*)$/m.exec(frames.at(-1) ?? '')?.[1] ?? '{}') as { response: Response_ }
    expect(textOf(response)).toEqual(['Hello'])
    expect(textOf((await get(response.id)).body)).toEqual(['Hello'])
  })

  it('in the background returns at once, and later shows its state', async () => {
    const { body } = await create({ model: model(() => says('Done.')), input: 'hi', background: true })
    expect(['queued', 'in_progress', 'completed']).toContain(body.status)
    const run = await call('POST', '/v1/responses', {
      body: { model: model(() => says('Next.')), input: 'and?', previous_response_id: body.id },
    })
    expect(run.status).toBe(200)
    expect(textOf((await get(body.id)).body)).toEqual(['Done.'])
  })
})

describe('continuing', () => {
  it('the last response stays in its session', async () => {
    const name = counting()
    const first = await create({ model: name, input: 'one' })
    const second = await create({ model: name, input: 'two', previous_response_id: first.body.id })
    expect(textOf(second.body)).toEqual(['2 so far'])
    expect(second.body.previous_response_id).toBe(first.body.id)
    expect(sessionOf(second.headers)).toBe(sessionOf(first.headers))
  })

  it('an earlier response forks the session and does not change it', async () => {
    const name = counting()
    const first = await create({ model: name, input: 'one' })
    const second = await create({ model: name, input: 'two', previous_response_id: first.body.id })
    const branch = await create({ model: name, input: 'another two', previous_response_id: first.body.id })
    expect(textOf(branch.body)).toEqual(['2 so far'])
    expect(sessionOf(branch.headers)).not.toBe(sessionOf(first.headers))
    const third = await create({ model: name, input: 'three', previous_response_id: second.body.id })
    expect(textOf(third.body)).toEqual(['3 so far'])
    expect(await listMessages(sessionOf(branch.headers))).toHaveLength(4)
    const copied = second.body.id.replace(/\..*/, `.${sessionOf(branch.headers)}`).replace(second.body.id, '')
    expect((await get(copied)).status).toBe(404)
    const firstInBranch = first.body.id.replace(/\..*/, `.${sessionOf(branch.headers)}`)
    const { body: again } = await get(firstInBranch)
    expect(again.output).toEqual(first.body.output)
    const replayed = await (await request('GET', `/v1/responses/${firstInBranch}?stream=true`)).text()
    expect(replayed).toContain('response.completed')
    for (const { id } of first.body.output) expect(replayed).toContain(id)
  })

  it.each([false, true])('with the same response twice at once never mixes the two (stream: %s)', async (stream) => {
    const gate = new Gate()
    let requestCount = 0
    const name = model(({ messages }: ModelRequest) => {
      const users = messages.filter(({ role }) => role === 'user').length
      return requestCount++ ? says(`${users} so far`) : says(gate, 'One.')
    })
    const first = await create({ model: name, input: 'one', background: true })
    await gate.waitUntilReached()
    const ask = async (input: string) => {
      const body = { model: name, input, previous_response_id: first.body.id, stream }
      const answer = await request('POST', '/v1/responses', { body })
      return { status: answer.status, text: answer.text() }
    }
    const both = [ask('two'), ask('another two')]
    const refused = await Promise.race(
      both.map(async (one) => ((await one).status === 409 ? one : new Promise<never>(() => {}))),
    )
    expect(await refused.text).toContain('conflict')
    gate.open()
    const answers = await Promise.all(both)
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect((await Promise.all(answers.map(({ text }) => text))).join()).toContain('2 so far')
    const branch = await create({ model: name, input: 'another two', previous_response_id: first.body.id })
    expect(textOf(branch.body)).toEqual(['2 so far'])
  })

  it('a conversation creates it, and finds it again', async () => {
    const name = counting()
    const one = await create({ model: name, input: 'one', conversation: 'my-project' })
    const two = await create({ model: name, input: 'two', conversation: { id: 'my-project' } })
    expect([one, two].map(({ body }) => [textOf(body)[0], body.conversation?.id])).toEqual([
      ['1 so far', 'my-project'],
      ['2 so far', 'my-project'],
    ])
  })

  it('with the same key and body is the same response, also from before', async () => {
    const name = counting()
    const first = await create({ model: name, input: 'one' })
    const ask = { model: name, input: 'two', previous_response_id: first.body.id }
    const headers = { 'idempotency-key': 'response-two' }
    const second = await create(ask, { headers })
    const again = await create(ask, { headers })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(again.body).toEqual(second.body)
    expect(textOf(again.body)).toEqual(['2 so far'])
  })
})

describe('a refused fork leaves no copy:', () => {
  type Limits = Readonly<Record<string, number>>
  /** A session of two responses, each for 0.01, and what happens to those who go on behind the first. */
  const behindTwo = async (limits: Limits) => {
    const { id: tenant, key } = await newTenant()
    const name = counting()
    const prices = { input: 100, cached_read: 75, output: 100 }
    await call('PATCH', '/api/settings', { key, body: { models: { [name]: { prices } } } })
    const first = await create({ model: name, input: 'one' }, { key })
    await create({ model: name, input: 'two', previous_response_id: first.body.id }, { key })
    const id = sessionOf(first.headers)
    const file = { key, body: new Uint8Array(1_500_000) }
    expect((await call('PUT', `/api/sessions/${id}/files/a.bin`, file)).status).toBe(201)
    expect((await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { limits } })).status).toBe(200)
    const branch = async () => {
      const ask = { key, body: { model: name, input: 'x', previous_response_id: first.body.id } }
      const { status, body } = await call<ErrorBody>('POST', '/v1/responses', ask)
      return [status, body.error?.param]
    }
    const others = async () =>
      (await call<{ data: { id: string }[] }>('GET', '/api/sessions', { key })).body.data.filter((one) => one.id !== id)
    return { id, tenant, branch, others }
  }

  it('over usd_per_session', async () => {
    const { branch, others } = await behindTwo({ usd_per_session: 0.01 })
    expect(await branch()).toEqual([429, 'usd_per_session'])
    expect(await others()).toEqual([])
  })

  itInTurn('over concurrent_turns, and it takes no place', async () => {
    const { tenant, branch, others } = await behindTwo({ concurrent_turns: 1 })
    const places = bindings.TENANT.getByName(`t/${tenant}`)
    await places.limits.admitTurn(ownerAuthority(), 'run_another')
    expect(await branch()).toEqual([429, 'concurrent_turns'])
    expect(await others()).toEqual([])
    await places.limits.releaseTurn(ownerAuthority(), 'run_another')
    expect(await branch()).toEqual([200, undefined])
  })

  it('over storage_bytes, at which not even the first begins that does not fit', async () => {
    const { id, tenant, branch, others } = await behindTwo({ storage_bytes: 1_000_000 })
    expect(await branch()).toEqual([429, 'storage_bytes'])
    await bindings.TENANT.getByName(`t/${tenant}`).limits.setStoredBytes(ownerAuthority(), {
      sessionId: id,
      bytes: 1_000_000,
    })
    expect(await branch()).toEqual([429, 'storage_bytes'])
    expect(await others()).toEqual([])
  })
})

describe('a response that is not stored', () => {
  it('cannot be read, continued, or found in a session', async () => {
    const { body, headers } = await create({ model: model(() => says('Hello')), input: 'hi', store: false })
    expect(textOf(body)).toEqual(['Hello'])
    expect((await get(body.id)).status).toBe(404)
    expect((await create({ input: 'more', previous_response_id: body.id })).status).toBe(404)
    await expect
      .poll(async () => (await call('GET', `/api/sessions/${sessionOf(headers)}`)).status, { timeout: 20_000 })
      .toBe(404)
  })

  it('is counted in usage', async () => {
    const { key } = await newTenant()
    const { headers } = await create({ model: model(() => says('Hello')), input: 'hi', store: false }, { key })
    await expect
      .poll(async () => (await call('GET', `/api/sessions/${sessionOf(headers)}`, { key })).status, { timeout: 20_000 })
      .toBe(404)
    const { body } = await call<{ totals: { turns: number; output: number } }>('GET', '/api/usage', { key })
    expect(body.totals).toMatchObject({ turns: 1, output: 10 })
  })

  it('may continue a stored one, which does not change', async () => {
    const name = counting()
    const first = await create({ model: name, input: 'one' })
    const unstored = await create({ model: name, input: 'two', previous_response_id: first.body.id, store: false })
    expect(textOf(unstored.body)).toEqual(['2 so far'])
    expect(await listMessages(sessionOf(first.headers))).toHaveLength(2)
  })

  it('streams to its end before it is deleted', async () => {
    const answer = await request('POST', '/v1/responses', {
      body: { model: model(() => says('Hel', 'lo')), input: 'hi', stream: true, store: false },
    })
    expect(await answer.text()).toContain('event: response.completed')
    await expect
      .poll(async () => (await call('GET', `/api/sessions/${sessionOf(answer.headers)}`)).status, { timeout: 20_000 })
      .toBe(404)
  })
})

describe('deleting', () => {
  it('removes the last response, and the session with the only one', async () => {
    const name = counting()
    const first = await create({ model: name, input: 'one' })
    const second = await create({ model: name, input: 'two', previous_response_id: first.body.id })
    const early = await call<ErrorBody>('DELETE', `/v1/responses/${first.body.id}`)
    expect([early.status, early.body.error.code]).toEqual([409, 'conflict'])
    expect((await call('DELETE', `/v1/responses/${second.body.id}`)).body).toEqual({
      id: second.body.id,
      object: 'response',
      deleted: true,
    })
    expect((await get(second.body.id)).status).toBe(404)
    expect((await call('DELETE', `/v1/responses/${second.body.id}`)).status).toBe(404)
    expect((await create({ input: 'x', previous_response_id: second.body.id })).status).toBe(404)
    expect((await get(first.body.id)).status).toBe(200)
    expect((await call('DELETE', `/v1/responses/${first.body.id}`)).status).toBe(200)
    expect((await call('GET', `/api/sessions/${sessionOf(first.headers)}`)).status).toBe(404)
  })
})

/** Sends a request to a worker whose calls of `undo` and `delete` reach the session after `meanwhile`. */
async function requestOvertaken(method: string, path: string, meanwhile: () => Promise<unknown>) {
  const delayed = (subject: object) =>
    new Proxy(subject, {
      get:
        (_, name) =>
        async (...parameters: unknown[]) => {
          if (name === 'undo' || name === 'delete') await meanwhile()
          return (Reflect.get(subject, name) as (...all: unknown[]) => unknown)(...parameters)
        },
    })
  const getByName = (name: string) => {
    const stub = bindings.SESSION.getByName(name)
    return new Proxy(stub, {
      get: (_, subject) =>
        subject === 'info' || subject === 'history' ? delayed(stub[subject]) : Reflect.get(stub, subject),
    })
  }
  const SESSION = { getByName } as unknown as Env['SESSION']
  const headers = { authorization: `Bearer ${adminKey}` }
  const context = createExecutionContext()
  return createApp().fetch(
    new Request(`https://talaria.test${path}`, { method, headers }),
    { ...bindings, SESSION },
    context,
  )
}

describe('deleting while another request starts a run', () => {
  it.each([
    ['the last of two', true],
    ['the only one', false],
  ])('never removes that run: %s', async (_name, hasEarlier) => {
    const name = counting()
    const earlier = hasEarlier ? [(await create({ model: name, input: 'one' })).body.id] : []
    const last = await create({ model: name, input: 'two', previous_response_id: earlier[0] ?? null })
    const later: string[] = []
    const meanwhile = async () => {
      later.push((await create({ model: name, input: 'three', previous_response_id: last.body.id })).body.id)
    }
    const answer = await requestOvertaken('DELETE', `/v1/responses/${last.body.id}`, meanwhile)
    expect([200, 409]).toContain(answer.status)
    for (const id of [...earlier, ...later]) expect((await get(id)).status).toBe(200)
  })

  it('is refused while a later one is open', async () => {
    const first = await create({ model: counting(), input: 'one' })
    const gate = new Gate()
    const slow = model(() => [gate, ...(says('late') as readonly ReplyPart[])])
    const second = create({ model: slow, input: 'two', previous_response_id: first.body.id })
    await gate.waitUntilReached()
    const refused = await call<ErrorBody>('DELETE', `/v1/responses/${first.body.id}`)
    expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict'])
    gate.open()
    expect((await second).status).toBe(200)
  })
})

describe('a refused id', () => {
  it('is another tenant’s, an unknown one and a malformed id, all alike', async () => {
    const { body } = await create({ model: model(() => says('Mine.')), input: 'hi' })
    const { key } = await newTenant()
    const ids = [body.id, body.id.replace(/\..*/, '.ses_none'), 'resp_x', 'x'.repeat(200)]
    for (const id of ids) {
      const answers = [
        await get(id, key),
        await call('DELETE', `/v1/responses/${id}`, { key }),
        await create({ input: 'x', previous_response_id: id }, { key }),
      ]
      expect([id, ...answers.map(({ status }) => status)]).toEqual([id, 404, 404, 404])
    }
    expect((await get(body.id)).status).toBe(200)
  })

  const message = { role: 'user', content: 'x' }
  it.each<readonly [string, object, string]>([
    ['no input', {}, 'input'],
    ['an empty list', { input: [] }, 'input'],
    ['nothing said', { input: ' ' }, 'input'],
    ['a reference to nothing', { input: [{ type: 'item_reference', id: 'x' }] }, 'input.0.id'],
    ['a message with an id and no content', { input: [{ id: 'x', role: 'user', content: null }] }, 'input.0.content'],
    ['a message of no role', { input: [{ id: 'x', role: 'nobody', content: 'a' }] }, 'input.0.role'],
    ['an item of another kind', { input: [{ type: 'computer_call', id: 'x' }] }, 'input.0'],
    ['no last word of the user', { input: [message, { role: 'assistant', content: 'y' }] }, 'input'],
    ['a tool of another kind', { input: 'x', tools: [{ type: 'file_search' }] }, 'tools.0'],
    ['two ways to go on', { input: 'x', conversation: 'a', previous_response_id: 'resp_a.b' }, 'previous_response_id'],
    ['a name that is none', { input: 'x', conversation: 'a b' }, 'conversation'],
    ['a conversation that is not stored', { input: 'x', conversation: 'a', store: false }, 'store'],
    [
      'a history for what has one',
      { input: [message, { role: 'assistant', content: 'y' }, message], conversation: 'a' },
      'input',
    ],
    ['an unknown field', { input: 'x', messages: [] }, 'messages'],
  ])('is %s', async (_name, body, param) => {
    const answer = await call<ErrorBody>('POST', '/v1/responses', { body })
    expect(answer.status).toBe(400)
    expect(answer.body.error.param).toMatch(new RegExp(`^${param}`))
  })
})

describe('a response in progress', () => {
  type Told = { readonly type: string; readonly sequence_number: number; readonly response?: Response_ }
  const eventsOf = async (response: Response): Promise<readonly Told[]> =>
    [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? '') as Told)

  it('is cancelled with its text so far, and stays cancelled', async () => {
    const gate = new Gate()
    const { body } = await create({ model: model(() => says('So ', gate, 'long.')), input: 'hi', background: true })
    await gate.waitUntilReached()
    const cancelled = await call<Response_>('POST', `/v1/responses/${body.id}/cancel`)
    expect([cancelled.status, cancelled.body.status]).toEqual([200, 'cancelled'])
    expect((await get(body.id)).body).toEqual(cancelled.body)
    expect((await call('POST', `/v1/responses/${body.id}/cancel`)).body).toEqual(cancelled.body)
  })

  it('is taken back while it is queued, and is not cancelled after its end', async () => {
    const gate = new Gate()
    const name = model((_asked, nth) => (nth ? says('two') : says('one', gate)))
    const ask = { model: name, input: 'hi', background: true, conversation: 'cancelling' }
    const first = await create(ask)
    await gate.waitUntilReached()
    const second = await create(ask)
    const cancelled = await call<Response_>('POST', `/v1/responses/${second.body.id}/cancel`)
    expect([second.body.status, cancelled.status, cancelled.body.status]).toEqual(['queued', 200, 'cancelled'])
    gate.open()
    const stream = await request('GET', `/v1/responses/${first.body.id}?stream=true`)
    expect((await eventsOf(stream)).at(-1)?.type).toBe('response.completed')
    expect((await call<Response_>('POST', `/v1/responses/${first.body.id}/cancel`)).body.status).toBe('completed')
  })

  it('is streamed from its beginning, or after the last received event', async () => {
    const gate = new Gate()
    const { body } = await create({ model: model(() => says('So ', gate, 'long.')), input: 'hi', background: true })
    await gate.waitUntilReached()
    const live = await request('GET', `/v1/responses/${body.id}?stream=true`)
    gate.open()
    const whole = await eventsOf(live)
    expect([whole[0]?.type, whole.at(-1)?.type]).toEqual(['response.created', 'response.completed'])
    expect(whole.map((one) => one.sequence_number)).toEqual(whole.map((_, at) => at))
    const rest = await eventsOf(await request('GET', `/v1/responses/${body.id}?stream=true&starting_after=2`))
    expect(rest).toEqual(whole.slice(3))
  })

  it('is hidden from other tenants', async () => {
    const { body } = await create({ model: model(() => says('Mine.')), input: 'hi' })
    const { key } = await newTenant()
    const asks = [
      call('POST', `/v1/responses/${body.id}/cancel`, { key }),
      call('GET', `/v1/responses/${body.id}/input_items`, { key }),
      call('GET', `/v1/responses/${body.id}?stream=true`, { key }),
      call('GET', '/v1/responses/resp_1.ses_none/input_items'),
    ]
    expect((await Promise.all(asks)).map(({ status }) => status)).toEqual([404, 404, 404, 404])
  })
})

it('user messages of a response are listed like OpenAI does', async () => {
  const url = 'https://example.com/a.png'
  const input = [
    { role: 'user', content: 'Before.' },
    { role: 'assistant', content: 'Yes.' },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look.' },
        { type: 'input_image', image_url: url },
      ],
    },
  ]
  const { body } = await create({ model: model(() => says('I see.')), input })
  const list = await call<{ data: readonly Item[]; has_more: boolean; first_id: string; last_id: string }>(
    'GET',
    `/v1/responses/${body.id}/input_items?order=asc&include=x`,
  )
  expect(list.status).toBe(200)
  expect(list.body.data.slice(0, 2)).toMatchObject([
    { role: 'user', content: [{ text: 'Before.' }] },
    { role: 'assistant', content: [{ text: 'Yes.' }] },
  ])
  expect(list.body.data.slice(2).map((one) => [one.type, one['role'], one['content']])).toEqual([
    [
      'message',
      'user',
      [
        { type: 'input_text', text: 'Look.' },
        { type: 'input_image', image_url: url, detail: 'auto' },
      ],
    ],
  ])
  expect([list.body.has_more, list.body.first_id]).toEqual([false, list.body.data[0]?.id])
  const after = await call<{ data: unknown[] }>(
    'GET',
    `/v1/responses/${body.id}/input_items?order=asc&after=${list.body.last_id}`,
  )
  expect(after.body.data).toEqual([])
  const unknown = await call<ErrorBody>('GET', `/v1/responses/${body.id}/input_items?after=msg_gone`)
  expect([unknown.status, unknown.body.error.param]).toEqual([400, 'after'])
})

it('lists all items of a request, both ways and page by page, and only its own', async () => {
  const input = [
    { role: 'user', content: 'Weather?' },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":5.0}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
    { role: 'assistant', content: 'Sunny.' },
    { role: 'user', content: 'Thanks.' },
  ]
  const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' } }]
  const name = model(() => says('Welcome.'))
  const { body } = await create({ model: name, input, tools })
  const read = async (id: string, query: string) =>
    (await call<{ data: readonly Item[]; has_more: boolean }>('GET', `/v1/responses/${id}/input_items?${query}`)).body
  const all = await read(body.id, 'order=asc')
  expect(all.data.map(({ type, role }) => role ?? type)).toEqual([
    'user',
    'function_call',
    'function_call_output',
    'assistant',
    'user',
  ])
  expect(all.data[1]).toMatchObject({ call_id: 'call_1', name: 'weather', arguments: '{"city":5.0}' })
  expect(all.data[2]).toMatchObject({ call_id: 'call_1', output: 'sunny' })
  expect((await read(body.id, 'order=desc')).data).toEqual(all.data.toReversed())
  for (const order of ['asc', 'desc']) {
    const ids: string[] = []
    for (let more = true; more;) {
      const page = await read(body.id, `order=${order}&limit=2${ids.length ? `&after=${ids.at(-1)}` : ''}`)
      ids.push(...page.data.map(({ id }) => id))
      more = page.has_more
    }
    expect(order === 'asc' ? ids : ids.toReversed()).toEqual(all.data.map(({ id }) => id))
  }
  const next = await create({ model: name, input: 'And now?', previous_response_id: body.id })
  expect((await read(next.body.id, 'order=asc')).data).toMatchObject([{ content: [{ text: 'And now?' }] }])
})

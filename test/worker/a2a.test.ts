/** Tests A2A: tasks by JSON-RPC in both versions and by HTTP with JSON, questions, refusals, and walls between tenants. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, Gate, hangs, model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, call, newKey, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

type Task = {
  readonly id: string
  readonly contextId: string
  readonly status: {
    readonly state: string
    readonly message?: { readonly parts: readonly { readonly text: string }[] }
  }
  readonly artifacts?: readonly { readonly parts: readonly object[] }[]
}
type Rpc = { readonly result?: { readonly task?: Task } & Task; readonly error?: { readonly code: number } }

async function open(script: Parameters<typeof model>[0], settings: object = { approvals: { mode: 'off' } }) {
  const { id, key } = await newTenant()
  await call('PATCH', '/api/settings', { key, body: { model: { default: model(script).id }, ...settings } })
  return { id, key }
}

const rpc = async (key: string | null, method: string, params: object, version = '1.0') =>
  request('POST', '/a2a', {
    key,
    body: { jsonrpc: '2.0', id: 7, method, params },
    headers: version === '0.3' ? {} : { 'a2a-version': version },
  })
const ask = async (key: string, method: string, params: object, version?: string) =>
  (await rpc(key, method, params, version)).json<Rpc>()
const says1 = (text: string, more: object = {}) => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
})
const send = async (key: string, text: string, more: object = {}) =>
  (await ask(key, 'SendMessage', says1(text, more))).result?.task as Task
const eventsIn = async (response: Response) =>
  (await response.text())
    .split('\n\n')
    .filter(Boolean)
    .map((block) => JSON.parse(block.slice('data: '.length)) as Record<string, unknown>)
const clarify = calls({ id: 'c1', name: 'clarify', input: { question: 'Which colour?' } })

describe('a task of another agent', () => {
  it('is a run: it is waited for, continued in its context, and found again', async () => {
    const { key } = await open([says('Hello.'), says('Again.')])
    const first = await send(key, 'Say hello.')
    expect(first).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ artifactId: 'answer', parts: [{ text: 'Hello.' }] }],
    })
    const second = await send(key, 'And again.', { contextId: first.contextId })
    expect([second.contextId, second.id === first.id]).toEqual([first.contextId, false])
    expect((await ask(key, 'GetTask', { id: first.id })).result).toEqual(first)
    const { body } = await call<{ data: { content: string }[] }>('GET', `/api/sessions/${first.contextId}/messages`, {
      key,
    })
    expect(body.data.map(({ content }) => content)).toEqual(['Say hello.', 'Hello.', 'And again.', 'Again.'])
  })

  it('is begun once for a message that is sent again', async () => {
    const { key } = await open([says('Hello.'), says('Twice?')])
    const more = { messageId: 'the-same', contextId: 'a-context' }
    const [one, other] = [await send(key, 'hi', more), await send(key, 'hi', more)]
    expect(other).toEqual(one)
  })

  it('streams its answer, and its state at the end', async () => {
    const { key } = await open([says('Hello.')])
    const events = await eventsIn(await rpc(key, 'SendStreamingMessage', says1('Say hello.')))
    expect(events[0]).toMatchObject({
      jsonrpc: '2.0',
      id: 7,
      result: { task: { status: { state: 'TASK_STATE_WORKING' } } },
    })
    const updates = events.map(({ result }) => result as Record<string, { lastChunk?: boolean }>)
    expect(updates.at(-2)).toMatchObject({
      artifactUpdate: { append: false, lastChunk: true, artifact: { parts: [{ text: 'Hello.' }] } },
    })
    expect(updates.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
  })

  it('that asks waits for input, and goes on with the answer', async () => {
    const { key } = await open([clarify, says('Blue it is.')])
    const asked = await send(key, 'Paint it.')
    expect(asked.status).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED' })
    expect(asked.status.message?.parts[0]?.text).toContain('Which colour?')
    expect((await ask(key, 'GetTask', { id: asked.id })).result?.status).toEqual(asked.status)
    const elsewhere = await ask(key, 'SendMessage', says1('blue', { taskId: asked.id, contextId: 'other' }))
    expect(elsewhere.error?.code).toBe(-32_602)
    const events = await eventsIn(await rpc(key, 'SendStreamingMessage', says1('blue', { taskId: asked.id })))
    expect(events.at(-1)).toMatchObject({ result: { statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } } })
    const ended = await ask(key, 'SendMessage', says1('more', { taskId: asked.id }))
    expect(ended.error?.code).toBe(-32_004)
  })

  it('cannot allow a call of itself', async () => {
    const command = calls({ id: 'c1', name: 'terminal', input: { command: 'rm -rf ./all' } })
    const { key } = await open([command, says('done')], { approvals: { mode: 'manual' } })
    const asked = await send(key, 'Clean up.')
    expect(asked.status.message?.parts[0]?.text).toContain('approval of a person')
    const refused = await ask(key, 'SendMessage', says1('once', { taskId: asked.id }))
    expect(refused.error?.code).toBe(-32_004)
    expect((await ask(key, 'CancelTask', { id: asked.id })).result?.status.state).toBe('TASK_STATE_CANCELED')
  })

  it('returns at once where that is wanted, can be followed, and is cancelled once', async () => {
    const gate = new Gate()
    const { key } = await open([hangs(gate), says('too late')])
    const { result } = await ask(key, 'SendMessage', { ...says1('Work.'), configuration: { returnImmediately: true } })
    const id = result?.task?.id ?? ''
    expect(result?.task?.status.state).toMatch(/WORKING|SUBMITTED/)
    await gate.waitUntilReached()
    const following = rpc(key, 'SubscribeToTask', { id })
    await until(async () => (await call('GET', `/v1/runs/${id}`, { key })).body['status'] === 'running')
    const response = await following
    expect((await ask(key, 'CancelTask', { id })).result?.status.state).toBe('TASK_STATE_CANCELED')
    gate.open()
    expect((await eventsIn(response)).at(-1)).toMatchObject({
      result: { statusUpdate: { status: { state: 'TASK_STATE_CANCELED' } } },
    })
    expect((await ask(key, 'CancelTask', { id })).error?.code).toBe(-32_002)
    expect((await ask(key, 'SubscribeToTask', { id })).error?.code).toBe(-32_004)
  })

  it('of version 0.3 has its names and shapes', async () => {
    const { key } = await open([says('Hello.'), says('Streamed.')])
    const message = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
    const { result } = await ask(key, 'message/send', { message }, '0.3')
    expect(result).toMatchObject({
      kind: 'task',
      status: { state: 'completed' },
      artifacts: [{ parts: [{ kind: 'text', text: 'Hello.' }] }],
    })
    expect((await ask(key, 'tasks/get', { id: result?.id }, '0.3')).result).toEqual(result)
    const streamed = { message: { ...message, messageId: 'm2', contextId: result?.contextId } }
    const events = await eventsIn(await rpc(key, 'message/stream', streamed, '0.3'))
    expect(events.at(-1)).toMatchObject({
      result: { kind: 'status-update', final: true, status: { state: 'completed' } },
    })
  })

  it('works by HTTP with JSON too', async () => {
    const { key } = await open([says('Hello.'), says('Streamed.')])
    const headers = { 'a2a-version': '1.0' }
    const sent = await request('POST', '/a2a/v1/message:send', { key, headers, body: says1('hi') })
    const { task } = await sent.json<{ task: Task }>()
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    const found = await request('GET', `/a2a/v1/tasks/${task.id}`, { key, headers })
    expect(await found.json()).toEqual(task)
    const events = await eventsIn(await request('POST', '/a2a/v1/message:stream', { key, headers, body: says1('hi') }))
    expect(events.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
    const cancelled = await request('POST', `/a2a/v1/tasks/${task.id}:cancel`, { key, headers, body: {} })
    expect(cancelled.status).toBe(409)
    expect((await request('GET', `/a2a/v1/tasks/${task.id}:subscribe`, { key, headers })).status).toBe(400)
    expect((await request('GET', '/a2a/v1/tasks/nothing', { key, headers })).status).toBe(404)
  })
})

type Said = { readonly messageId: string; readonly role: string; readonly parts: readonly { readonly text: string }[] }
const historyOf = (found: unknown) => (found as { history?: readonly Said[] } | undefined)?.history
const textsOf = (found: unknown) => historyOf(found)?.map(({ role, parts }) => [role, parts[0]?.text])

describe('the history of a task', () => {
  it('has the messages of its sender by their ids, those of the agent, its questions and their answers', async () => {
    const { key, id: tenant } = await open([clarify, says('Blue it is.'), says('Next.')])
    const first = says1('Paint it.')
    const asked = (await ask(key, 'SendMessage', first)).result?.task as Task
    const reply = says1('blue', { taskId: asked.id, contextId: asked.contextId })
    const task = (await ask(key, 'SendMessage', reply)).result?.task as Task
    expect(textsOf(task)).toEqual([
      ['ROLE_USER', 'Paint it.'],
      ['ROLE_AGENT', 'Which colour?'],
      ['ROLE_USER', 'blue'],
      ['ROLE_AGENT', 'Blue it is.'],
    ])
    const [one, , two] = historyOf(task) ?? []
    expect([one?.messageId, two?.messageId]).toEqual([first.message.messageId, reply.message.messageId])
    expect(one).toMatchObject({ taskId: task.id, contextId: task.contextId })
    await send(key, 'Another task.', { contextId: task.contextId })
    const get = async (params: object) => (await ask(key, 'GetTask', { id: task.id, ...params })).result
    expect(historyOf(await get({}))).toEqual(historyOf(task))
    expect(historyOf(await get({ historyLength: 1 }))).toEqual(historyOf(task)?.slice(-1))
    expect(await get({ historyLength: 0 })).not.toHaveProperty('history')
    expect(historyOf(await get({ historyLength: 1_000 }))).toHaveLength(4)
    // The ids are those of the key that has sent the messages.
    const others = historyOf((await ask(await newKey(tenant, ['read']), 'GetTask', { id: task.id })).result)
    expect(others?.map(({ parts }) => parts)).toEqual(historyOf(task)?.map(({ parts }) => parts))
    expect(JSON.stringify(others)).not.toContain(first.message.messageId)
    const sent = await ask(key, 'SendMessage', { ...says1('Third.'), configuration: { historyLength: 0 } })
    expect(sent.result?.task).not.toHaveProperty('history')
  })

  it('is in lists where they ask for it, and by HTTP with JSON and in version 0.3', async () => {
    const { key } = await open([says('One.'), says('Two.')])
    const [one, two] = [says1('First.'), says1('Second.')]
    const begun = (await ask(key, 'SendMessage', one)).result?.task as Task
    const { id, contextId } = begun
    await ask(key, 'SendMessage', { message: { ...two.message, contextId } })
    const list = async (params: object) => {
      const { result } = await ask(key, 'ListTasks', { contextId, ...params })
      return (result as unknown as { tasks: unknown[] }).tasks.map(textsOf)
    }
    expect(await list({})).toEqual([undefined, undefined])
    expect(await list({ historyLength: 2 })).toEqual([
      [
        ['ROLE_USER', 'Second.'],
        ['ROLE_AGENT', 'Two.'],
      ],
      [
        ['ROLE_USER', 'First.'],
        ['ROLE_AGENT', 'One.'],
      ],
    ])
    const rest = await request('GET', `/a2a/v1/tasks/${id}?historyLength=1`, { key, headers: { 'a2a-version': '1.0' } })
    expect(textsOf(await rest.json())).toEqual([['ROLE_AGENT', 'One.']])
    const { result } = await ask(key, 'tasks/get', { id, historyLength: 2 }, '0.3')
    expect(historyOf(result)?.[0]).toMatchObject({
      kind: 'message',
      role: 'user',
      messageId: one.message.messageId,
      parts: [{ kind: 'text', text: 'First.' }],
    })
  })

  it('has a message that a working run has not read yet, and takes it once', async () => {
    const gate = new Gate()
    const { key } = await open([hangs(gate), says('Later.')])
    const begun = says1('Work.')
    const configuration = { returnImmediately: true }
    const task = (await ask(key, 'SendMessage', { ...begun, configuration })).result?.task as Task
    const { id, contextId } = task
    await gate.waitUntilReached()
    const more = says1('Only the first part.', { taskId: id, contextId })
    for (const params of [more, more])
      expect(await ask(key, 'SendMessage', { ...params, configuration })).toHaveProperty('result')
    const ids = (historyOf((await ask(key, 'GetTask', { id })).result) ?? []).map(({ messageId }) => messageId)
    expect(ids.filter((one) => one === more.message.messageId)).toHaveLength(1)
    expect(ids[0]).toBe(begun.message.messageId)
    gate.open()
    await until(
      async () => (await ask(key, 'GetTask', { id })).result?.status.state === 'TASK_STATE_COMPLETED' || undefined,
    )
    const said = textsOf((await ask(key, 'GetTask', { id })).result) ?? []
    expect(said.filter(([, text]) => text === 'Only the first part.')).toHaveLength(1)
  })

  it('an answer that is sent again answers no later question', async () => {
    const next = calls({ id: 'c2', name: 'clarify', input: { question: 'Which size?' } })
    const { key } = await open([clarify, next, says('Done.')])
    const asked = await send(key, 'Paint it.')
    const reply = says1('blue', { taskId: asked.id, contextId: asked.contextId })
    for (const _ of [1, 2]) {
      const task = (await ask(key, 'SendMessage', { ...reply, configuration: { returnImmediately: true } })).result
        ?.task
      expect(task?.id).toBe(asked.id)
      await until(
        async () =>
          textsOf((await ask(key, 'GetTask', { id: asked.id })).result)?.at(-1)?.[1] === 'Which size?' || undefined,
      )
    }
    const answers = (textsOf((await ask(key, 'GetTask', { id: asked.id })).result) ?? []).filter(
      ([, text]) => text === 'blue',
    )
    expect(answers).toHaveLength(1)
  })

  it.each([-1, 1.5, 'many'])('of the length %j is refused', async (historyLength) => {
    const { key } = await open([says('Hello.')])
    const { id } = await send(key, 'hi')
    for (const [method, params] of [
      ['GetTask', { id, historyLength }],
      ['ListTasks', { historyLength }],
      ['SendMessage', { ...says1('x'), configuration: { historyLength } }],
    ] as const)
      expect((await ask(key, method, params)).error?.code).toBe(-32_602)
  })
})

describe('a request of another agent', () => {
  it('finds a card that needs no key', async () => {
    const response = await request('GET', '/.well-known/agent-card.json', { key: null })
    const card = await response.json<{ supportedInterfaces: { url: string }[] }>()
    expect(card).toMatchObject({ name: 'Talaria', capabilities: { streaming: true }, protocolVersion: '0.3.0' })
    expect(card.supportedInterfaces.map(({ url }) => new URL(url).pathname)).toEqual(['/a2a', '/a2a/v1', '/a2a'])
  })

  it.each([
    ['GetTask', { id: 'run_0123456789abcdef_nothing' }, '1.0', -32_001],
    ['GetTask', {}, '1.0', -32_602],
    ['GetTask', { id: 'x' }, '2.0', -32_009],
    ['SendMessage', {}, '1.0', -32_602],
    ['SendMessage', { message: { parts: [{ raw: 'AAAA' }] } }, '1.0', -32_005],
    ['SendMessage', { message: { parts: [{ text: 'x' }], contextId: 'a b' } }, '1.0', -32_602],
    ['SendMessage', { message: { parts: [{ text: 'x' }], taskId: '../keys' } }, '1.0', -32_001],
    ['CreateTaskPushNotificationConfig', {}, '1.0', -32_003],
    ['__proto__', {}, '1.0', -32_601],
  ])('%s with %j is refused by its code', async (method, params, version, code) => {
    const { key } = await newTenant()
    expect((await ask(key, method, params, version)).error?.code).toBe(code)
  })

  it('needs a key, and its scopes', async () => {
    const { id } = await newTenant()
    const refused = await rpc(null, 'SendMessage', says1('hi'))
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    const key = await newKey(id, ['read'])
    expect((await ask(key, 'SendMessage', says1('hi'))).error?.code).toBe(-32_602)
    const page = await request('POST', '/a2a', { key, headers: { origin: 'https://evil.example.com' }, body: {} })
    expect(page.status).toBe(403)
  })

  it('finds no task of another tenant', async () => {
    const alice = await open([says('For Alice.')])
    const bob = await newTenant()
    const { id, contextId } = await send(alice.key, 'secret')
    expect((await ask(bob.key, 'GetTask', { id })).error?.code).toBe(-32_001)
    expect((await ask(bob.key, 'CancelTask', { id })).error?.code).toBe(-32_001)
    expect(contextId).not.toBe('')
  })
})

/** Tests `POST /ag-ui` with the official client of AG-UI: threads, tools, refusals, and the walls between tenants. */

import { HttpAgent } from '@ag-ui/client'
import { SELF } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { calls, fails, model, type ModelRequest, says } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newKey, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

const connect = (key: string, threadId: string) =>
  new HttpAgent({
    url: 'https://talaria.test/ag-ui',
    threadId,
    headers: { authorization: `Bearer ${key}` },
    fetch: (url, init) => SELF.fetch(url, init),
  })

async function open(script: Parameters<typeof model>[0]) {
  const { id, key } = await newTenant()
  const scripted = model(script)
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id }, approvals: { mode: 'off' } } })
  return { id, key }
}

const ask = (agent: HttpAgent, content: string) => {
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
  return agent.runAgent()
}

describe('a thread of AG-UI', () => {
  it('is a session: it is made, continued, and found by its name', async () => {
    const { key } = await open([says('Hello.'), says('Again.')])
    const thread = `thread-${crypto.randomUUID()}`
    const agent = connect(key, thread)
    const { newMessages } = await ask(agent, 'Say hello.')
    expect(newMessages).toMatchObject([{ role: 'assistant', content: 'Hello.' }])
    expect((await ask(agent, 'And again.')).newMessages).toMatchObject([{ content: 'Again.' }])
    const { body } = await call<{ data: { role: string; content: string }[] }>(
      'GET',
      `/api/sessions/${thread}/messages`,
      { key },
    )
    expect(body.data.map(({ content }) => content)).toEqual(['Say hello.', 'Hello.', 'And again.', 'Again.'])
  })

  it('shows calls of tools with their results', async () => {
    const { key } = await open([calls({ id: 'c1', name: 'todo', input: {} }), says('Nothing to do.')])
    const seen: string[] = []
    const agent = connect(key, 'thread with spaces')
    agent.addMessage({ id: '1', role: 'user', content: 'What is there to do?' })
    const { newMessages } = await agent.runAgent(undefined, { onEvent: ({ event }) => void seen.push(event.type) })
    expect(newMessages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'assistant'])
    expect(newMessages[0]).toMatchObject({ toolCalls: [{ id: 'c1', function: { name: 'todo' } }] })
    expect(seen.at(-1)).toBe('RUN_FINISHED')
  })

  it('is interrupted by a question, and goes on with the answer', async () => {
    const { key } = await open([
      calls({ id: 'q1', name: 'clarify', input: { question: 'Which colour?' } }),
      says('Blue.'),
    ])
    const agent = connect(key, `thread-${crypto.randomUUID()}`)
    await ask(agent, 'Paint it.')
    const [interrupt] = agent.pendingInterrupts
    expect(interrupt).toMatchObject({ reason: 'question', message: 'Which colour?' })
    const id = interrupt?.id ?? ''
    const strange = { interruptId: 'question:1:nothing', status: 'resolved', payload: 'x' }
    const body = { threadId: agent.threadId, runId: 'r', messages: [{ role: 'user', content: 'x' }], resume: [strange] }
    expect((await call('POST', '/ag-ui', { key, body })).status).toBe(404)
    const other = await open([])
    const stolen = { ...body, resume: [{ ...strange, interruptId: id }] }
    expect((await call('POST', '/ag-ui', { key: other.key, body: stolen })).status).toBe(404)
    const resume = [{ interruptId: id, status: 'resolved' as const, payload: { answer: 'blue' } }]
    const { newMessages } = await agent.runAgent({ resume })
    expect(newMessages.filter(({ role }) => role === 'assistant').at(-1)).toMatchObject({ content: 'Blue.' })
    // The call that asked was shown before.
    expect(newMessages.flatMap((message) => ('toolCalls' in message ? (message.toolCalls ?? []) : []))).toEqual([])
    expect(agent.pendingInterrupts).toEqual([])
    expect((await call('POST', '/ag-ui', { key, body: { ...body, resume } })).status).toBe(409)
  })

  it('is interrupted by an approval, which needs its scope', async () => {
    const command = calls({ id: 'c1', name: 'terminal', input: { command: 'rm -rf ./all' } })
    const { id, key } = await open([command, command, says('Left alone.')])
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' } } })
    const stop = async (agent: HttpAgent) => {
      await ask(agent, 'Clean up.')
      expect(agent.pendingInterrupts).toMatchObject([{ reason: 'approval', toolCallId: 'c1' }])
      return [{ interruptId: agent.pendingInterrupts[0]?.id ?? '', status: 'cancelled' as const }]
    }
    const weakKey = await newKey(id, ['chat'])
    const weak = connect(weakKey, `thread-${crypto.randomUUID()}`)
    const body = { threadId: weak.threadId, runId: 'r', messages: [{ role: 'user', content: 'x' }] }
    const refused = await call('POST', '/ag-ui', { key: weakKey, body: { ...body, resume: await stop(weak) } })
    expect(refused.status).toBe(403)
    const agent = connect(key, `thread-${crypto.randomUUID()}`)
    const { newMessages } = await agent.runAgent({ resume: await stop(agent) })
    expect(newMessages.at(-1)).toMatchObject({ content: 'Left alone.' })
  })

  it('tells that a run has failed', async () => {
    const { key } = await open([fails(401, 'no key'), fails(401, 'no key')])
    const response = await request('POST', '/ag-ui', {
      key,
      body: { threadId: 'a', runId: 'b', messages: [{ role: 'user', content: 'x' }] },
    })
    const text = await response.text()
    expect([response.status, text]).toEqual([200, expect.stringContaining('RUN_ERROR')])
  })

  it('of one tenant is another session than that of another', async () => {
    const [alice, bob] = [await open([says('For Alice.')]), await open([says('For Bob.')])]
    await ask(connect(alice.key, 'shared-name'), 'secret of Alice')
    const { newMessages } = await ask(connect(bob.key, 'shared-name'), 'hi')
    expect(newMessages).toMatchObject([{ content: 'For Bob.' }])
    const { body } = await call<{ data: unknown[] }>('GET', '/api/sessions/shared-name/messages', { key: bob.key })
    expect(JSON.stringify(body.data)).not.toContain('secret of Alice')
  })

  it.each([
    ['without a key', null, 401],
    ['without the scope', 'read', 403],
  ] as const)('is refused %s', async (_, scope, status) => {
    const { id } = await newTenant()
    const key = scope && (await newKey(id, [scope]))
    const body = { threadId: 'a', runId: 'b', messages: [{ role: 'user', content: 'x' }] }
    expect((await request('POST', '/ag-ui', { key, body })).status).toBe(status)
  })

  it.each([
    [{ threadId: 'a', runId: 'b', messages: [{ role: 'assistant', content: 'x' }] }, 'messages'],
    [{ threadId: 'a', messages: [{ role: 'user', content: 'x' }] }, 'runId'],
    [{ threadId: '', runId: 'b', messages: [{ role: 'user', content: 'x' }] }, 'threadId'],
  ])('refuses %j by name', async (body, param) => {
    const { key } = await newTenant()
    const refused = await call<ErrorBody>('POST', '/ag-ui', { key, body })
    expect([refused.status, refused.body.error.param]).toEqual([400, param])
  })
})

const names = (asked: ModelRequest) => asked.tools?.map((tool) => tool.function.name) ?? []
const paint = { name: 'paint', description: 'Paints.', parameters: { type: 'object', properties: { colour: {} } } }

describe('tools of a client of AG-UI', () => {
  it('end its run, and their results go on with the run', async () => {
    const asked: ModelRequest[] = []
    const two = calls({ id: 'p1', name: 'paint', input: { colour: 'red' } }, { id: 'p2', name: 'paint', input: {} })
    const replies = [two, calls({ id: 'p3', name: 'paint', input: { colour: 'blue' } }), says('Painted.')]
    const { key } = await open((request, nth) => {
      asked.push(request)
      return replies[nth] ?? says('?')
    })
    const thread = `thread-${crypto.randomUUID()}`
    const agent = connect(key, thread)
    agent.addMessage({ id: '1', role: 'user', content: 'Paint it.' })
    const first = await agent.runAgent({ tools: [paint] })
    expect(first.newMessages).toMatchObject([{ role: 'assistant', toolCalls: [{ id: 'p1' }, { id: 'p2' }] }])
    expect(names(asked[0] as ModelRequest)).toContain('paint')
    for (const toolCallId of ['p1', 'p2'])
      agent.addMessage({ id: `r-${toolCallId}`, role: 'tool', toolCallId, content: `done ${toolCallId}` })
    const second = await agent.runAgent({ tools: [paint] })
    expect(second.newMessages).toMatchObject([{ role: 'assistant', toolCalls: [{ id: 'p3' }] }])
    expect(JSON.stringify(asked[1]?.messages)).toMatch(/done p1.*done p2/)
    agent.addMessage({ id: 'r3', role: 'tool', toolCallId: 'p3', content: '', error: 'no blue paint' })
    const third = await agent.runAgent({ tools: [paint] })
    expect(third.newMessages).toMatchObject([{ role: 'assistant', content: 'Painted.' }])
    expect(JSON.stringify(asked[2]?.messages)).toContain('no blue paint')
    const { body } = await call<{ data: { run_id: string }[] }>('GET', `/api/sessions/${thread}/messages`, { key })
    expect(new Set(body.data.map((message) => message.run_id)).size).toBe(1)
    // The same results again show the same part again.
    agent.setMessages(agent.messages.slice(0, -1))
    expect((await agent.runAgent({ tools: [paint] })).newMessages).toMatchObject([{ content: 'Painted.' }])
  })

  it('are given up when the person writes instead, and results of strange calls are refused', async () => {
    const { key } = await open([calls({ id: 'p1', name: 'paint', input: {} }), says('Not painted.')])
    const agent = connect(key, `thread-${crypto.randomUUID()}`)
    agent.addMessage({ id: '1', role: 'user', content: 'Paint it.' })
    await agent.runAgent({ tools: [paint] })
    const call1 = { id: 'other', type: 'function', function: { name: 'paint', arguments: '{}' } }
    const messages = [
      { role: 'assistant', toolCalls: [call1] },
      { role: 'tool', toolCallId: 'other', content: 'x' },
    ]
    const body = { threadId: agent.threadId, runId: 'r', messages, tools: [paint] }
    expect((await call('POST', '/ag-ui', { key, body })).status).toBe(400)
    agent.addMessage({ id: '2', role: 'user', content: 'Never mind.' })
    expect((await agent.runAgent({ tools: [paint] })).newMessages.at(-1)).toMatchObject({ content: 'Not painted.' })
  })
})

describe('the state of a client of AG-UI', () => {
  const change = (id: string, patch: readonly object[]) => calls({ id, name: 'update_state', input: { patch } })

  it('is read and changed by the agent, beside its own tools', async () => {
    const asked: ModelRequest[] = []
    const replies = [
      change('s1', [{ op: 'add', path: '/items/-', value: 'bread' }]),
      change('s2', [{ op: 'replace', path: '/missing', value: 1 }]),
      says('On the list.'),
    ]
    const { key } = await open((request, nth) => {
      asked.push(request)
      return replies[nth] ?? says('?')
    })
    const agent = connect(key, `thread-${crypto.randomUUID()}`)
    agent.setState({ items: ['milk'] })
    const context = [{ description: 'The shop', value: 'at the corner' }]
    agent.addMessage({ id: '1', role: 'user', content: 'Add bread.' })
    const { newMessages } = await agent.runAgent({ context })
    expect(agent.state).toEqual({ items: ['milk', 'bread'] })
    expect(newMessages.at(-1)).toMatchObject({ content: 'On the list.' })
    expect(JSON.stringify(asked[0]?.messages)).toMatch(/at the corner.*\{\\"items\\":\[\\"milk\\"\]\}/s)
    expect(names(asked[0] as ModelRequest)).toEqual(expect.arrayContaining(['update_state', 'read_file', 'terminal']))
    expect(JSON.stringify(asked[2]?.messages)).toContain('There is no /missing.')
  })

  it('is changed in one reply with calls of the client', async () => {
    const both = calls(
      { id: 's1', name: 'update_state', input: { patch: [{ op: 'replace', path: '/n', value: 2 }] } },
      { id: 'p1', name: 'paint', input: {} },
    )
    const { key } = await open([both, says('Both.')])
    const agent = connect(key, `thread-${crypto.randomUUID()}`)
    agent.setState({ n: 1 })
    agent.addMessage({ id: '1', role: 'user', content: 'Do both.' })
    await agent.runAgent({ tools: [paint] })
    expect(agent.state).toEqual({ n: 2 })
    agent.addMessage({ id: 'r1', role: 'tool', toolCallId: 'p1', content: 'painted' })
    expect((await agent.runAgent({ tools: [paint] })).newMessages).toMatchObject([{ content: 'Both.' }])
  })

  it('that is empty, or none, offers no tool', async () => {
    const asked: ModelRequest[] = []
    const { key } = await open((request) => {
      asked.push(request)
      return says('ok')
    })
    await ask(connect(key, `thread-${crypto.randomUUID()}`), 'hi')
    expect(names(asked[0] as ModelRequest)).not.toContain('update_state')
  })

  it.each([
    [{ state: { big: 'x'.repeat(60_000) } }, 'state'],
    [{ tools: [{ ...paint, name: 'not a name' }] }, 'tools'],
    [{ state: { a: 1 }, tools: [{ ...paint, name: 'update_state' }] }, 'tools'],
    [{ context: [{ description: 'x' }] }, 'context'],
  ])('refuses %o by name', async (more, param) => {
    const { key } = await newTenant()
    const body = { threadId: 'a', runId: 'b', messages: [{ role: 'user', content: 'x' }], ...more }
    const refused = await call<ErrorBody>('POST', '/ag-ui', { key, body })
    expect([refused.status, refused.body.error.param?.split('.')[0]]).toEqual([400, param])
  })
})

/** Tests `POST /ag-ui` with the official client of AG-UI: threads, tools, refusals, and the walls between tenants. */

import { HttpAgent } from '@ag-ui/client'
import { SELF } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { calls, fails, model, says } from '../support/scripted-model.ts'
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

/**
 * Tests that a key without the scope `read` opens only its own sessions, whatever names it knows, and that what a person
 * allows for a session holds for the turns of that person.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, model, type Reply, says, until } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newKey, newSession, newTenant, request } from './client.ts'
import type { Run } from './listen.ts'

beforeAll(applyMigrations)

const statusOf = async (id: string, key: string) => (await call('GET', `/api/sessions/${id}`, { key })).body['status']
const waits = (id: string, key: string) => until(async () => (await statusOf(id, key)) === 'waiting')
const chat = (id: string, key: string, input = 'go') =>
  call<Run & ErrorBody>('POST', `/api/sessions/${id}/chat`, { key, body: { input } })
const pendingIn = async (list: string, id: string, key: string) =>
  (await call<{ data: { id: string; session_id: string }[] }>('GET', `/api/${list}`, { key })).body.data.find(
    (one) => one.session_id === id,
  )?.id ?? ''

describe('a key without the scope read', () => {
  /** A session of one key in which a question waits, and the keys of others. */
  async function setUp() {
    const { id: tenant, key: reader } = await newTenant()
    const [own, other] = [await newKey(tenant, ['chat']), await newKey(tenant, ['chat', 'write', 'approve', 'jobs'])]
    const replies = [calls({ id: 'q', name: 'clarify', input: { question: 'Which?' } }), says('Done.'), says('Again.')]
    const { id } = await newSession({ model: model(replies).id }, own)
    const run = chat(id, own)
    await waits(id, reader)
    return { id, reader, own, other, run, question: await pendingIn('questions', id, reader) }
  }

  it.each<[string, (id: string, question: string) => readonly [string, string, object?]]>([
    ['sends no message', (id) => ['POST', `/api/sessions/${id}/chat`, { input: 'x' }]],
    ['streams no message', (id) => ['POST', `/api/sessions/${id}/chat/stream`, { input: 'x' }]],
    ['steers nothing', (id) => ['POST', `/api/sessions/${id}/steer`, { input: 'x' }]],
    ['stops nothing', (id) => ['POST', `/api/sessions/${id}/stop`, {}]],
    ['repeats nothing', (id) => ['POST', `/api/sessions/${id}/retry`, {}]],
    ['undoes nothing', (id) => ['POST', `/api/sessions/${id}/undo`, { n: 1 }]],
    ['compresses nothing', (id) => ['POST', `/api/sessions/${id}/compress`, {}]],
    ['sets no goal', (id) => ['PUT', `/api/sessions/${id}/goal`, { text: 'x' }]],
    ['changes no goal', (id) => ['PATCH', `/api/sessions/${id}/goal`, { gates: ['x'] }]],
    ['changes no settings', (id) => ['PATCH', `/api/sessions/${id}`, { title: 'x' }]],
    ['writes no file', (id) => ['PUT', `/api/sessions/${id}/files/AGENTS.md`, { text: 'x' }]],
    ['deletes nothing', (id) => ['DELETE', `/api/sessions/${id}`]],
    ['forks nothing', (id) => ['POST', `/api/sessions/${id}/fork`, {}]],
    ['answers no question', (_id, question) => ['POST', `/api/questions/${question}`, { answer: 'x' }]],
  ])('%s in a session of another one', async (_what, ask) => {
    const { id, reader, own, other, run, question } = await setUp()
    const [method, path, body] = ask(id, question)
    const refused = await request(method, path, { key: other, ...(body && { body }) })
    expect([method, path, refused.status]).toEqual([method, path, 404])
    expect(await statusOf(id, reader)).toBe('waiting')
    expect((await call('POST', `/api/questions/${question}`, { key: own, body: { answer: 'x' } })).status).toBe(200)
    expect((await run).body.output).toBe('Done.')
    expect((await chat(id, reader)).body.output).toBe('Again.')
  })

  it('decides approvals of every session, with the scope for it', async () => {
    const { id: tenant, key } = await newTenant()
    const approver = await newKey(tenant, ['approve'])
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' } } })
    const risky = calls({ name: 'terminal', input: { command: 'rm -rf src' } })
    const { id } = await newSession({ model: model([risky, says('Done.')]).id }, key)
    const run = chat(id, key)
    await waits(id, key)
    const pending = await pendingIn('approvals', id, key)
    const body = { decision: 'deny' }
    expect((await call('POST', `/api/approvals/${pending}`, { key: approver, body })).status).toBe(200)
    expect((await run).body.output).toBe('Done.')
  })

  it('gets no session of another one by its name', async () => {
    const { id: tenant } = await newTenant()
    const [one, other] = [await newKey(tenant, ['chat']), await newKey(tenant, ['chat'])]
    const scripted = model([says('Hello.'), says('Hello.')])
    const body = { model: scripted.id, messages: [{ role: 'user', content: 'hi' }] }
    const headers = { 'x-talaria-session-id': 'shared-name' }
    const ask = (key: string) => request('POST', '/v1/chat/completions', { key, body, headers })
    expect((await ask(one)).status).toBe(200)
    expect((await ask(one)).status).toBe(200)
    expect((await ask(other)).status).toBe(404)
  })
})

describe('a call that was allowed for the session', () => {
  const risky = (): Reply => calls({ name: 'terminal', input: { command: 'rm -rf src' } })

  it('runs again in the turns of the key that was asked, and not in those of another one', async () => {
    const { id: tenant, key } = await newTenant()
    const other = await newKey(tenant, ['chat', 'read', 'approve'])
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' } } })
    const replies = [risky(), says('One.'), risky(), says('Two.'), risky(), says('Three.')]
    const { id } = await newSession({ model: model(replies).id }, key)
    const first = chat(id, key)
    await waits(id, key)
    const body = { decision: 'session' }
    await call('POST', `/api/approvals/${await pendingIn('approvals', id, key)}`, { key, body })
    expect((await first).body.output).toBe('One.')
    expect((await chat(id, key)).body.output).toBe('Two.')
    const third = chat(id, other)
    await waits(id, key)
    await call('POST', `/api/approvals/${await pendingIn('approvals', id, key)}`, { key, body: { decision: 'deny' } })
    expect((await third).body.output).toBe('Three.')
  })
})

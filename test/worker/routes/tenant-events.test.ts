/** Tests the events of a tenant: what lists and inboxes of several tabs learn without asking. */

import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { runInDurableObject } from 'cloudflare:test'
import type { TenantDO } from '#durable/tenant/tenant-object.ts'
import { deployment } from '../../support/deployment.ts'
import { calls, Gate, model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, bindings, call, newKey, newSession, newTenant, request } from '../client.ts'

beforeAll(applyMigrations)

type Event = { readonly type: string; readonly at: string; readonly [more: string]: unknown }
type Listener = { readonly events: Event[]; readonly close: () => void; closed?: CloseEvent | true }

async function listenBySocket(key: string): Promise<Listener> {
  const { webSocket: socket, status } = await request('GET', '/api/events', { key, headers: { upgrade: 'websocket' } })
  if (!socket) throw new Error(`No socket, but ${status}.`)
  const listener: Listener = { events: [], close: () => socket.close(1000) }
  socket.addEventListener('message', ({ data }) => void listener.events.push(JSON.parse(String(data)) as Event))
  socket.addEventListener('close', (event) => void (listener.closed = event))
  socket.accept()
  return listener
}

async function listenByStream(key: string): Promise<Listener> {
  const response = await request('GET', '/api/events', { key })
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  const listener: Listener = { events: [], close: () => void reader?.cancel().catch(() => undefined) }
  const read = async () => {
    let open = ''
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
      const frames = `${open}${part.value}`.split('\n\n')
      open = frames.pop() ?? ''
      for (const frame of frames) {
        const [, name, data] = /^event: (\S+)\ndata: (.*)$/m.exec(frame) ?? []
        if (name && data) listener.events.push(JSON.parse(data) as Event)
      }
    }
    listener.closed = true
  }
  void read().catch(() => undefined)
  return listener
}

const find = (listener: Listener, type: string, fields: object = {}) =>
  until(() =>
    listener.events.find((event) => event.type === type && Object.entries(fields).every(([k, v]) => event[k] === v)),
  )
const chat = (key: string, id: string) =>
  call<{ run_id: string }>('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go', wait: false } })

describe('events of a tenant', () => {
  it.each([
    ['a WebSocket', listenBySocket],
    ['server-sent events', listenByStream],
  ])('over %s tell that a session is new, runs, ends, is renamed and goes', async (_, listen) => {
    const { key } = await newTenant()
    const listener = await listen(key)
    const gate = new Gate()
    const { id } = await newSession({ title: 'First', model: model([says('a', gate, 'b')]).id }, key)
    await find(listener, 'session.changed', { id, status: 'idle', title: 'First', source: 'api' })
    const { body: run } = await chat(key, id)
    await find(listener, 'session.changed', { id, status: 'running' })
    gate.open()
    const ended = await find(listener, 'run.ended', { session_id: id, run_id: run.run_id })
    expect(ended).toMatchObject({ status: 'completed', exit_reason: 'answered', at: expect.any(String) })
    await until(() => listener.events.findLast((event) => event['id'] === id)?.['status'] === 'idle')
    await call('PATCH', `/api/sessions/${id}`, { key, body: { title: 'Second' } })
    await find(listener, 'session.changed', { id, title: 'Second' })
    await call('DELETE', `/api/sessions/${id}`, { key })
    await find(listener, 'session.removed', { id })
    listener.close()
  })

  it('tell whoever begins to listen after a time without listeners that a session is renamed, archived and goes', async () => {
    const { key } = await newTenant()
    const { id } = await newSession({ title: 'First', model: model([says('a')]).id }, key)
    const { body: run } = await chat(key, id)
    await until(
      async () => (await call<{ exit_reason: unknown }>('GET', `/v1/runs/${run.run_id}`, { key })).body.exit_reason,
    )
    // The session learns from this that nobody listens.
    await call('PATCH', `/api/sessions/${id}`, { key, body: { title: 'Unheard' } })
    const listener = await listenBySocket(key)
    await call('PATCH', `/api/sessions/${id}`, { key, body: { title: 'Second' } })
    expect(await find(listener, 'session.changed', { id, title: 'Second' })).toBeDefined()
    const before = listener.events.length
    await call('PATCH', `/api/sessions/${id}`, { key, body: { archived: true } })
    await until(() => listener.events.length > before)
    await call('DELETE', `/api/sessions/${id}`, { key })
    await find(listener, 'session.removed', { id })
    listener.close()
  })

  it('bring approvals and questions to all who listen, and when they are answered', async () => {
    const { key } = await newTenant()
    const [one, other] = [await listenBySocket(key), await listenBySocket(key)]
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' } } })
    const asks = calls({ id: 'c', name: 'terminal', input: { command: 'rm -rf x' } })
    const wonders = calls({ id: 'q', name: 'clarify', input: { question: 'Which?', choices: ['a', 'b'] } })
    const { id } = await newSession({ model: model([asks, wonders, says('done')]).id }, key)
    await chat(key, id)
    const asked = await find(one, 'approval.request', { session_id: id })
    expect(asked).toMatchObject({ tool: 'terminal', input: { command: 'rm -rf x' }, rule: 'rm' })
    await find(one, 'session.changed', { id, status: 'waiting' })
    const approval = String(asked['approval_id'])
    expect((await call('POST', `/api/approvals/${approval}`, { key, body: { decision: 'deny' } })).status).toBe(200)
    await find(other, 'approval.responded', { approval_id: approval })
    const question = await find(other, 'question.request', { question: 'Which?' })
    const path = `/api/questions/${String(question['question_id'])}`
    expect((await call('POST', path, { key, body: { answer: 'a' } })).status).toBe(200)
    await find(one, 'question.answered', { question_id: question['question_id'] })
    await find(one, 'run.ended', { session_id: id })
    one.close()
    other.close()
  })

  it('reach nobody of another tenant, and end with the key', async () => {
    const [ours, theirs] = [await newTenant(), await newTenant()]
    const key = await newKey(ours.id, ['read'], { name: 'reader' })
    const [listener, stranger] = [await listenBySocket(key), await listenBySocket(theirs.key)]
    const { id } = await newSession({}, ours.key)
    await find(listener, 'session.changed', { id })
    const { id: own } = await newSession({}, theirs.key)
    await find(stranger, 'session.changed', { id: own })
    expect(stranger.events.filter((event) => event['id'] !== own)).toEqual([])
    const keyId = key.split('_')[1]
    await call('DELETE', `/api/admin/keys/${keyId}`)
    await until(() => listener.closed)
    expect(listener.closed).toMatchObject({ code: 4401, reason: 'key-revoked' })
    stranger.close()
    const writer = await newKey(ours.id, ['write'])
    expect((await request('GET', '/api/events', { key: writer })).status).toBe(403)
  })
})

describe('more sockets than one object holds', () => {
  afterEach(() => {
    delete deployment.maxEventSockets
  })

  async function listenOften(key: string, count: number) {
    deployment.maxEventSockets = 2
    const listeners: Listener[] = []
    for (let index = 0; index < count; index++) listeners.push(await listenBySocket(key))
    return listeners
  }
  const socketsOf = (name: string) =>
    runInDurableObject<TenantDO, number>(bindings.TENANT.getByName(name), (_, state) => state.getWebSockets().length)

  it('are held by relays, and all get every event once and in order', async () => {
    const { id: tenant, key } = await newTenant()
    const listeners = [...(await listenOften(key, 5)), await listenByStream(key)]
    const held = await Promise.all([`t/${tenant}`, `t/${tenant}/r/1`, `t/${tenant}/r/2`].map(socketsOf))
    expect(held).toEqual([2, 2, 2])
    const { id } = await newSession({ title: 'First' }, key)
    for (const title of ['a', 'b', 'c']) await call('PATCH', `/api/sessions/${id}`, { key, body: { title } })
    await call('DELETE', `/api/sessions/${id}`, { key })
    for (const listener of listeners) await find(listener, 'session.removed', { id })
    const [first] = listeners
    expect(new Set(first?.events.flatMap((event) => event['title'] ?? []))).toEqual(new Set(['First', 'a', 'b', 'c']))
    for (const listener of listeners) {
      expect(listener.events).toEqual(first?.events)
      listener.close()
    }
  })

  it('get events when those of the first object are closed', async () => {
    const { key } = await newTenant()
    const [one, two, relayed] = (await listenOften(key, 3)) as [Listener, Listener, Listener]
    one.close()
    two.close()
    await until(() => one.closed && two.closed)
    const { id } = await newSession({}, key)
    expect(await find(relayed, 'session.changed', { id })).toBeDefined()
    relayed.close()
  })

  it('close with a revoked key, and with the tenant until it is active again', async () => {
    const tenant = await newTenant()
    const key = await newKey(tenant.id, ['read'], { name: 'reader' })
    const [, , kept] = (await listenOften(tenant.key, 3)) as [Listener, Listener, Listener]
    const refused = await listenBySocket(key)
    expect(await socketsOf(`t/${tenant.id}/r/1`)).toBe(2)
    await call('DELETE', `/api/admin/keys/${key.split('_')[1]}`)
    await until(() => refused.closed)
    expect(refused.closed).toMatchObject({ code: 4401, reason: 'key-revoked' })
    expect(kept.closed).toBeUndefined()
    const path = `/api/admin/tenants/${tenant.id}`
    expect((await call('PATCH', path, { body: { status: 'suspended' } })).status).toBe(200)
    await until(() => kept.closed)
    expect(kept.closed).toMatchObject({ code: 4403, reason: 'tenant-suspended' })
    await call('PATCH', path, { body: { status: 'active' } })
    const again = await until(() => listenOften(tenant.key, 3).catch(() => undefined))
    const { id } = await newSession({}, tenant.key)
    for (const listener of again) await find(listener, 'session.changed', { id })
    for (const listener of again) listener.close()
  })

  it('go to the next relay when one has less room than was known', async () => {
    const { id: tenant, key } = await newTenant()
    await listenOften(key, 4)
    await runInDurableObject<TenantDO, void>(bindings.TENANT.getByName(`t/${tenant}`), (_, { storage }) => {
      storage.sql.exec("UPDATE kept SET body = replace(body, '\"sockets\":2', '\"sockets\":0') WHERE name = 'relays'")
    })
    await listenBySocket(key)
    expect(await socketsOf(`t/${tenant}/r/2`)).toBe(1)
  })
})

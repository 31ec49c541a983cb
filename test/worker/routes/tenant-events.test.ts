/** Tests the events of a tenant: what lists and inboxes of several tabs learn without asking. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, Gate, model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request } from '../client.ts'

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

/** Tests that a request repeated with its Idempotency-Key does its work only once. */

import { beforeAll, describe, expect, it } from 'vitest'
import { Gate, hangs, model, says, until } from '../support/scripted-model.ts'
import { call, applyMigrations, newKey, newSession, newTenant, type ErrorBody, request } from './client.ts'

beforeAll(applyMigrations)

type Answer = ErrorBody & { readonly id: string; readonly run_id: string; readonly created: number }

const sender =
  (key: string) =>
  (path: string, body: object, idempotencyKey: string, headers: Readonly<Record<string, string>> = {}) =>
    call<Answer>('POST', path, { key, body, headers: { 'idempotency-key': idempotencyKey, ...headers } })

const hello = [{ role: 'user', content: 'hello' }]

describe('when the only place of concurrent_turns is taken', () => {
  /** A tenant with one place, and what takes it until it is answered. */
  async function full() {
    const { id: tenant, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { limits: { concurrent_turns: 1 } } })
    const gate = new Gate()
    const busy = await newSession({ model: model(() => hangs(gate)).id }, key)
    const take = async () => {
      // The turn before gives its place back a moment after its answer.
      const steer = () => call('POST', `/api/sessions/${busy.id}/steer`, { key, body: { input: 'go' } })
      await until(async () => (await steer()).status === 202)
      await gate.waitUntilReached()
    }
    return { key, take, send: sender(key) }
  }

  it.each([
    ['/v1/chat/completions', (id: string) => ({ model: id, messages: hello })],
    ['/v1/responses', (id: string) => ({ model: id, input: 'hello' })],
  ])('a repeat of %s gets the stored answer', async (path, bodyFor) => {
    const { take, send } = await full()
    const scripted = model([says('one'), says('two')])
    const first = await send(path, bodyFor(scripted.id), 'k')
    await take()
    const again = await send(path, bodyFor(scripted.id), 'k')
    expect([again.status, again.body.id]).toEqual([200, first.body.id])
    expect(scripted.requests).toHaveLength(1)
  })

  it('a repeated retry undoes nothing and frees no place', async () => {
    const { key, take, send } = await full()
    const scripted = model([says('one'), says('two'), says('three')])
    const { id } = await newSession({ model: scripted.id }, key)
    await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hello' } })
    const first = await send(`/api/sessions/${id}/retry`, {}, 'k')
    await until(async () => (await call('GET', `/api/sessions/${id}`, { key })).body['status'] === 'idle')
    await take()
    const again = await send(`/api/sessions/${id}/retry`, {}, 'k')
    expect([again.status, again.body.run_id]).toEqual([202, first.body.run_id])
    expect(scripted.requests).toHaveLength(2)
    const refused = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'more' } })
    expect(refused.status).toBe(429)
  })
})

it('an Idempotency-Key belongs to the key that has used it', async () => {
  const { id: tenant, key } = await newTenant()
  const other = await newKey(tenant, ['chat', 'read', 'write'])
  const create = (by: string, title: string) => sender(by)('/api/sessions', { title }, 'shared')
  const [mine, theirs] = [await create(key, 'mine'), await create(other, 'theirs')]
  expect([mine.status, theirs.status]).toEqual([201, 201])
  expect(theirs.body.id).not.toBe(mine.body.id)
  expect((await create(key, 'mine')).body.id).toBe(mine.body.id)
})

describe('a refused request releases its key:', () => {
  it('steering with an empty message', async () => {
    const { key } = await newTenant()
    const { id } = await newSession({ model: model([]).id }, key)
    const steer = (input: string) => sender(key)(`/api/sessions/${id}/steer`, { input }, 'k')
    expect([(await steer('')).status, (await steer('really')).status]).toEqual([400, 202])
  })

  it('a completion of a session whose id is none', async () => {
    const { key } = await newTenant()
    const complete = (content: string) =>
      sender(key)('/v1/chat/completions', { messages: [{ role: 'user', content }] }, 'k', {
        'x-talaria-session-id': 'a/b',
      })
    expect([(await complete('one')).status, (await complete('two')).status]).toEqual([404, 404])
  })

  it('a response of a model that is not there', async () => {
    const { key } = await newTenant()
    const respond = (body: object) => sender(key)('/v1/responses', { model: model([]).id, input: 'hi', ...body }, 'k')
    expect((await respond({ model: 'none/m' })).status).toBe(404)
    const first = await respond({})
    expect(first.status).toBe(200)
  })

  it('a fork over limits.storage_bytes, and one of a session that is gone', async () => {
    const { id: tenant, key } = await newTenant()
    const { id } = await newSession({ model: model([]).id }, key)
    await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hi' } })
    const limit = (limits: object) => call('PATCH', `/api/admin/tenants/${tenant}`, { body: { limits } })
    const fork = (of: string, title: string) => sender(key)(`/api/sessions/${of}/fork`, { title }, 'k')
    await limit({ storage_bytes: 1 })
    expect((await fork(id, 'one')).status).toBe(429)
    await limit({})
    expect((await fork(id, 'two')).status).toBe(201)
    expect([(await fork('ses_none', 'one')).status, (await fork('ses_none', 'two')).status]).toEqual([404, 404])
  })
})

it('a repeated fork returns its session, also after the original was deleted', async () => {
  const { key } = await newTenant()
  const { id } = await newSession({ model: model([]).id }, key)
  const fork = () => sender(key)(`/api/sessions/${id}/fork`, { title: 'Copy' }, 'k')
  const first = await fork()
  await call('DELETE', `/api/sessions/${id}`, { key })
  const again = await fork()
  expect([again.status, again.body.id]).toEqual([201, first.body.id])
  expect(again.headers.get('idempotency-replayed')).toBe('true')
})

describe('a completion', () => {
  const complete = (key: string, id: string, headers: Readonly<Record<string, string>> = {}, more: object = {}) =>
    sender(key)('/v1/chat/completions', { model: id, messages: hello, ...more }, 'k', headers)

  it('has the start time of its run in every repeat', async () => {
    const { key } = await newTenant()
    const scripted = model([says('one')])
    const first = await complete(key, scripted.id)
    await until(() => Math.floor(Date.now() / 1_000) > first.body.created)
    expect((await complete(key, scripted.id)).body).toEqual(first.body)
  })

  it('that is streamed has it too', async () => {
    const { key } = await newTenant()
    const body = { model: model([says('one')]).id, messages: hello, stream: true }
    const ask = async () =>
      (await request('POST', '/v1/chat/completions', { key, body, headers: { 'idempotency-key': 'k' } })).text()
    const first = await ask()
    await until(() => Math.floor(Date.now() / 1_000) > Number(/"created":(\d+)/.exec(first)?.[1]))
    expect(await ask()).toBe(first)
  })

  it('of another session is another request', async () => {
    const { key } = await newTenant()
    const scripted = model([])
    const sessions = [await newSession({}, key), await newSession({}, key)]
    const [one, two] = sessions.map(({ id }) => ({ 'x-talaria-session-id': id }))
    expect((await complete(key, scripted.id, one)).status).toBe(200)
    const other = await complete(key, scripted.id, two)
    expect([other.status, other.body.error?.code]).toEqual([409, 'idempotency_key_conflict'])
    expect((await complete(key, scripted.id)).status).toBe(409)
    expect((await complete(key, scripted.id, one)).headers.get('idempotency-replayed')).toBe('true')
  })
})

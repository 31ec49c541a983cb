/** A request that is sent again with its Idempotency-Key: whatever happened meanwhile, its work is done once. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, model, says, until } from '../support/scripted-model.ts'
import { call, migrated, newSession, newTenant, type Problem } from './client.ts'

beforeAll(migrated)

type Answer = Problem & { readonly id: string; readonly run_id: string; readonly created: number }

const sender =
  (key: string) =>
  (path: string, body: object, idempotencyKey: string, headers: Readonly<Record<string, string>> = {}) =>
    call<Answer>('POST', path, { key, body, headers: { 'idempotency-key': idempotencyKey, ...headers } })

const hello = [{ role: 'user', content: 'hello' }]

describe('where the only place of concurrent_turns is taken', () => {
  /** A tenant with one place, and what takes it until it is answered. */
  async function full() {
    const { id: tenant, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${tenant}`, { body: { limits: { concurrent_turns: 1 } } })
    const asks = model([calls({ id: 'q', name: 'clarify', input: { question: '?' } })])
    const busy = await newSession({ model: asks.id }, key)
    const take = async () => {
      // The turn before gives its place back a moment after its answer.
      const steer = () => call('POST', `/api/sessions/${busy.id}/steer`, { key, body: { input: 'go' } })
      await until(async () => (await steer()).status === 202)
      await until(async () => (await call('GET', `/api/sessions/${busy.id}`, { key })).body['status'] === 'waiting')
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
    expect(scripted.asked).toHaveLength(1)
  })

  it('a repeat of a retry takes nothing back and frees no place', async () => {
    const { key, take, send } = await full()
    const scripted = model([says('one'), says('two'), says('three')])
    const { id } = await newSession({ model: scripted.id }, key)
    await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hello' } })
    const first = await send(`/api/sessions/${id}/retry`, {}, 'k')
    await until(async () => (await call('GET', `/api/sessions/${id}`, { key })).body['status'] === 'idle')
    await take()
    const again = await send(`/api/sessions/${id}/retry`, {}, 'k')
    expect([again.status, again.body.run_id]).toEqual([202, first.body.run_id])
    expect(scripted.asked).toHaveLength(2)
    const refused = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'more' } })
    expect(refused.status).toBe(429)
  })
})

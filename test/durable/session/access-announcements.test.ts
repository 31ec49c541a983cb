/** Tests that a busy session asks for its access once, is told about changes, and does without when it cannot be told. */

import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { fullAccess } from '#agent/core/permission/access.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import { SessionTenant } from '#durable/tenant/session-tenant.ts'
import { ownerAuthority } from '../../support/authority.ts'
import { requestsOf } from '../../support/billed-requests.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { Gate, model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, bindings, call, newSession, newTenant, request } from '../../worker/client.ts'
import { readEvents, type Run } from '../../worker/listen.ts'
import { objectOf } from '../support/object.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

const watch = 'TENANT.access.watchWhileBusy'

async function startLongTurn() {
  const clock = createSkippingClock()
  replaceClock(clock)
  const tenant = await newTenant()
  const body = { tenant_id: tenant.id, scopes: ['chat', 'read', 'write'] }
  const { body: other } = await call<{ id: string; key: string }>('POST', '/api/admin/keys', { body })
  const gate = new Gate()
  const { id } = await newSession({ model: model([says('one ', gate, 'two'), says('next')]).id }, tenant.key)
  const requests = requestsOf(tenant.id)
  requests.clear()
  const open = request('POST', `/api/sessions/${id}/chat/stream`, { key: other.key, body: { input: 'go' } })
  const listener = readEvents(await open)
  await gate.waitUntilReached()
  clock.pass(1_500)
  await until(() => requests.get(watch))
  const stub = bindings.TENANT.getByName(`t/${tenant.id}`)
  const lastRun = async () => {
    const { data } = (await call<{ data: { run_id: string }[] }>('GET', `/api/sessions/${id}/messages`, tenant)).body
    return (await call<Run>('GET', `/api/sessions/${id}/runs/${data.at(-1)?.run_id}`, tenant)).body
  }
  return { requests, clock, tenant, key: other, id, gate, listener, stub, lastRun }
}

describe('a long turn', () => {
  it('is registered once, and ends at once when its key is revoked elsewhere', async () => {
    const { requests, clock, key, listener, stub, lastRun } = await startLongTurn()
    clock.pass(400_000)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(requests.get(watch)).toBe(1)
    const at = clock.now()
    await stub.access.revokeKey(ownerAuthority(), key.id)
    await listener.waitForClose()
    expect(clock.now() - at).toBeLessThan(2_000)
    expect(await until(async () => (await lastRun()).exit_reason)).toBe('key_revoked')
  })

  it('renews its registration before that ends', async () => {
    const { requests, clock, gate, listener } = await startLongTurn()
    clock.pass(601_000)
    expect(await until(() => requests.get(watch) === 2)).toBe(true)
    gate.open()
    await listener.waitForClose()
  })

  it('that is over needs no report: the next announcement drops it', async () => {
    const { key, id, tenant, gate, listener, stub } = await startLongTurn()
    gate.open()
    await listener.waitForClose()
    await until(async () => (await objectOf(id, tenant.id).info.status(ownerAuthority(tenant.id))) === 'idle')
    expect(await stub.access.watchers()).toEqual([id])
    await stub.access.revokeKey(ownerAuthority(), key.id)
    expect(await stub.access.watchers()).toEqual([])
  })

  it('publishes its end to those who begin to listen while it runs', async () => {
    const { tenant, gate, listener, id } = await startLongTurn()
    const { webSocket } = await request('GET', '/api/events', { key: tenant.key, headers: { upgrade: 'websocket' } })
    const events: string[] = []
    webSocket?.addEventListener('message', ({ data }) => void events.push(String(data)))
    webSocket?.accept()
    await new Promise((resolve) => setTimeout(resolve, 100))
    gate.open()
    await listener.waitForClose()
    expect(await until(() => events.find((event) => event.includes('run.ended')))).toContain(id)
    webSocket?.close()
  })

  it('ends although the first announcement fails', async () => {
    const { clock, id, key, tenant, listener, stub } = await startLongTurn()
    await runInDurableObject<SessionDO, void>(objectOf(id, tenant.id), (object) => {
      Object.defineProperty(object, 'access', {
        configurable: true,
        value: { change: () => Promise.reject(new Error('overloaded')) },
      })
    })
    await stub.access.revokeKey(ownerAuthority(), key.id)
    await runInDurableObject<SessionDO, void>(objectOf(id, tenant.id), (object) => {
      Reflect.deleteProperty(object, 'access')
    })
    clock.pass(2_000)
    const isClosed = until(async () => {
      await runDurableObjectAlarm(stub)
      return listener.isClosed
    })
    expect(await isClosed).toBe(true)
  })
})

it('a tenant object of the release before is asked for its snapshot instead', async () => {
  const clock = createSkippingClock()
  replaceClock(clock)
  const tenant = await newTenant()
  const unknown = () => Promise.reject(new TypeError('The RPC receiver does not implement "watchWhileBusy".'))
  const known = new SessionTenant(bindings as unknown as Env, tenant.id, { watchAccess: unknown })
  await known.refreshAccess()
  expect(known.access).toMatchObject(fullAccess)
  await bindings.TENANT.getByName(`t/${tenant.id}`).access.setStatus(ownerAuthority(), 'suspended')
  clock.pass(1_500)
  expect(known.isAccessStale).toBe(true)
  await known.refreshAccess()
  expect(known.access.status).toBe('suspended')
})

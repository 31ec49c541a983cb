/** Tests that inactive sessions are deleted after the days that a tenant has set, and no others. */

import { runDurableObjectAlarm } from 'cloudflare:test'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { createSkippingClock } from '../../support/clock.ts'
import { model, until } from '../../support/scripted-model.ts'
import { applyMigrations, bindings, call, newSession, newTenant } from '../../worker/client.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

const dayMs = 86_400_000

it('deletes sessions that were inactive for so long, but not those that work by themselves', async () => {
  const clock = createSkippingClock()
  replaceClock(clock)
  const { id, key } = await newTenant()
  const scripted = model([])
  const make = async (input: string) => {
    const session = await newSession({ model: scripted.id }, key)
    await call('POST', `/api/sessions/${session.id}/chat`, { key, body: { input } })
    return session.id
  }
  const [old, beating] = [await make('hello'), await make('/heartbeat every 30d Look')]
  clock.pass(8 * dayMs)
  const recent = await make('hello again')
  const exists = async (session: string) => (await call('GET', `/api/sessions/${session}`, { key })).status === 200
  const ring = () => runDurableObjectAlarm(bindings.TENANT.getByName(`t/${id}`))
  await ring()
  expect(await exists(old)).toBe(true)
  await call('PATCH', '/api/settings', { key, body: { sessions: { retention_days: 7 } } })
  forgetSnapshot(id)
  await until(async () => {
    await ring()
    return !(await exists(old))
  })
  expect([await exists(recent), await exists(beating)]).toEqual([true, true])
  const { body } = await call<{ data: { id: string }[] }>('GET', '/api/sessions', { key })
  expect(body.data.map((session) => session.id)).not.toContain(old)
  clock.pass(9 * dayMs)
  await until(async () => {
    await ring()
    return !(await exists(recent))
  })
  expect(await exists(beating)).toBe(true)
})

/** Tests what a long turn costs: requests to objects and rows of alarms (docs/design/durable.md). */

import { runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import { requestsOf } from '../../support/billed-requests.ts'
import type { BilledRows } from '../../support/billed-rows.ts'
import { createSkippingClock, type SkippingClock } from '../../support/clock.ts'
import { calls, Gate, model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, newSession, newTenant, request } from '../../worker/client.ts'
import { readEvents } from '../../worker/listen.ts'
import { objectOf } from '../support/object.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

const todo = (n: number) =>
  calls({ name: 'todo', input: { todos: [{ id: `${n}`, content: 'x', status: 'pending' }] } }) as readonly string[]

const billed = (id: string, tenantId: string) =>
  runInDurableObject(objectOf(id, tenantId), (object) =>
    (object as SessionDO & { readonly billedRows: () => BilledRows }).billedRows(),
  )

const alarmOf = (id: string, tenantId: string) =>
  runInDurableObject(objectOf(id, tenantId), (_object, { storage }) => storage.getAlarm())

/** Lets `seconds` of a turn pass, in steps of 500 ms. */
async function pass(clock: SkippingClock, seconds: number) {
  for (let step = 0; step < seconds * 2; step++) {
    clock.pass(500)
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}

it('a turn of 30 s with three model calls and two tools asks the objects twice', async () => {
  const clock = createSkippingClock()
  replaceClock(clock)
  const tenant = await newTenant()
  const gates = [new Gate(), new Gate(), new Gate()] as const
  const scripted = model([[gates[0], ...todo(1)], [gates[1], ...todo(2)], says('a', gates[2], 'b'), says('again')])
  const { id } = await newSession({ model: scripted.id }, tenant.key)
  const send = () => request('POST', `/api/sessions/${id}/chat/stream`, { key: tenant.key, body: { input: 'go' } })
  await until(async () => (await alarmOf(id, tenant.id)) === null)
  const created = (await billed(id, tenant.id)).alarms
  const requests = requestsOf(tenant.id)
  requests.clear()
  const listener = readEvents(await send())
  for (const gate of gates) {
    await gate.waitUntilReached()
    await pass(clock, 10)
    gate.open()
  }
  await listener.waitForClose()
  // The alarm of the lease is not counted: it follows the clock of the platform.
  expect(Object.fromEntries(requests)).toEqual({ 'SESSION.fetch': 1, 'TENANT.access.watchWhileBusy': 1 })
  await until(async () => (await alarmOf(id, tenant.id)) === null)
  const first = (await billed(id, tenant.id)).alarms
  await readEvents(await send()).waitForClose()
  // A turn that follows at once is sent to history a second after the one before.
  await pass(clock, 1)
  await until(async () => (await alarmOf(id, tenant.id)) === null)
  const second = (await billed(id, tenant.id)).alarms - first
  // One sets the lease, one deletes the alarm.
  expect([first - created, second]).toEqual([2, 2])
})

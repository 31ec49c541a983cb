/** Tests the alarm of a tenant's object with an additional part that has a due time. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { until } from '../../support/scripted-model.ts'
import { bindings } from '../../worker/client.ts'
import type { TenantWithJobs } from './fake-jobs.ts'

const { TENANT_WITH_JOBS: tenants } = bindings as unknown as {
  readonly TENANT_WITH_JOBS: DurableObjectNamespace<TenantWithJobs>
}
let names = 0
const newTenant = () => tenants.getByName(`t/jobs-${++names}`)
type Stub = ReturnType<typeof newTenant>

const hourMs = 3_600_000
const armedAt = (tenant: Stub) => runInDurableObject(tenant, (_object, { storage }) => storage.getAlarm())

/** An alarm that is due now may have begun by itself. */
const ranAtLast = (tenant: Stub, name: string) => until(async () => (await tenant.fakeJobs.listRuns()).at(-1) === name)

afterEach(() => replaceClock())

it('is set to the earliest job and runs the due ones', async () => {
  const tenant = newTenant()
  const later = Date.now() + hourMs
  await tenant.fakeJobs.create({ name: 'later', at: later })
  expect(await armedAt(tenant)).toBe(later)
  await tenant.fakeJobs.create({ name: 'now', at: Date.now() })
  await runDurableObjectAlarm(tenant)
  await ranAtLast(tenant, 'now')
  expect(await tenant.fakeJobs.listRuns()).toEqual(['now'])
  expect(await armedAt(tenant)).toBe(later)
  replaceClock({ now: () => later, wait: async () => undefined, schedule: () => () => undefined })
  await runDurableObjectAlarm(tenant)
  expect(await tenant.fakeJobs.listRuns()).toEqual(['now', 'later'])
})

it('is deleted with the last job', async () => {
  const tenant = newTenant()
  await tenant.fakeJobs.create({ name: 'later', at: Date.now() + hourMs })
  await tenant.fakeJobs.delete('later')
  expect(await armedAt(tenant)).toBeNull()
})

it('survives an eviction', async () => {
  const tenant = newTenant()
  const at = Date.now() + hourMs
  await tenant.fakeJobs.create({ name: 'one', at })
  await evictDurableObject(tenant)
  expect(await armedAt(tenant)).toBe(at)
  await tenant.fakeJobs.create({ name: 'two', at: at + 1 })
  expect(await armedAt(tenant)).toBe(at)
})

it('waits before it retries a part that failed', async () => {
  const tenant = newTenant()
  await tenant.fakeJobs.create({ name: 'broken', at: Date.now() })
  await runDurableObjectAlarm(tenant)
  await until(async () => ((await armedAt(tenant)) ?? 0) > Date.now() + 1_000)
  await tenant.fakeJobs.delete('broken')
  expect(await armedAt(tenant)).toBeNull()
})

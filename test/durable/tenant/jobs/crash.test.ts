/** Tests that an end of the tenant's object or of a session at any moment leaves one record for a slot, and one result. */

import { evictDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { armFailpoints } from '#durable/platform/failpoint.ts'
import { Gate, hangs, model, says, until } from '#test/support/scripted-model.ts'
import { applyMigrations, call, newSession } from '#test/worker/client.ts'
import { hourMs, jobTenant, tenantOf } from './support.ts'

beforeAll(applyMigrations)
afterEach(() => {
  replaceClock()
  armFailpoints('')
})

it('while due: the job runs once when the object wakes', async () => {
  const t = await jobTenant()
  const scripted = model([says('done')])
  const job = await t.create({ prompt: 'Report.', schedule: 'every 1h', model: scripted.id })
  t.clock.pass(hourMs)
  await evictDurableObject(tenantOf(t.id))
  await t.wake()
  expect((await t.ended(job.id)).map(({ status }) => status)).toEqual(['completed'])
  expect(scripted.requests).toHaveLength(1)
})

it('CR4: while claimed: the next time is stored already, and the slot has one run', async () => {
  const t = await jobTenant()
  armFailpoints('job-claimed=throw')
  const scripted = model([says('done')])
  const job = await t.create({ prompt: 'Report.', schedule: 'every 1h', model: scripted.id })
  await t.pass(hourMs)
  expect((await t.runsOf(job.id)).map(({ status }) => status)).toEqual(['claimed'])
  expect(Date.parse((await t.jobOf(job.id)).next_run_at ?? '')).toBeGreaterThan(t.clock.now())
  await evictDurableObject(tenantOf(t.id))
  await t.pass(20_000)
  expect((await t.ended(job.id)).map(({ status }) => status)).toEqual(['completed'])
  expect(scripted.requests).toHaveLength(1)
})

it('CR5: while running: a second look finds the same run, and the model is asked once', async () => {
  const t = await jobTenant()
  const gate = new Gate()
  const scripted = model([hangs(gate)])
  const job = await t.create({ prompt: 'Report.', schedule: 'every 1h', model: scripted.id })
  await t.pass(hourMs)
  await gate.waitUntilReached()
  await evictDurableObject(tenantOf(t.id))
  const again = await t.post(`/api/jobs/${job.id}/run`)
  expect(again.status).toBe(409)
  gate.open()
  await until(async () => {
    await t.pass(20_000)
    return (await t.runsOf(job.id))[0]?.status === 'completed'
  })
  expect((await t.runsOf(job.id)).map(({ output }) => output)).toEqual(['released'])
  expect(scripted.requests).toHaveLength(1)
})

it('while delivering: the target has the result once', async () => {
  const t = await jobTenant()
  const { id: session } = await newSession({}, t.key)
  const job = await t.create({
    schedule: 'every 1h',
    script: 'echo result',
    no_agent: true,
    deliver: `session:${session}`,
  })
  armFailpoints('job-delivered=throw')
  await t.pass(hourMs)
  await t.ended(job.id)
  const results = async () => {
    const path = `/api/sessions/${session}/messages`
    const { body } = await call<{ data: { source?: string }[] }>('GET', path, { key: t.key })
    return body.data.filter(({ source }) => source === 'job').length
  }
  await until(async () => (await results()) === 1)
  await evictDurableObject(tenantOf(t.id))
  await t.pass(60_000)
  await t.pass(60_000)
  expect(await results()).toBe(1)
  expect((await t.runsOf(job.id))[0]).toMatchObject({ status: 'completed', delivery_error: null })
})

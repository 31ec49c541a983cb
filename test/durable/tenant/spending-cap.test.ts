/** Tests that parallel turns stay within the money limit of their tenant, also when objects are evicted or killed. */

import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { calls, model, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, bindings, call, newSession, newTenant } from '../../worker/client.ts'
import { objectOf } from '../support/object.ts'
import { isLong } from '#test/support/long.ts'

beforeAll(applyMigrations)
afterEach(() => void vi.restoreAllMocks())

const sessionCount = isLong ? 100 : 14
/** A call of the scripted model costs 0.01 for its 10 tokens of output; a lost one costs its prompt. */
const prices = { input: 2, cached_read: 0, output: 1_000 }
const maxCalls = 30

/** Starts a turn in each session, which would call the model ten times, under a limit of 30 calls together. */
async function startTurns() {
  const { id: tenantId, key } = await newTenant()
  const scripted = model((_asked, n) => (n % 10 === 9 ? says('done') : calls({ name: 'todo', input: {} })))
  const settings = {
    models: { [scripted.id]: { prices } },
    model: { default: scripted.id, max_tokens: 10 },
    limits: { usd_per_day: maxCalls * 0.01 },
  }
  await call('PATCH', '/api/settings', { key, body: settings })
  const ids = await Promise.all(Array.from({ length: sessionCount }, async () => (await newSession({}, key)).id))
  const start = (id: string) => call('POST', `/api/sessions/${id}/steer`, { key, body: { input: 'go' } })
  const started = await Promise.all(ids.map((id) => start(id).catch(() => undefined)))
  // On a busy machine the first turns may have spent all before the last ones begin.
  const refused = ids.filter((_id, at) => started[at]?.status === 429)
  const wake = (id: string) => runDurableObjectAlarm(objectOf(id, tenantId)).catch(() => undefined)
  const statusOf = async (id: string) => (await call('GET', `/api/sessions/${id}`, { key })).body['status']
  /** Rings the alarms until every session rests. */
  const finish = () =>
    until(async () => {
      const statuses = await Promise.all(ids.map((id) => statusOf(id).catch(() => 'away')))
      const open = ids.filter((_id, i) => statuses[i] !== 'idle')
      await Promise.all(open.map(wake))
      return open.length === 0
    })
  return { tenantId, key, ids, refused, scripted, finish }
}

const exitReasons = async (ids: readonly string[], refused: readonly string[], key: string) => {
  const reasons = await Promise.all(
    ids.map(async (id) => {
      const { body } = await call<{ data: { source?: string; content: string }[] }>(
        'GET',
        `/api/sessions/${id}/messages`,
        { key },
      )
      const isStopped = String(body.data.at(-1)?.content).includes('The limit usd_per_day is reached.')
      return isStopped || refused.includes(id) ? 'limit' : 'answered'
    }),
  )
  return Object.groupBy(reasons, (reason) => reason)
}

const tenantObject = (tenantId: string) => bindings.TENANT.getByName(`t/${tenantId}`)

describe(`${sessionCount} parallel turns at the limit of a day`, () => {
  it('make no more calls than the limit has room for', async () => {
    const { tenantId, key, ids, refused: early, scripted, finish } = await startTurns()
    await evictDurableObject(tenantObject(tenantId)).catch(() => undefined)
    await finish()
    expect(scripted.requests.length).toBe(maxCalls)
    const { limit = [], answered = [] } = await exitReasons(ids, early, key)
    expect([limit.length >= sessionCount - 10, limit.length + answered.length]).toEqual([true, sessionCount])
    const refused = await call('POST', `/api/sessions/${ids[0]}/chat`, { key, body: { input: 'more' } })
    expect([refused.status, refused.body]).toEqual([
      429,
      { error: expect.objectContaining({ code: 'limit_exceeded', param: 'usd_per_day' }) },
    ])
    const { body } = await call<{ limits: object[] }>('GET', '/api/usage', { key })
    expect(body.limits).toMatchObject([{ limit: 'usd_per_day', status: 'reached', reserved: 0 }])
  })

  it('exceed it by at most one call a session when sessions and the tenant are killed', async () => {
    for (const method of ['warn', 'error'] as const) vi.spyOn(console, method).mockImplementation(() => undefined)
    const { tenantId, key, ids, refused: early, scripted, finish } = await startTurns()
    const kill = (stub: DurableObjectStub) =>
      runInDurableObject(stub, (_object, state) => state.abort('killed by a test')).catch(() => undefined)
    let [kills, seed] = [0, 7]
    /** A linear congruential generator, so that every run kills the same sessions. */
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
    for (let round = 0; round < 6; round++) {
      const victims = ids.filter(() => random() < 0.15)
      kills += victims.length
      await Promise.all([...victims.map((id) => kill(objectOf(id, tenantId))), kill(tenantObject(tenantId))])
      await Promise.all(victims.map((id) => runDurableObjectAlarm(objectOf(id, tenantId)).catch(() => undefined)))
    }
    await finish()
    expect(kills).toBeGreaterThan(sessionCount / 2)
    // Some calls were lost with their answers, and count as their prompt.
    expect(scripted.requests.length).toBeLessThanOrEqual(maxCalls + sessionCount)
    const { limit = [] } = await exitReasons(ids, early, key)
    expect(limit.length).toBeGreaterThan(0)
    const before = scripted.requests.length
    const refused = await call('POST', `/api/sessions/${ids[1]}/chat`, { key, body: { input: 'more' } })
    expect([refused.status, scripted.requests.length]).toEqual([429, before])
  })
})

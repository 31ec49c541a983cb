import { beforeAll, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { fetchTenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { applyMigrations, bindings, call, newTenant } from '../../worker/client.ts'

beforeAll(applyMigrations)

/** The bindings, with a count of the loads. `hang`: the first load never ends, like that of a cancelled request. */
function countLoads(hang = false) {
  const counted = { loads: 0 }
  const TENANT = new Proxy(bindings.TENANT, {
    get: (target, name) =>
      name === 'getByName'
        ? (id: string) => ({
            snapshot: () =>
              ++counted.loads === 1 && hang ? new Promise(() => undefined) : target.getByName(id).snapshot(),
          })
        : Reflect.get(target, name, target),
  })
  return { env: { ...bindings, TENANT } as unknown as Env, counted }
}

const idle = { wait: () => Promise.resolve(), schedule: () => () => undefined }

describe('the snapshot of a tenant', () => {
  it('is loaded once for a burst of requests', async () => {
    const { id } = await newTenant()
    const { env, counted } = countLoads()
    const found = await Promise.all(Array.from({ length: 50 }, () => fetchTenantSnapshot(env, id)))
    expect(new Set(found.map((one) => one.id))).toEqual(new Set([id]))
    expect(counted.loads).toBe(1)
  })

  it('is looked for less often by many at once than by a few, also after requests that were cancelled', async () => {
    const longestWait = async (count: number) => {
      const { id } = await newTenant()
      const waits: number[] = []
      const wait = (ms: number) => (waits.push(ms), Promise.resolve())
      replaceClock({ ...idle, now: () => Date.now(), wait })
      try {
        await Promise.all(Array.from({ length: count }, () => fetchTenantSnapshot(countLoads().env, id)))
      } finally {
        replaceClock()
      }
      return Math.max(...waits)
    }
    expect(await longestWait(50)).toBeGreaterThan(12)
    const { id: left } = await newTenant()
    replaceClock({ ...idle, now: () => Date.now(), wait: () => new Promise(() => undefined) })
    const { env: hanging } = countLoads(true)
    for (let n = 0; n < 50; n++) void fetchTenantSnapshot(hanging, left)
    replaceClock()
    expect(await longestWait(3)).toBe(3)
  })

  it('is loaded by each one that waits in vain for the load of another', async () => {
    const { id } = await newTenant()
    const { env, counted } = countLoads(true)
    void fetchTenantSnapshot(env, id)
    expect(await fetchTenantSnapshot(env, id)).toMatchObject({ id })
    expect(counted.loads).toBe(2)
  })

  it('that was changed during a load is loaded again', async () => {
    const { id, key } = await newTenant()
    const { env } = countLoads(true)
    void fetchTenantSnapshot(env, id)
    const body = { agent: { max_turns: 7 } }
    expect((await call('PATCH', '/api/settings', { key, body })).status).toBe(200)
    expect((await fetchTenantSnapshot(env, id)).settings).toMatchObject(body)
  })

  it('that was read by a clock which was put back is loaded again', async () => {
    const { id } = await newTenant()
    const { env, counted } = countLoads()
    replaceClock({ ...idle, now: () => Date.now() + 86_400_000 })
    await fetchTenantSnapshot(env, id)
    replaceClock()
    await fetchTenantSnapshot(env, id)
    await fetchTenantSnapshot(env, id)
    expect(counted.loads).toBe(2)
  })
})

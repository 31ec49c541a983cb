import { beforeAll, describe, expect, it } from 'vitest'
import { createTenants } from '#db/tenants.ts'
import { database, applyMigrations, newTenant, noonMs } from './fixtures.ts'

const tenants = createTenants(database)
beforeAll(applyMigrations)

describe('migrations', () => {
  it('can be applied twice', async () => {
    await applyMigrations()
    await applyMigrations()
    expect(await tenants.get('default')).toMatchObject({ id: 'default', status: 'active', limits: {} })
  })
})

describe('a tenant', () => {
  it('is created once, read, listed and updated', async () => {
    const id = newTenant()
    const created = await tenants.create({ id, name: 'Ada' }, noonMs)
    expect(created).toEqual({ id, name: 'Ada', status: 'active', limits: {}, mail: [], createdAt: noonMs })
    expect(await tenants.create({ id, name: 'Eve' }, noonMs)).toBeUndefined()
    expect(await tenants.get(id)).toEqual(created)
    expect(await tenants.list({ limit: 1_000 })).toContainEqual(created)
    const changed = { ...created, status: 'suspended', limits: { jobs: 3, usd_per_day: 0.5 } }
    expect(await tenants.update(id, { status: 'suspended', limits: { jobs: 3, usd_per_day: 0.5 } })).toEqual(changed)
    expect(await tenants.update(id, {})).toEqual(changed)
    expect(await tenants.update('unknown', { name: 'x' })).toBeUndefined()
    expect(await tenants.get('unknown')).toBeUndefined()
  })

  it('has no limits that do not exist any more', async () => {
    const id = newTenant()
    await tenants.create({ id, name: 'Ada' }, noonMs)
    await database.prepare('UPDATE tenant SET limits = ? WHERE id = ?').bind('{"jobs":3,"sandboxes":1}', id).run()
    expect((await tenants.get(id))?.limits).toEqual({ jobs: 3 })
    expect((await tenants.list({ limit: 1_000 })).find((one) => one.id === id)?.limits).toEqual({ jobs: 3 })
  })

  it('gets a random id by default, and an invalid id is refused', async () => {
    expect((await tenants.create({ name: 'Ada' }, noonMs))?.id).toMatch(/^[a-z0-9][a-z0-9-]{0,62}$/)
    for (const id of ['', '-a', 'A', 'a/b', 'a_b', 'x'.repeat(64), 'a\n'])
      await expect(tenants.create({ id, name: 'Ada' }, noonMs)).rejects.toThrow(/not a valid tenant id/)
  })
})

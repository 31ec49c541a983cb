import { beforeAll, describe, expect, it } from 'vitest'
import { createTenants } from '../../src/db/tenants.ts'
import { database, applyMigrations, newTenant, noonMs } from './fixtures.ts'

const hour = 60 * 60 * 1000
const tenants = createTenants(database)
beforeAll(applyMigrations)

async function createTenantWithKey(expiresAt?: number) {
  const tenantId = newTenant()
  await tenants.create({ id: tenantId, name: 'Example' }, noonMs)
  const made = await tenants.createKey({ tenantId, name: 'laptop', scopes: ['read', 'chat'], expiresAt }, noonMs)
  return { tenantId, key: made!.key, presented: made!.presented }
}

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
    const made = await tenants.create({ id, name: 'Ada' }, noonMs)
    expect(made).toEqual({ id, name: 'Ada', status: 'active', limits: {}, createdAt: noonMs })
    expect(await tenants.create({ id, name: 'Eve' }, noonMs)).toBeUndefined()
    expect(await tenants.get(id)).toEqual(made)
    expect(await tenants.list()).toContainEqual(made)
    const changed = { ...made, status: 'suspended', limits: { jobs: 3, usd_per_day: 0.5 } }
    expect(await tenants.update(id, { status: 'suspended', limits: { jobs: 3, usd_per_day: 0.5 } })).toEqual(changed)
    expect(await tenants.update(id, {})).toEqual(changed)
    expect(await tenants.update('unknown', { name: 'x' })).toBeUndefined()
    expect(await tenants.get('unknown')).toBeUndefined()
  })

  it('gets a random id by default, and an invalid id is refused', async () => {
    expect((await tenants.create({ name: 'Ada' }, noonMs))?.id).toMatch(/^[a-z0-9][a-z0-9-]{0,62}$/)
    for (const id of ['', '-a', 'A', 'a/b', 'a_b', 'x'.repeat(64), 'a\n'])
      await expect(tenants.create({ id, name: 'Ada' }, noonMs)).rejects.toThrow(/not a valid tenant id/)
  })
})

describe('an API key', () => {
  it('verifies to its tenant, scopes and status', async () => {
    const { tenantId, key, presented } = await createTenantWithKey()
    expect(presented).toMatch(/^tal_[a-z2-7]{16}_[0-9A-Za-z]{43}$/)
    await tenants.update(tenantId, { status: 'suspended' })
    expect(await tenants.verify(presented, noonMs)).toEqual({
      keyId: key.id,
      tenantId,
      scopes: ['chat', 'read'],
      status: 'suspended',
      expiresAt: null,
    })
  })

  it('is stored without its secret', async () => {
    const { key, presented } = await createTenantWithKey()
    const row = await database.prepare('SELECT * FROM api_key WHERE id = ?').bind(key.id).first()
    expect(JSON.stringify(row)).not.toContain(presented.split('_')[2])
    expect(JSON.stringify(await tenants.listKeys())).not.toContain('hash')
  })

  it('does not verify with another secret, another id or another format', async () => {
    const [a, b] = [await createTenantWithKey(), await createTenantWithKey()]
    const [, id, secret] = a.presented.split('_')
    const others = [
      `tal_${id}_${b.presented.split('_')[2]}`,
      `tal_${b.key.id}_${secret}`,
      `tal_${'a'.repeat(16)}_${secret}`,
      `${a.presented} `,
      `${a.presented}\n`,
      a.presented.toUpperCase(),
      a.presented.slice(0, -1),
      `tal_${id}_`,
      `tal_${id}`,
      'tal__',
      '',
      'Bearer x',
      '💥'.repeat(50),
    ]
    for (const presented of others) expect(await tenants.verify(presented, noonMs), presented).toBeUndefined()
  })

  it('does not verify after it expires', async () => {
    const { presented } = await createTenantWithKey(noonMs + hour)
    expect(await tenants.verify(presented, noonMs + hour - 1)).toBeDefined()
    expect(await tenants.verify(presented, noonMs + hour)).toBeUndefined()
  })

  it('does not verify after it is revoked', async () => {
    const { tenantId, key, presented } = await createTenantWithKey()
    expect(await tenants.revokeKey(key.id, noonMs + 1)).toBe(true)
    expect(await tenants.revokeKey(key.id, noonMs + 2)).toBe(false)
    expect(await tenants.verify(presented, noonMs + 3)).toBeUndefined()
    expect(await tenants.listKeys(tenantId)).toEqual([{ ...key, revokedAt: noonMs + 1 }])
  })

  it('records its use at most once an hour', async () => {
    const { tenantId, key } = await createTenantWithKey()
    const touchAt = async (now: number) => {
      await tenants.touch(key.id, now)
      return (await tenants.listKeys(tenantId))[0]?.lastUsedAt
    }
    expect(await touchAt(noonMs)).toBe(noonMs)
    expect(await touchAt(noonMs + hour - 1)).toBe(noonMs)
    expect(await touchAt(noonMs + hour)).toBe(noonMs + hour)
  })

  it('needs a tenant and is listed for this tenant only', async () => {
    expect(await tenants.createKey({ tenantId: 'unknown', name: '', scopes: ['admin'] }, noonMs)).toBeUndefined()
    const [a, b] = [await createTenantWithKey(), await createTenantWithKey()]
    expect(await tenants.listKeys(a.tenantId)).toEqual([a.key])
    expect((await tenants.listKeys()).map((key) => key.id)).toEqual(expect.arrayContaining([a.key.id, b.key.id]))
  })
})

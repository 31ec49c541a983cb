import { beforeAll, describe, expect, it } from 'vitest'
import { createTenants } from '#db/tenants.ts'
import { database, applyMigrations, newTenant, noonMs } from './fixtures.ts'

const hourMs = 60 * 60 * 1000
const tenants = createTenants(database)
beforeAll(applyMigrations)

async function createTenantWithKey(expiresAt?: number) {
  const tenantId = newTenant()
  await tenants.create({ id: tenantId, name: 'Example' }, noonMs)
  const created = await tenants.createKey({ tenantId, name: 'laptop', scopes: ['read', 'chat'], expiresAt }, noonMs)
  return { tenantId, key: created!.key, presented: created!.presented }
}

describe('an API key', () => {
  it('verifies to its tenant, scopes and status', async () => {
    const { tenantId, key, presented } = await createTenantWithKey()
    expect(presented).toMatch(/^tal_[a-z2-7]{16}_[0-9A-Za-z]{43}$/)
    await tenants.update(tenantId, { status: 'suspended' })
    expect(await tenants.verify(presented, noonMs)).toEqual({
      keyId: key.id,
      role: null,
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
    // The names of the fields: an id of another key may contain the word.
    expect((await tenants.listKeys()).flatMap(Object.keys).filter((name) => /hash/i.test(name))).toEqual([])
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
    const { presented } = await createTenantWithKey(noonMs + hourMs)
    expect(await tenants.verify(presented, noonMs + hourMs - 1)).toBeDefined()
    expect(await tenants.verify(presented, noonMs + hourMs)).toBeUndefined()
  })

  it('does not verify after it is revoked', async () => {
    const { tenantId, key, presented } = await createTenantWithKey()
    expect(await tenants.revokeKey(key.id, noonMs + 1)).toEqual({ tenantId: key.tenantId, isNew: true })
    expect(await tenants.revokeKey(key.id, noonMs + 2)).toEqual({ tenantId: key.tenantId, isNew: false })
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
    expect(await touchAt(noonMs + hourMs - 1)).toBe(noonMs)
    expect(await touchAt(noonMs + hourMs)).toBe(noonMs + hourMs)
  })

  it('needs a tenant and is listed for this tenant only', async () => {
    expect(await tenants.createKey({ tenantId: 'unknown', name: '', scopes: ['admin'] }, noonMs)).toBeUndefined()
    const [a, b] = [await createTenantWithKey(), await createTenantWithKey()]
    expect(await tenants.listKeys(a.tenantId)).toEqual([a.key])
    expect((await tenants.listKeys()).map((key) => key.id)).toEqual(expect.arrayContaining([a.key.id, b.key.id]))
  })
})

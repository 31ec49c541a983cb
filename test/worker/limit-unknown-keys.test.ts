/** Tests the coarse rate limit for requests with unknown keys. */

import { beforeAll, describe, expect, it } from 'vitest'
import { authenticate, clearKeyCache } from '#worker/auth.ts'
import { applyMigrations, bindings, newTenant } from './client.ts'

beforeAll(applyMigrations)

/** Authenticates behind a shield that lets so many requests of an address pass. */
function behindShield(limit: number) {
  const counts = new Map<string, number>()
  const SHIELD: RateLimit = {
    limit: async ({ key }) => {
      counts.set(key, (counts.get(key) ?? 0) + 1)
      return { success: (counts.get(key) ?? 0) <= limit }
    },
  }
  const ask = (key: string, address = '192.0.2.1') =>
    authenticate(
      new Request('https://talaria.test/api/me', {
        headers: { authorization: `Bearer ${key}`, 'cf-connecting-ip': address },
      }),
      { ...bindings, SHIELD },
      () => undefined,
    ).then(
      () => 200,
      ({ status, retryAfter }: { status: number; retryAfter?: number }) => (status === 429 ? retryAfter : status),
    )
  return { ask, counts }
}

describe('the shield', () => {
  it('refuses an address that tries many keys, and no other', async () => {
    const { ask } = behindShield(2)
    expect([await ask('tal_a_1'), await ask('tal_b_2'), await ask('tal_c_3')]).toEqual([401, 401, 60])
    expect(await ask('tal_d_4', '192.0.2.2')).toBe(401)
  })

  it('does not count a key that is known', async () => {
    clearKeyCache()
    const { key } = await newTenant()
    const { ask, counts } = behindShield(1)
    expect([await ask(key), await ask(key), await ask(key)]).toEqual([200, 200, 200])
    expect(counts.get('192.0.2.1') ?? 0).toBeLessThanOrEqual(1)
  })

  it('is skipped without its binding', async () => {
    const request = new Request('https://talaria.test/', { headers: { authorization: 'Bearer tal_x_y' } })
    const statuses = await Promise.all(
      Array.from({ length: 20 }, () =>
        authenticate(request, bindings, () => undefined).catch(({ status }: { status: number }) => status),
      ),
    )
    expect(new Set(statuses)).toEqual(new Set([401]))
  })
})

/** Tests the parts of a tenant's object through its stub. */

import { runInDurableObject } from 'cloudflare:test'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Claim } from '#durable/tenant/claims.ts'
import { ownerAuthority } from '../../support/authority.ts'
import { bindings } from '../../worker/client.ts'

let names = 0
const newTenant = () => bindings.TENANT.getByName(`t/parts-${++names}`)
const ids = { sessionId: 'ses_1', runId: 'run_1' }

describe("the stub of a tenant's object", () => {
  it('calls a method of a part with the types of the part', async () => {
    const tenant = newTenant()
    const claim = await tenant.claims.claim(ownerAuthority(), 'key', 'hash', ids)
    expectTypeOf(claim).toExtend<Claim>()
    expect(claim).toEqual({ kind: 'new', ...ids })
    await tenant.claims.release(ownerAuthority(), 'key')
    expect((await tenant.claims.claim(ownerAuthority(), 'key', 'another hash', ids)).kind).toBe('new')
  })

  it('keeps the order of concurrent calls of one part', async () => {
    const { claims } = newTenant()
    const results = await Promise.all(['a', 'b', 'a'].map((name) => claims.claim(ownerAuthority(), name, 'hash', ids)))
    expect(results.map(({ kind }) => kind)).toEqual(['new', 'new', 'same'])
  })

  it('passes on the errors of a part', async () => {
    const failure = await newTenant()
      .claims.claim(ownerAuthority(), 'key', 'hash', undefined as never)
      .catch((error: unknown) => error)
    expect(String(failure)).toContain('TypeError')
  })

  it('gets the same part at each access', () =>
    runInDurableObject(newTenant(), (object) => {
      expect(object.claims).toBe(object.claims)
      expect(object.limits).toBe(object.limits)
    }))
})

describe('the snapshot of a tenant', () => {
  it('has the parts that every turn needs', async () => {
    const tenant = newTenant()
    await tenant.settings.patch(ownerAuthority(`parts-${names}`), { limits: { usd_per_day: 3, concurrent_turns: 9 } })
    await tenant.limits.set(ownerAuthority(), { concurrent_turns: 2 })
    await tenant.windows.record(ownerAuthority(), 'custom:a/model', 8_000)
    await tenant.windows.record(ownerAuthority(), 'custom:a/model', 9_000)
    await tenant.keyHealth.suspend(ownerAuthority(), 'key', { until: 0, dead: true })
    expect(await tenant.snapshot()).toMatchObject({
      settings: { limits: { usd_per_day: 3, concurrent_turns: 9 } },
      limits: { usd_per_day: 3, concurrent_turns: 2 },
      windows: { 'custom:a/model': 8_000 },
      keys: { key: { until: 0, dead: true } },
    })
  })
})

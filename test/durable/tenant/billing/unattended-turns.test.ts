/** Tests that turns without a person end at the default limits of their tenant, however long events arrive. */

import { beforeAll, describe, expect, it } from 'vitest'
import { runInDurableObject } from 'cloudflare:test'
import type { Limits } from '#agent/core/settings.ts'
import { UnattendedTurns } from '#durable/tenant/billing/unattended-turns.ts'
import { ownerAuthority } from '#test/support/authority.ts'
import { itInTurn } from '#test/support/long.ts'
import { applyMigrations, bindings, call, newTenant } from '#test/worker/client.ts'

beforeAll(applyMigrations)

const hour = 3_600_000
const day = 24 * hour
const tenantOf = (id: string) => bindings.TENANT.getByName(`t/${id}`)
let names = 0
const withTurns = <T>(test: (turns: UnattendedTurns) => T) =>
  runInDurableObject(tenantOf(`unattended-${++names}`), (_object, { storage }) =>
    test(new UnattendedTurns(storage.sql)),
  )

describe('a process that reports for ever', () => {
  /** Events of these sessions arrive each 15 s for two days. A turn costs the given amounts. */
  const simulate = (sessions: number, cost: { tokens: number; usd: number }, limits: Limits = {}) =>
    withTurns((turns) => {
      const accepted: number[] = []
      for (let now = 0; now < 2 * day; now += 15_000)
        for (let n = 0; n < sessions; n++) {
          const turn = { sessionId: `s${n}`, isSelfStarted: true }
          if (turns.admit(`r${now}-${n}`, turn, limits, now)) continue
          turns.record(`r${now}-${n}`, cost)
          accepted.push(now)
        }
      return accepted
    })

  it('starts a few turns at once, then one each ten minutes', async () => {
    const accepted = await simulate(1, { tokens: 1, usd: 0 })
    expect(accepted.slice(0, 7)).toEqual([0, 15_000, 30_000, 45_000, 60_000, 90_000, 150_000])
    expect(accepted.filter((at) => at < hour).length).toBeLessThanOrEqual(14)
    expect(accepted.filter((at) => at > day).length).toBeLessThanOrEqual(10 * 24)
  })

  itInTurn.each([
    ['dollars', { tokens: 1, usd: 0.5 }, {}, 20],
    ['tokens', { tokens: 1_000_000, usd: 0 }, {}, 20],
    ['dollars of a setting', { tokens: 1, usd: 0.5 }, { unattended_usd_per_day: 2 }, 4],
  ])('ends at the %s of a day, over all sessions of its tenant', async (_what, cost, limits, perDay) => {
    const accepted = await simulate(5, cost, limits)
    expect(accepted.filter((at) => at < day)).toHaveLength(perDay)
    expect(accepted.length).toBeLessThanOrEqual(2 * perDay)
  })
})

it('a turn of a person is never refused', () =>
  withTurns((turns) => {
    for (let n = 0; n < 300; n++) turns.admit(`r${n}`, { sessionId: `s${n}`, isSelfStarted: false }, {}, n)
    expect(turns.admit('r301', { sessionId: 's', isSelfStarted: false }, {}, 301)).toMatchObject({
      limit: 'unattended_turns_per_hour',
    })
    expect(turns.over('of a person', {}, 301)).toBeUndefined()
  }))

it('a call of an unattended turn is refused at the limit, with the calls in flight of the others', async () => {
  const { id } = await newTenant()
  const { limits, billing } = tenantOf(id)
  const none = { tokens: 0, usd: 0 }
  for (const run of ['a', 'b', 'c'])
    await limits.admitTurn(ownerAuthority(), run, { sessionId: run, isSelfStarted: false })
  const reserve = (run: string) =>
    billing.reserve(ownerAuthority(), run, { spent: none, held: none, call: { tokens: 1, usd: 6 } })
  expect([await reserve('a'), await reserve('b'), await reserve('c'), await reserve('of a person')]).toMatchObject([
    { ok: true },
    { ok: true },
    { ok: false, limit: 'unattended_usd_per_day' },
    { ok: true },
  ])
  await call('PATCH', `/api/admin/tenants/${id}`, { body: { limits: { unattended_usd_per_day: 50 } } })
  expect(await reserve('c')).toMatchObject({ ok: true })
})

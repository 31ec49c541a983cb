/** Tests the spending counters of a tenant: exact, once per run, by UTC day and month. */

import { runInDurableObject } from 'cloudflare:test'
import { describe, expect, it } from 'vitest'
import { listSpans, Spending } from '#durable/tenant/billing/spending.ts'
import { bindings } from '#test/worker/client.ts'

const noon = Date.UTC(2026, 10, 21, 12)
const hour = 3_600_000
const some = (tokens: number, usd = 0) => ({ tokens, usd })
const none = some(0)
let names = 0

/** Runs `test` with a counter in the storage of a new object. `reopen` reads the same storage again. */
const withSpending = (test: (spending: Spending, reopen: () => Spending) => void, name = `spending-${++names}`) =>
  runInDurableObject(bindings.TENANT.getByName(name), (_object, { storage }) =>
    test(new Spending(storage.sql), () => new Spending(storage.sql)),
  )

describe('spending', () => {
  it('sums ended and open runs, each counted once', () =>
    withSpending((spending, reopen) => {
      spending.settle('r1', some(100, 1), noon)
      spending.report('r2', { spent: some(10, 0.1), held: none }, noon)
      spending.report('r2', { spent: some(30, 0.3), held: none }, noon)
      expect(spending.totals(noon).day).toEqual(some(130, 1.3))
      spending.settle('r2', some(40, 0.5), noon)
      spending.settle('r2', some(40, 0.5), noon)
      expect(spending.totals(noon)).toEqual({ day: some(140, 1.5), month: some(140, 1.5) })
      expect(reopen().totals(noon)).toEqual(spending.totals(noon))
    }))

  it('starts at zero with each day and each month', () =>
    withSpending((spending) => {
      spending.settle('r1', some(100, 1), noon)
      spending.settle('r2', some(10, 2), noon + 13 * hour)
      expect(spending.totals(noon + 13 * hour)).toEqual({ day: some(10, 2), month: some(110, 3) })
      expect(spending.totals(Date.UTC(2026, 11, 1))).toEqual({ day: some(0), month: some(0) })
    }))

  it('counts a run that ended yesterday and is reported today for the month alone', () =>
    withSpending((spending) => {
      spending.settle('r1', some(100, 1), noon)
      expect(spending.totals(noon).day).toEqual(some(100, 1))
      spending.settle('late', some(10, 0.5), noon - 24 * hour)
      expect(spending.totals(noon)).toEqual({ day: some(100, 1), month: some(110, 1.5) })
    }))

  it('names the limit that is reached and the seconds until it resets', () =>
    withSpending((spending) => {
      spending.settle('r1', some(100, 1), noon)
      const over = (limits: object) => spending.over(limits, noon)
      expect(over({ tokens_per_day: 101, usd_per_day: 1.1, usd_per_month: 2 })).toBeUndefined()
      expect(over({ tokens_per_day: 100 })).toEqual({ limit: 'tokens_per_day', retryAfter: 12 * 3_600 })
      expect(over({ usd_per_day: 1 })).toEqual({ limit: 'usd_per_day', retryAfter: 12 * 3_600 })
      expect(over({ usd_per_month: 1 })).toEqual({ limit: 'usd_per_month', retryAfter: (9 * 24 + 12) * 3_600 })
    }))

  it('is used up by the exact sum of many prices, and has room for one that fits exactly', () =>
    withSpending((spending) => {
      for (let call = 0; call < 12; call++) spending.settle(`r${call}`, some(1, 0.01), noon)
      const demand = { spent: none, held: none, call: some(1, 0.01) }
      expect(spending.reserve('next', demand, { usd_per_day: 0.12 }, noon)).toMatchObject({ limit: 'usd_per_day' })
      spending.settle('more', some(0, 0.08), noon)
      const known = { ...demand, call: some(1, 0.1), isFixed: true }
      expect(spending.reserve('last', known, { usd_per_day: 0.3 }, noon)).toBeUndefined()
    }))

  it('starts with given totals, continues through the months, and stops', () =>
    withSpending((spending, reopen) => {
      expect(spending.isCounting).toBe(false)
      spending.start({ day: some(5, 1), month: some(50, 10) }, noon)
      expect(reopen().totals(noon)).toEqual({ day: some(5, 1), month: some(50, 10) })
      expect(spending.totals(noon + 24 * hour)).toEqual({ day: some(0), month: some(50, 10) })
      expect(spending.totals(Date.UTC(2026, 11, 1)).month).toEqual(some(0))
      expect(reopen().isCounting).toBe(true)
      spending.stop()
      expect([reopen().isCounting, spending.totals(noon).month]).toEqual([false, some(0)])
    }))

  it('refuses a call when a limit is used up, or others have reserved the rest', () =>
    withSpending((spending, reopen) => {
      const limits = { usd_per_day: 1 }
      const reserve = (run: string, usd: number, spent = none, at = noon) =>
        spending.reserve(run, { spent, held: none, call: some(1, usd) }, limits, at)
      expect(reserve('r1', 0.6)).toBeUndefined()
      expect(reserve('r2', 0.6)).toBeUndefined()
      const reserved = { limit: 'usd_per_day', retryAfter: 1, isReserved: true }
      expect([reserve('r3', 0.1), spending.totals(noon).day]).toEqual([reserved, none])
      expect(reopen().totals(noon + 300_000).day).toEqual(some(2, 1.2))
      spending.report('r1', { spent: some(1, 0.25), held: none }, noon)
      expect(reserve('r3', 0.1)).toBeUndefined()
      spending.report('r2', { spent: some(1, 0.5), held: none }, noon)
      spending.report('r3', { spent: some(1, 0.25), held: none }, noon)
      expect(reserve('r1', 0.1, some(1, 0.25))).toEqual({ limit: 'usd_per_day', retryAfter: 12 * 3_600 })
      spending.settle('r1', some(1, 0.25), noon)
      spending.report('r1', { spent: some(1, 0.25), held: none }, noon)
      expect(spending.totals(noon).day.usd).toBeCloseTo(1)
    }))

  it('refuses a call of a fixed price that does not fit', () =>
    withSpending((spending) => {
      const limits = { usd_per_day: 1 }
      const demand = (usd: number, isFixed: boolean) => ({ spent: none, held: none, call: some(0, usd), isFixed })
      expect(spending.reserve('r1', demand(1.5, true), limits, noon)).toMatchObject({ limit: 'usd_per_day' })
      expect(spending.reserve('r1', demand(0.6, true), limits, noon)).toBeUndefined()
      expect(spending.reserve('r2', demand(0.6, true), limits, noon)).toMatchObject({ isReserved: true, retryAfter: 1 })
      expect(spending.reserve('r3', demand(0.6, false), limits, noon)).toBeUndefined()
    }))

  it('counts a reservation of a crashed run as spent until the run reports', () =>
    withSpending((spending, reopen) => {
      const limits = { usd_per_day: 1 }
      spending.reserve('crashed', { spent: none, held: none, call: some(9, 1) }, limits, noon)
      const after = reopen()
      expect(after.over(limits, noon)).toBeUndefined()
      expect(after.over(limits, noon + 300_000)).toMatchObject({ limit: 'usd_per_day' })
      after.report('crashed', { spent: some(2, 0.25), held: none }, noon + 300_000)
      expect(after.totals(noon + 300_000).day).toEqual(some(2, 0.25))
    }))

  it('lists what is used and reserved of each limit', () =>
    withSpending((spending) => {
      spending.settle('r1', some(100, 1), noon)
      spending.reserve('r2', { spent: none, held: none, call: some(50, 0.5) }, {}, noon)
      expect(spending.listUse({ usd_per_month: 4, tokens_per_day: 1_000 }, noon)).toMatchObject([
        { limit: 'tokens_per_day', max: 1_000, used: 100, reserved: 50, from: Date.UTC(2026, 10, 21) },
        { limit: 'usd_per_month', max: 4, used: 1, reserved: 0.5, from: Date.UTC(2026, 10, 1) },
      ])
    }))

  it('drops an open run after a day without a report', () =>
    withSpending((spending) => {
      spending.report('lost', { spent: some(7), held: none }, noon)
      expect(spending.totals(noon + hour).day).toEqual(some(7))
      expect(spending.totals(noon + 25 * hour).day).toEqual(some(0))
    }))
})

it('spans are UTC days and months', () => {
  expect(listSpans(Date.UTC(2026, 11, 31, 23, 59))).toEqual({
    day: { from: Date.UTC(2026, 11, 31), to: Date.UTC(2027, 0, 1) },
    month: { from: Date.UTC(2026, 11, 1), to: Date.UTC(2027, 0, 1) },
  })
})

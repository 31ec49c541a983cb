/** Tests the spending counters of a tenant: exact, once per run, by UTC day and month. */

import { runInDurableObject } from 'cloudflare:test'
import { describe, expect, it } from 'vitest'
import { spansOf, Spending } from '../../../src/durable/tenant/spending.ts'
import { bindings } from '../../worker/client.ts'

const noon = Date.UTC(2026, 10, 21, 12)
const hour = 3_600_000
const some = (tokens: number, usd = 0) => ({ tokens, usd })
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
      spending.report('r2', some(10, 0.1), noon)
      spending.report('r2', some(30, 0.3), noon)
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

  it('drops an open run after a day without a report', () =>
    withSpending((spending) => {
      spending.report('lost', some(7), noon)
      expect(spending.totals(noon + hour).day).toEqual(some(7))
      expect(spending.totals(noon + 25 * hour).day).toEqual(some(0))
    }))
})

it('spans are UTC days and months', () => {
  expect(spansOf(Date.UTC(2026, 11, 31, 23, 59))).toEqual({
    day: { from: Date.UTC(2026, 11, 31), to: Date.UTC(2027, 0, 1) },
    month: { from: Date.UTC(2026, 11, 1), to: Date.UTC(2027, 0, 1) },
  })
})

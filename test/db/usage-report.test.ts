/** Tests usage queries: each turn counts once, even after its pages are deleted. */

import { beforeAll, describe, expect, it } from 'vitest'
import type { Page } from '#agent/core/history.ts'
import { addUsage, noUsage, usageOfCall, type Usage } from '#agent/core/usage.ts'
import { createD1History } from '#db/history.ts'
import { type UsageFilter, type UsageGroup, reportUsage } from '#db/usage-report.ts'
import { database, applyMigrations, newTenant, noonMs, createPage, createRecord } from './fixtures.ts'

beforeAll(applyMigrations)

const day = 24 * 60 * 60 * 1000
const usageOf = (model: string, input: number, costUsd = 0, costStatus: Usage['costStatus'] = 'estimated') =>
  usageOfCall({ ...noUsage, input, costUsd, costStatus }, model)

/** Creates a page with a turn of two messages. */
const turn = (n: number, runId: string, usage: Usage, changes: Partial<Page> = {}): Page =>
  createPage(n, ['question', 'answer'], { runId, usage, turn: { id: runId }, ...changes })

function createReporter() {
  const tenant = newTenant()
  const all: UsageFilter = { group: 'model', from: noonMs - 30 * day, to: noonMs + 30 * day, limit: 100 }
  return {
    store: createD1History(database, tenant),
    report: (changes: Partial<UsageFilter> = {}) => reportUsage(database, tenant, { ...all, ...changes }),
    keys: async (group: UsageGroup) =>
      (await reportUsage(database, tenant, { ...all, group })).data.map(({ key, turns, input }) => [key, turns, input]),
  }
}

describe('reportUsage()', () => {
  it('separates the models of a turn and sums the tasks of a model', async () => {
    const { store, report, keys } = createReporter()
    const usage = [usageOf('a/one', 10, 1), usageOf('a/one compression', 5, 0.5), usageOf('b/two', 100, 0, 'unknown')]
    await store.append(createRecord('s1'), [turn(1, 'r1', usage.reduce(addUsage, noUsage))])
    expect(await keys('model')).toEqual([
      ['b/two', 1, 100],
      ['a/one', 1, 15],
    ])
    const { totals, data } = await report()
    expect(totals).toMatchObject({ turns: 1, calls: 3, input: 115, cost_usd: 1.5, cost_status: 'unknown' })
    expect(data[1]).toMatchObject({ calls: 2, cost_usd: 1.5, cost_status: 'estimated' })
  })

  it('counts turns without a breakdown under the requested model', async () => {
    const { store, keys } = createReporter()
    const usage = { ...noUsage, input: 7 }
    await store.append(createRecord('s1'), [turn(1, 'r1', usage, { model: 'a/old' }), turn(3, 'r2', usage)])
    expect(await keys('model')).toEqual([
      ['a/old', 1, 7],
      ['unknown', 1, 7],
    ])
  })

  it('groups by day, session and source, and excludes the end of the span', async () => {
    const { store, report, keys } = createReporter()
    const later = { updatedAt: noonMs + day }
    await store.append(createRecord('s1', later), [
      turn(1, 'r1', usageOf('a/one', 1)),
      turn(3, 'r2', usageOf('a/one', 2), { at: noonMs + day }),
    ])
    await store.append(createRecord('s2', { source: 'cron' }), [turn(1, 'r3', usageOf('a/one', 4))])
    expect(await keys('day')).toEqual([
      ['2026-11-22', 1, 2],
      ['2026-11-21', 2, 5],
    ])
    expect(await keys('session')).toEqual([
      ['s2', 1, 4],
      ['s1', 2, 3],
    ])
    expect(await keys('source')).toEqual([
      ['cron', 1, 4],
      ['api', 2, 3],
    ])
    expect((await report({ from: noonMs + day, to: noonMs + 2 * day })).totals.input).toBe(2)
    expect((await report({ from: noonMs, to: noonMs + day })).totals.input).toBe(5)
  })

  it('is empty for a tenant without turns', async () => {
    expect(await createReporter().report()).toEqual({
      data: [],
      next: undefined,
      totals: {
        turns: 0,
        calls: 0,
        cut_calls: 0,
        input: 0,
        output: 0,
        cached_read: 0,
        cached_write: 0,
        reasoning: 0,
        cost_usd: 0,
        cost_status: 'included',
      },
    })
  })
})

describe('usage', () => {
  it('stays counted once after an undo or a deletion, even when repeated', async () => {
    const { store, keys } = createReporter()
    await store.append(createRecord('s1'), [turn(1, 'r1', usageOf('a/one', 1)), turn(3, 'r2', usageOf('a/one', 2))])
    const unsent = [{ runId: 'r3', at: noonMs, source: 'api', usage: usageOf('a/one', 4) }]
    for (const _ of [1, 2]) await store.truncate('s1', 3, unsent)
    expect(await keys('session')).toEqual([['s1', 3, 7]])
    await store.append(createRecord('s1'), [turn(5, 'r4', usageOf('a/one', 8))])
    for (const _ of [1, 2])
      await store.deleteSession('s1', [{ ...unsent[0]!, runId: 'r5', usage: usageOf('a/one', 16) }])
    expect(await store.readSyncState('s1')).toBeUndefined()
    expect(await keys('session')).toEqual([['s1', 5, 31]])
  })

  it('of a turn in two sessions counts once, for the original session', async () => {
    const { store, keys } = createReporter()
    for (const id of ['first', 'copy']) await store.append(createRecord(id), [turn(1, 'r1', usageOf('a/one', 1))])
    expect(await keys('session')).toEqual([['first', 1, 1]])
    await store.deleteSession('copy')
    expect(await keys('session')).toEqual([['first', 1, 1]])
  })

  it('is separate for each tenant', async () => {
    const [one, other] = [createReporter(), createReporter()]
    await one.store.append(createRecord('s1'), [turn(1, 'r1', usageOf('a/one', 1))])
    await one.store.truncate('s1', 1)
    expect(await other.keys('session')).toEqual([])
    await other.store.append(createRecord('s1'), [turn(1, 'r1', usageOf('a/one', 2))])
    expect([await one.keys('session'), await other.keys('session')]).toEqual([[['s1', 1, 1]], [['s1', 1, 2]]])
  })
})

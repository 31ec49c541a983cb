import { beforeAll, expect, it } from 'vitest'
import { noUsage, usageOfCall } from '#agent/core/usage.ts'
import { createD1History } from '#db/history.ts'
import { sumUsageSince } from '#db/usage-totals.ts'
import { database, applyMigrations, newTenant, noonMs, createPage, createRecord } from './fixtures.ts'

beforeAll(applyMigrations)

const dayMs = 24 * 60 * 60 * 1000

it('sumUsageSince() sums usage since two times, without the given run', async () => {
  const tenant = newTenant()
  const turn = (n: number, runId: string, [input, costUsd]: readonly [number, number], at: number) =>
    createPage(n, ['question', 'answer'], {
      runId,
      at,
      usage: usageOfCall({ ...noUsage, input, costUsd, costStatus: 'estimated' }, 'a/one'),
      turn: { id: runId },
    })
  await createD1History(database, tenant).append(createRecord('s1', { updatedAt: noonMs + dayMs }), [
    turn(1, 'r1', [1, 0.5], noonMs),
    turn(3, 'r2', [2, 0.25], noonMs + dayMs),
    turn(5, 'r3', [4, 0.125], noonMs + dayMs),
  ])
  const sums = await sumUsageSince(database, tenant, { month: noonMs - dayMs, day: noonMs + dayMs, without: 'r3' })
  expect(sums).toEqual({ month: { tokens: 3, usd: 0.75 }, day: { tokens: 2, usd: 0.25 } })
})

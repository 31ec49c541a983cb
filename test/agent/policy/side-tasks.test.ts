/** Tests the models, timeouts and retries of side tasks. */

import { describe, expect, it } from 'vitest'
import type { FailureKind } from '#agent/core/failure.ts'
import { sideTasks } from '#agent/core/settings.ts'
import {
  afterFailure,
  type AfterFailure,
  listSideModels,
  getSideTimeoutMs,
  type SideModelSources,
} from '#agent/policy/side-tasks.ts'

describe('the models of a side task', () => {
  const main = { main: 'a/main', fallbacks: ['a/main', 'b/other'] }
  const cases: readonly (readonly [string, SideModelSources, readonly string[]])[] = [
    ['are those of the conversation', main, ['a/main', 'b/other']],
    ['begin with a cheap sibling where there is one', { ...main, sibling: 'a/mini' }, ['a/mini', 'a/main', 'b/other']],
    [
      'begin with the one of the deployment',
      { ...main, deployed: 'c/aux', sibling: 'a/mini' },
      ['c/aux', 'a/mini', 'a/main', 'b/other'],
    ],
    [
      'begin with the one of the setting',
      { ...main, configured: 'd/set', deployed: 'c/aux' },
      ['d/set', 'c/aux', 'a/main', 'b/other'],
    ],
    [
      'end with those of other providers',
      { ...main, others: ['a/main', 'c/cheap', 'd/cheap'] },
      ['a/main', 'b/other', 'c/cheap', 'd/cheap'],
    ],
    [
      'are the chain of the task alone, where it has one',
      {
        ...main,
        configured: 'd/set',
        configuredFallbacks: ['e/one', 'a/main'],
        deployed: 'c/aux',
        others: ['c/cheap'],
      },
      ['d/set', 'e/one', 'a/main'],
    ],
    ['are named once each', { ...main, configured: 'b/other', deployed: '' }, ['b/other', 'a/main']],
  ]
  it.each(cases)('%s', (_what, wishes, models) => {
    expect(listSideModels(wishes)).toEqual(models)
  })
})

describe('a failure of a side task', () => {
  const again = (afterMs: number): AfterFailure => ({ do: 'again', afterMs })
  const parked: AfterFailure = { do: 'next', suspendMs: 600_000 }
  const cases: readonly (readonly [FailureKind, number, number | undefined, AfterFailure])[] = [
    ['overloaded', 1, undefined, again(500)],
    ['overloaded', 2, undefined, again(1_000)],
    ['overloaded', 3, undefined, parked],
    ['rate', 1, 2_000, again(2_000)],
    ['rate', 1, 60_000, parked],
    ['network', 1, undefined, again(500)],
    ['stalled', 1, undefined, parked],
    ['auth', 1, undefined, parked],
    ['quota', 1, undefined, parked],
    ['missing-model', 1, undefined, parked],
    ['too-long', 1, undefined, { do: 'next', suspendMs: 0 }],
    ['refused', 1, undefined, { do: 'next', suspendMs: 0 }],
    ['aborted', 1, undefined, { do: 'stop' }],
  ]
  it.each(cases)('%s, for the %ith time, told to wait %s ms', (kind, tries, told, next) => {
    expect(afterFailure({ kind, tries, keys: 1, retryAfterMs: told })).toEqual(next)
  })

  it.each(['auth', 'key-dead', 'quota'] as const)(
    '%s is no reason to leave the model while it has other keys',
    (kind) => {
      const nexts = [1, 2, 3].map((tries) => afterFailure({ kind, tries, keys: 3 }))
      expect(nexts).toEqual([again(0), again(0), parked])
    },
  )
})

it('every task has a time of its own, and a setting replaces it', () => {
  for (const task of sideTasks) expect(getSideTimeoutMs(task, undefined)).toBeGreaterThanOrEqual(8_000)
  expect([getSideTimeoutMs('vision', undefined), getSideTimeoutMs('moa_reference', undefined)]).toEqual([
    120_000, 900_000,
  ])
  expect(getSideTimeoutMs('vision', 5)).toBe(5_000)
})

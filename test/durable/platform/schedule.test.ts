import { describe, expect, it } from 'vitest'
import { type Armed, armAlarm, dueReasons, nextWake, retryDelayMs } from '#durable/platform/schedule.ts'

/** Records the calls instead of setting an alarm. */
function recordingStorage() {
  const calls: (number | 'deleted')[] = []
  return {
    calls,
    setAlarm: async (at: number | Date) => void calls.push(Number(at)),
    deleteAlarm: async () => void calls.push('deleted'),
  }
}

describe('the next wake', () => {
  it.each([
    ['there is none without times', {}, undefined],
    ['reasons without a time do not count', { jobs: undefined, lease: 7 }, { reason: 'lease', at: 7 }],
    ['the earliest wins', { jobs: 30, lease: 20, expiry: 40 }, { reason: 'lease', at: 20 }],
    ['of equal times the first reason wins', { jobs: 20, lease: 20 }, { reason: 'jobs', at: 20 }],
  ])('%s', (_case, wakes, expected) => {
    expect(nextWake({ wakes, armed: 'unknown' })).toEqual(expected)
  })

  it('names the due reasons, earliest first', () => {
    expect(dueReasons({ wakes: { late: 9, jobs: 5, later: 11, none: undefined }, armed: 'none' }, 10)).toEqual([
      'jobs',
      'late',
    ])
  })
})

describe('arming the alarm', () => {
  const cases: readonly [string, Record<string, number | undefined>, Armed, Armed, (number | 'deleted')[]][] = [
    ['sets it in an object that has just woken', { jobs: 20 }, 'unknown', 20, [20]],
    ['does not set it twice', { jobs: 20 }, 20, 20, []],
    ['moves it', { jobs: 20 }, 30, 20, [20]],
    ['deletes it when there is no reason left', { jobs: undefined }, 30, 'none', ['deleted']],
    ['deletes what a former instance may have set', {}, 'unknown', 'none', ['deleted']],
    ['does not delete it twice', {}, 'none', 'none', []],
  ]
  it.each(cases)('%s', (...[, wakes, armed, expected, calls]) => {
    const storage = recordingStorage()
    expect(armAlarm(storage, { wakes, armed })).toBe(expected)
    expect(storage.calls).toEqual(calls)
  })
})

it('waits longer after each failure, at most five minutes', () => {
  expect([1, 2, 3, 8, 9, 50].map(retryDelayMs)).toEqual([2_000, 4_000, 8_000, 256_000, 300_000, 300_000])
})

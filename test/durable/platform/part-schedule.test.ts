/** Tests that a part which fails waits longer each time, and that the other parts go on. */

import { afterEach, expect, it } from 'vitest'
import { clock, replaceClock } from '#durable/platform/clock.ts'
import { PartSchedule } from '#durable/platform/part-schedule.ts'

let now = 1_000_000
const failed: string[] = []
afterEach(() => {
  failed.length = 0
  replaceClock()
})

function createSchedule({ rethrow = false } = {}) {
  const woken: string[] = []
  replaceClock({ ...clock, now: () => now })
  const schedule = new PartSchedule(
    () => ({
      broken: {
        wakeAt: () => 5,
        wake: () => {
          woken.push('broken')
          throw new Error('it is broken')
        },
      },
      whole: { wakeAt: () => 7, wake: () => void woken.push('whole') },
      idle: { wakeAt: () => undefined, wake: () => void woken.push('idle') },
    }),
    (reason, error) => {
      if (rethrow) throw error
      failed.push(reason)
    },
  )
  return { schedule, woken }
}

it('has the time of each part', () => {
  const { schedule } = createSchedule()
  expect(schedule.reasons).toEqual(['broken', 'whole', 'idle'])
  expect(schedule.wakes()).toEqual({ broken: 5, whole: 7, idle: undefined })
})

it('lets a failed part wait longer after each failure, and no other one', async () => {
  const { schedule, woken } = createSchedule()
  await schedule.wake('broken', now)
  await schedule.wake('whole', now)
  expect(schedule.wakes()).toEqual({ broken: now + 2_000, whole: 7, idle: undefined })
  expect(schedule.isWaiting('broken', now)).toBe(true)
  expect(schedule.isWaiting('broken', now + 2_000)).toBe(false)
  expect(schedule.isWaiting('whole', now)).toBe(false)
  now += 2_000
  await schedule.wake('broken', now)
  expect(schedule.wakeAt('broken')).toBe(now + 4_000)
  expect(woken).toEqual(['broken', 'whole', 'broken'])
  expect(failed).toEqual(['broken', 'broken'])
})

it('rejects with an error that is thrown on', async () => {
  const { schedule } = createSchedule({ rethrow: true })
  await expect(schedule.wake('broken', now)).rejects.toThrow('it is broken')
  expect(schedule.isWaiting('broken', now)).toBe(false)
})

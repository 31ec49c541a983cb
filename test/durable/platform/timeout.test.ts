import { afterEach, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { withTimeout } from '#durable/platform/timeout.ts'
import { createTestClock } from '#test/support/clock.ts'

afterEach(() => replaceClock())

it('returns the result of work that ends in time, and leaves no timer', async () => {
  const clock = createTestClock()
  replaceClock(clock)
  expect(await withTimeout(Promise.resolve('done'), 1_000, () => 'late')).toBe('done')
  await expect(withTimeout(Promise.reject(new Error('broken')), 1_000, () => 'late')).rejects.toThrow('broken')
  expect(clock.pending()).toBe(0)
})

it('returns or throws what onTimeout does when the time is over', async () => {
  const clock = createTestClock()
  replaceClock(clock)
  const never = new Promise<string>(() => undefined)
  const late = withTimeout(never, 1_000, () => 'late')
  const failed = withTimeout(never, 1_000, () => {
    throw new Error('too slow')
  }).catch((error: unknown) => String(error))
  await clock.pass(999)
  expect(clock.pending()).toBe(2)
  await clock.pass(1)
  expect(await late).toBe('late')
  expect(await failed).toBe('Error: too slow')
})

it('ignores an error of the work after the time is over', async () => {
  const clock = createTestClock()
  replaceClock(clock)
  const work = Promise.withResolvers<string>()
  const late = withTimeout(work.promise, 10, () => 'late')
  await clock.pass(10)
  expect(await late).toBe('late')
  work.reject(new Error('nobody waits'))
  await work.promise.catch(() => undefined)
})

/** When work that nobody waits for finds its moment. */

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { joinCrowd, leaveCrowd, quietMoment } from '../../src/durable/crowd.ts'

const sessions = Array.from({ length: 20 }, (_, n) => `session ${n}`)
const answer = () => sessions.forEach((session) => joinCrowd(session, Date.now()))

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 })
  vi.spyOn(scheduler, 'wait').mockImplementation((ms) => new Promise((resolve) => setTimeout(resolve, ms)))
})
afterEach(() => {
  sessions.forEach(leaveCrowd)
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** Milliseconds until the moment has come. */
async function passed(): Promise<number> {
  const began = Date.now()
  const came = quietMoment().then(() => Date.now() - began)
  await vi.advanceTimersByTimeAsync(10_000)
  return came
}

describe('a quiet moment', () => {
  it('comes soon where few are answered', async () => {
    sessions.slice(0, 5).forEach((session) => joinCrowd(session, Date.now()))
    expect(await passed()).toBe(250)
  })

  it('comes when those who are answered have got their answers', async () => {
    answer()
    setTimeout(() => sessions.forEach(leaveCrowd), 900)
    expect(await passed()).toBe(1_000)
  })

  it('comes in time all the same', async () => {
    answer()
    expect(await passed()).toBe(2_000)
  })

  it('does not wait for sessions that have died', async () => {
    answer()
    await vi.advanceTimersByTimeAsync(6_000)
    joinCrowd('one more', Date.now())
    expect(await passed()).toBe(250)
  })
})

/** When work that nobody waits for finds its moment. */

import { afterEach, describe, expect, it } from 'vitest'
import { joinCrowd, leaveCrowd, quietMoment } from '../../src/durable/crowd.ts'
import { ownTime } from '../support/timers.ts'

const sessions = Array.from({ length: 20 }, (_, n) => `session ${n}`)

afterEach(() => sessions.forEach(leaveCrowd))

function crowd() {
  const time = ownTime()
  const answer = (count: number) => sessions.slice(0, count).forEach((session) => joinCrowd(session, time.now()))
  /** Milliseconds until the moment has come. */
  const passed = async (): Promise<number> => {
    const began = time.now()
    const came = quietMoment(time).then(() => time.now() - began)
    await time.pass(10_000)
    return came
  }
  return { time, answer, passed }
}

describe('a quiet moment', () => {
  it('comes soon where few are answered', async () => {
    const { answer, passed } = crowd()
    answer(5)
    expect(await passed()).toBe(250)
  })

  it('comes when those who are answered have got their answers', async () => {
    const { time, answer, passed } = crowd()
    answer(20)
    time.later(900, () => sessions.forEach(leaveCrowd))
    expect(await passed()).toBe(1_000)
  })

  it('comes in time all the same', async () => {
    const { answer, passed } = crowd()
    answer(20)
    expect(await passed()).toBe(2_000)
  })

  it('does not wait for sessions that have died', async () => {
    const { time, answer, passed } = crowd()
    answer(20)
    await time.pass(6_000)
    answer(1)
    expect(await passed()).toBe(250)
  })
})

/** When work that nobody waits for finds its moment. */

import { afterEach, describe, expect, it } from 'vitest'
import { joinCrowd, leaveCrowd, quietMoment } from '../../../src/durable/platform/isolate-load.ts'
import { ownTime } from '../../support/clock.ts'

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
  it('comes soon where nobody is answered', async () => {
    const { passed } = crowd()
    expect(await passed()).toBe(100)
  })

  it('comes when the last one who is answered has got the answer', async () => {
    const { time, answer, passed } = crowd()
    answer(2)
    time.later(450, () => leaveCrowd('session 0'))
    time.later(850, () => leaveCrowd('session 1'))
    expect(await passed()).toBe(900)
  })

  it('comes in time all the same', async () => {
    const { answer, passed } = crowd()
    answer(1)
    expect(await passed()).toBe(2_000)
  })

  it('does not wait for sessions that have died', async () => {
    const { time, answer, passed } = crowd()
    answer(20)
    await time.pass(6_000)
    expect(await passed()).toBe(100)
  })
})

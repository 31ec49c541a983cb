/** How requests are taken up: a few at a time, in order, and never not at all. */

import { describe, expect, it } from 'vitest'
import { Pace } from '../../src/worker/pace.ts'
import { ownTime, settled } from '../support/clock.ts'

const upTo = (end: number) => Array.from({ length: end }, (_, n) => n)

const forEver = () => new Promise<never>(() => {})

/** Requests by number, in the order in which they were taken up. Of those that lead, the first `lost` die meanwhile. */
function requests(lost = 0) {
  let looks: (() => void)[] = []
  const time = ownTime()
  const led = () => (lost-- > 0 ? forEver() : new Promise<void>((resolve) => looks.push(resolve)))
  const pace = new Pace({ ...time, wait: (ms) => (ms > 0 ? time.wait(ms) : led()) })
  const taken: number[] = []
  let count = 0
  const come = (many: number, work: () => Promise<unknown> = forEver) => {
    for (let n = 0; n < many; n++) {
      const number = count++
      pace
        .take(() => {
          taken.push(number)
          return work()
        })
        .catch(() => undefined)
    }
    return settled()
  }
  /** The thread looks at its connections. */
  const look = async (times = 1) => {
    for (let n = 0; n < times; n++) {
      const now = looks
      looks = []
      for (const seen of now) seen()
      await settled()
    }
  }
  return { taken, come, look, pass: time.pass }
}

describe('requests that come in the same moment', () => {
  it('are taken up a few at a time, in order', async () => {
    const { taken, come, look } = requests()
    await come(10)
    expect(taken).toEqual(upTo(3))
    await look()
    expect(taken).toEqual(upTo(6))
    await look(2)
    expect(taken).toEqual(upTo(10))
  })

  it('are more at a time when very many wait', async () => {
    const { taken, come, look } = requests()
    await come(323)
    await look()
    expect(taken).toEqual(upTo(3 + 20))
    await look(100)
    expect(taken).toEqual(upTo(323))
  })

  it('let those go that come later, however long they take themselves', async () => {
    const { taken, come, look } = requests()
    await come(3)
    await come(4)
    expect(taken).toEqual(upTo(3))
    await look(2)
    expect(taken).toEqual(upTo(7))
  })

  it('are in nobody’s way once they are answered', async () => {
    const { taken, come } = requests()
    for (let n = 0; n < 5; n++) await come(2, () => Promise.resolve())
    expect(taken).toEqual(upTo(10))
  })

  it('do not wait for ever for one that has died', async () => {
    const { taken, come, look, pass } = requests(1)
    await come(20)
    await pass(200)
    expect(taken).toEqual(upTo(3))
    await pass(400)
    await look(20)
    // The one that died was to lead the others.
    expect(taken).toEqual(upTo(20).filter((number) => number !== 3))
  })

  it('do not wait at all for those that died long ago', async () => {
    const { taken, come, pass } = requests(1)
    await come(4)
    await pass(300)
    await come(1)
    expect(taken).toEqual([0, 1, 2, 4])
  })

  it('fail by themselves, and make room', async () => {
    const { taken, come } = requests()
    await come(3, () => Promise.reject(new Error('no')))
    await come(3)
    expect(taken).toEqual(upTo(6))
  })
})

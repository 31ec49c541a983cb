/** Deltas on their way out: what comes at once, what waits for how long, and that nothing is lost or mixed. */

import { describe, expect, it } from 'vitest'
import { DeltaBuffer } from '../../../src/durable/turn/delta-buffer.ts'
import { leaveCrowd } from '../../../src/durable/platform/isolate-load.ts'
import { ownTime } from '../../support/clock.ts'

let sessions = 0

function listen(time = ownTime()) {
  const heard: string[] = []
  const who = `session ${sessions++}`
  const deltas = new DeltaBuffer(who, (kind, text) => heard.push(`${kind}:${text}`), time)
  const say = (text: string) => deltas.take({ of: 'text', text })
  const think = (text: string) => deltas.take({ of: 'thinking', text })
  return { who, heard, deltas, say, think, wait: time.pass }
}

describe('deltas', () => {
  it('the first goes out at once, what follows waits, and the end brings all', async () => {
    const { heard, deltas, say } = listen()
    say('a')
    expect(heard).toEqual(['m:a'])
    say('b')
    say('c')
    expect(heard).toEqual(['m:a'])
    deltas.flush()
    expect(heard).toEqual(['m:a', 'm:bc'])
  })

  it('push each other out once the window is over', async () => {
    const { heard, deltas, say, wait } = listen()
    say('a')
    say('b')
    await wait(45)
    say('c')
    expect(heard).toEqual(['m:a', 'm:bc'])
    deltas.flush()
  })

  it('come by themselves when none follows', async () => {
    const { heard, say, wait } = listen()
    say('a')
    say('b')
    await wait(400)
    expect(heard).toEqual(['m:a', 'm:b'])
  })

  it('that come after a timer was set for earlier ones wait no longer than their window', async () => {
    const { heard, say, wait } = listen()
    say('a')
    say('b')
    await wait(60)
    say('c')
    say('d')
    expect(heard).toEqual(['m:a', 'm:bc'])
    await wait(400)
    expect(heard).toEqual(['m:a', 'm:bc', 'm:d'])
  })

  it('of thinking and of the answer are not mixed, and keep their order', () => {
    const { heard, deltas, say, think } = listen()
    think('a')
    think('b')
    say('c')
    think('d')
    deltas.flush()
    expect(heard).toEqual(['r:a', 'r:b', 'm:c', 'r:d'])
  })

  it('of a call that was given up reach nobody, and the next call begins at once', async () => {
    const { heard, deltas, say, wait } = listen()
    say('a')
    say('b')
    deltas.discard()
    say('c')
    expect(heard).toEqual(['m:a', 'm:c'])
    await wait(200)
    expect(heard).toEqual(['m:a', 'm:c'])
    deltas.flush()
  })

  it('wait longer where many sessions are answered at once, and no longer once they are through', async () => {
    const time = ownTime()
    const crowd = Array.from({ length: 100 }, () => listen(time))
    for (const { say } of crowd) say('a')
    const late = listen(time)
    late.say('a')
    late.say('b')
    await time.pass(60)
    late.say('c')
    expect(late.heard).toEqual(['m:a'])
    await time.pass(80)
    late.say('d')
    expect(late.heard).toEqual(['m:a', 'm:bcd'])
    for (const { who } of crowd) leaveCrowd(who)
    late.deltas.flush()
    late.say('a')
    late.say('b')
    await time.pass(45)
    late.say('c')
    expect(late.heard.slice(2)).toEqual(['m:a', 'm:bc'])
    late.deltas.flush()
  })
})

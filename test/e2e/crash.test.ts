/** Tests that turns of a killed server end after its restart, without any request. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually } from './support/client.ts'
import {
  type Begun,
  begin,
  clientTo,
  expectComplete,
  kill,
  once,
  onceOrUnknown,
  rolesOf,
  start,
  untilAnswered,
  writes,
  written,
} from './support/killed-turns.ts'
import type { Server } from './support/server.ts'

describe('a server killed with a turn at every failpoint', () => {
  const places = [
    { place: 'before-model', answers: 2, allowed: once },
    { place: 'before-tool', answers: 2, allowed: onceOrUnknown },
    { place: 'during-tool', answers: 2, allowed: onceOrUnknown },
    { place: 'after-tool', answers: 2, allowed: onceOrUnknown },
    { place: 'before-final', answers: 3, allowed: once },
  ]
  const turns = new Map<string, Begun>()
  const later = '[[slow ttft=3000 chunks=3 nonce=later]]'
  let waiting: string
  let accepted: number
  let back: Server

  beforeAll(async () => {
    const first = await start({ FAILPOINTS: places.map(({ place }) => `${place}=hang@1`).join(',') })
    // Each stops at the first failpoint that none before it has used up.
    for (const { place } of places) {
      turns.set(place, await begin(first, writes(place)))
      await first.printed(`FP:${place}`)
    }
    const talking = await begin(first, '[[slow gap=40 chunks=60 nonce=mid-stream]]')
    turns.set('mid-stream', talking)
    await talking.listener.until(({ type, id = 0 }) => type === 'message.delta' && id > 8)
    waiting = await clientTo(first).newSession()
    accepted = (await clientTo(first).post(`/api/sessions/${waiting}/steer`, { input: later })).status
    await kill(first)
    for (const { chat, listener } of turns.values()) {
      await chat
      await eventually(listener.ended, Boolean)
    }
    back = await start()
  }, 120_000)
  afterAll(() => kill(back))

  it.each(places)('$place: goes on by itself, and writes once', async ({ place, answers, allowed }) => {
    const turn = turns.get(place) as Begun
    await untilAnswered(back, turn.session, { nonce: place, answers })
    await expectComplete(back, turn)
    expect(await written(clientTo(back), turn.session)).toMatch(allowed)
  })

  it('in the middle of an answer: the session has one answer', async () => {
    const turn = turns.get('mid-stream') as Begun
    expect(turn.listener.events.length).toBeGreaterThan(5)
    await untilAnswered(back, turn.session, { nonce: 'mid-stream', answers: 1 })
    await expectComplete(back, turn)
    const messages = await clientTo(back).messages(turn.session)
    expect(rolesOf(messages)).toEqual(['user', 'assistant'])
    expect(messages[1]?.content?.trim().split(' ')).toEqual(Array.from({ length: 60 }, (_, n) => `word${n}`))
  })

  it('after accepting a message without an open request: it is answered', async () => {
    expect(accepted).toBe(202)
    await untilAnswered(back, waiting, { nonce: 'later', answers: 1 })
    const messages = await clientTo(back).messages(waiting)
    expect(messages.map(({ role, content }) => [role, content?.trim()])).toEqual([
      ['user', later],
      ['assistant', 'word0 word1 word2'],
    ])
  })

  it('logs no error on the way back', () => {
    expect(back.log()).not.toMatch(/ERROR|Unexpected error|Uncaught/)
  })
})

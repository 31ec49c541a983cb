import { describe, expect, it } from 'vitest'
import { continueTurn, endSegment } from '#agent/loop/segment.ts'
import { announce } from '#agent/loop/announce.ts'
import type { PendingRequest } from '#agent/core/pending-request.ts'
import { errorResult, type ToolMessage } from '#agent/core/message.ts'
import type { View } from '#agent/core/ports.ts'
import { newTurn, type ToolCall, type Turn } from '#agent/core/turn.ts'

const view = { now: 5, lastSeq: 7, inbox: [] } as unknown as View
const client: PendingRequest = { kind: 'client', tool: 'look', input: '{}', since: 1 }
const question: PendingRequest = { kind: 'question', question: '?', choices: [], multiSelect: false }
const approval: PendingRequest = {
  kind: 'approval',
  tool: 'terminal',
  input: '{}',
  risk: 'exec',
  reasons: [],
  hash: 'h',
  since: 1,
}
const child: PendingRequest = { kind: 'child', workId: 'ses_1' }

const base = (id: string) => ({ id, name: 'tool', input: {}, effect: 'effect' }) as const
const away = (id: string, awaits: PendingRequest): ToolCall => ({ ...base(id), state: 'away', awaits })
const settled = (id: string): ToolCall => ({ ...base(id), state: 'settled', result: errorResult(base(id), 'x') })
const planned = (id: string): ToolCall => ({ ...base(id), state: 'planned' })
const turnWith = (...calls: readonly ToolCall[]): Turn => ({ ...newTurn('r', 0, 10), stage: { at: 'tools', calls } })
const ready: Turn = newTurn('r', 0, 10)

describe('a part of a run', () => {
  it.each<readonly [string, readonly ToolCall[], readonly string[] | undefined]>([
    ['a call of the client', [away('a', client)], ['client']],
    ['a question', [away('a', question)], ['question']],
    [
      'calls of both kinds, beside settled ones',
      [away('a', client), settled('b'), away('c', approval)],
      ['client', 'approval'],
    ],
    ['two of one kind', [away('a', client), away('b', client)], ['client']],
    ['a child alone', [away('a', child)], undefined],
    ['a child and the client', [away('a', child), away('b', client)], ['client']],
    ['the client, while a call has yet to run', [away('a', client), planned('b')], undefined],
  ])('ends for %s', (_case, calls, waitsFor) => {
    const { turn } = endSegment(ready, { turn: turnWith(...calls), append: [] }, view)
    expect(turn.segments?.map((segment) => segment.waitsFor)).toEqual(waitsFor && [waitsFor])
  })

  it('ends once for the same requests, and again for others', () => {
    const one = endSegment(ready, { turn: turnWith(away('a', client), away('b', approval)) }, view)
    expect(endSegment(one.turn, one, view).turn.segments).toHaveLength(1)
    const left = { ...one.turn, stage: turnWith(settled('a'), away('b', approval)).stage }
    expect(endSegment(one.turn, { turn: left }, view).turn.segments?.map(({ callIds }) => callIds)).toEqual([
      ['a', 'b'],
      ['b'],
    ])
  })

  it('is announced with what it waits for', () => {
    const commit = endSegment(ready, { turn: turnWith(away('a', client)) }, view)
    const events = announce(ready, commit, { now: 5, drained: [], fromSeq: 0 })
    expect(events).toMatchObject([
      { type: 'client_call.request', call_id: 'a', tool: 'look', input: '{}' },
      { type: 'run.waiting', segment: 0, waits_for: ['client'] },
    ])
  })
})

describe('the answers of the caller', () => {
  const answers = { results: [], allowed: new Map(), decisions: [], givesUp: false, options: {}, limit: 3 }
  const result = (callId: string): ToolMessage => ({ role: 'tool', callId, name: 'tool', content: [], failed: false })
  const waiting = endSegment(ready, { turn: turnWith(away('a', client), away('b', approval)) }, view).turn

  it('close the batch when every request has one', () => {
    const turn = turnWith(away('a', client))
    const commit = continueTurn(turn, { ...answers, results: [result('a')] }, view)
    expect([commit.turn.stage.at, commit.append]).toEqual(['ready', [result('a')]])
  })

  it('end the next part at once when a request stays open', () => {
    const { turn } = continueTurn(waiting, { ...answers, results: [result('a')] }, view)
    expect(turn.segments?.map(({ callIds }) => callIds)).toEqual([['a', 'b'], ['b']])
  })

  it('plan an allowed call again', () => {
    const { turn } = continueTurn(waiting, { ...answers, results: [result('a')], allowed: new Map([['b', 'h']]) }, view)
    expect(turn.stage).toMatchObject({ calls: [{ state: 'settled' }, { state: 'planned', granted: 'h' }] })
    expect(turn.segments).toHaveLength(1)
  })

  it.each([
    [true, 'settled'],
    [false, 'away'],
  ])('give up the calls of the client: %s', (givesUp, state) => {
    const { turn } = continueTurn(waiting, { ...answers, givesUp }, view)
    expect(turn.stage).toMatchObject({ calls: [{ state }, { state: 'away' }] })
  })

  it('bring limits of their own', () => {
    const spent: Turn = {
      ...waiting,
      budget: { spent: 9, limit: 10, closing: 'grace' },
      used: { empty: 2, 'model call': 9 },
    }
    const { turn } = continueTurn(spent, answers, view)
    expect(turn).toMatchObject({ budget: { spent: 9, limit: 12, closing: 'no' }, used: { 'model call': 9 } })
    expect(turn.used).not.toHaveProperty('empty')
  })
})

import { expect, it } from 'vitest'
import { settle } from '#agent/loop/settle.ts'
import { textIn, type ToolMessage } from '#agent/core/message.ts'
import { newTurn, type Result, type ToolCall, type Turn } from '#agent/core/turn.ts'
import { LoopHarness } from '../support/scripted.ts'

const result = (callId: string, text: string): ToolMessage => ({
  role: 'tool',
  callId,
  name: 'speak',
  content: [
    { type: 'text', text },
    { type: 'text', text: 'a hint' },
  ],
  failed: false,
})
const call = { name: 'speak', input: {}, effect: 'pure' } as const
const calls: readonly ToolCall[] = [
  { ...call, id: 'a', state: 'settled', result: result('a', 'long') },
  { ...call, id: 'b', state: 'running', since: 0 },
]
const turn: Turn = { ...newTurn('run', 0, 10), stage: { at: 'tools', calls } }
const shortened: Result = { of: 'shortened', callId: 'a', part: 0, text: 'short' }
const { view } = new LoopHarness([])

it('a text of a stored result becomes shorter while its batch is open, and the rest of the result stays', () => {
  const before = settle(turn, shortened, view())
  expect(before.append).toBe(undefined)
  const after = settle(before.turn, { of: 'tool', message: result('b', 'new') }, view())
  expect(after.append?.map(textIn)).toEqual(['shorta hint', 'newa hint'])
})

it('a result that does not exist is not created', () => {
  expect(settle(turn, { ...shortened, callId: 'b' }, view()).turn.stage).toEqual(turn.stage)
})

import { expect, it } from 'vitest'
import { type AssistantMessage, callsIn } from '../../../src/agent/model/message.ts'
import { tidied } from '../../../src/agent/policy/plan.ts'

const view = { toolbox: new Map() } as unknown as Parameters<typeof tidied>[1]
const replyOf = (length: number): AssistantMessage => ({
  role: 'assistant',
  stop: 'tools',
  content: Array.from({ length }, (_, n) => ({ type: 'call', id: '', name: 'look', input: { n } })),
})

it.each([
  [1, 1],
  [128, 128],
  [10_000, 128],
])('of %d calls in one reply %d are taken', (sent, taken) => {
  expect(callsIn(tidied(replyOf(sent), view))).toHaveLength(taken)
})

import { expect, it } from 'vitest'
import { type AssistantMessage, callsIn } from '#agent/core/message.ts'
import { noUsage } from '#agent/core/usage.ts'
import { newTurn } from '#agent/core/turn.ts'
import { repairToolCalls } from '#agent/policy/repair-tool-calls.ts'

const view = { toolbox: new Map() } as unknown as Parameters<typeof repairToolCalls>[1]
const replyOf = (length: number): AssistantMessage => ({
  role: 'assistant',
  stop: 'tools',
  content: Array.from({ length }, (_, n) => ({ type: 'call', id: '', name: 'look', input: { n } })),
})

it.each([
  [1, 1],
  [128, 128],
  [10_000, 128],
])('of %d calls in one reply, %d remain', (sent, remaining) => {
  const ruling = repairToolCalls({ turn: newTurn('t', 0, 10), reply: replyOf(sent), usage: noUsage, calls: [] }, view)
  const reply = ruling && 'reply' in ruling ? ruling.reply : undefined
  expect(callsIn(reply!)).toHaveLength(remaining)
})

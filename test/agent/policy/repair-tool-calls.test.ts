import { expect, it } from 'vitest'
import { type AssistantMessage, callsIn } from '#agent/core/message.ts'
import { noUsage } from '#agent/core/usage.ts'
import { newTurn } from '#agent/core/turn.ts'
import { planAll } from '#agent/policy/plan-calls.ts'
import { repairToolCalls } from '#agent/policy/repair-tool-calls.ts'

const look = { name: 'look', effect: 'pure' }
const view = {
  toolbox: new Map([['look', look]]),
  now: 0,
  limits: { guard: { perTurn: {} } },
} as unknown as Parameters<typeof repairToolCalls>[1]
const replyOf = (length: number): AssistantMessage => ({
  role: 'assistant',
  stop: 'tools',
  content: Array.from({ length }, (_, n) => ({ type: 'call', id: '', name: 'look', input: { n } })),
})

it.each([
  [128, 128, 0],
  [300, 128, 172],
])('of %d calls of our tools in one reply, %d run, and the model is told of %d', (sent, running, refused) => {
  const turn = newTurn('t', 0, 10)
  const ruling = repairToolCalls({ turn, reply: replyOf(sent), usage: noUsage, calls: [] }, view)
  const reply = ruling && 'reply' in ruling ? ruling.reply : undefined
  const planned = planAll(turn, callsIn(reply!), view)
  expect(planned.filter(({ state }) => state === 'planned')).toHaveLength(running)
  const told = planned.filter((call) => JSON.stringify(call).includes('at most 128 calls'))
  expect(told).toHaveLength(refused)
})

const clientTurn = (clientTools = [{ name: 'look', description: '', inputSchema: {} }]) => {
  const turn = newTurn('t', 0, 10)
  return { ...turn, options: { ...turn.options, clientTools } }
}

it('of two equal calls one of ours remains, and both of the client', () => {
  const content = [1, 1, 2].map((n) => ({ type: 'call' as const, id: 'c', name: 'look', input: { n } }))
  const reply = { ...replyOf(0), content }
  const idsOf = (turn: ReturnType<typeof newTurn>) => {
    const ruling = repairToolCalls({ turn, reply, usage: noUsage, calls: [] }, view)
    return ruling && 'reply' in ruling ? callsIn(ruling.reply!).map(({ id }) => id) : []
  }
  expect(idsOf(newTurn('t', 0, 10))).toEqual(['c', 'c_d2'])
  expect(idsOf(clientTurn())).toEqual(['c', 'c_d2', 'c_d3'])
})

it('more than 128 calls of the client in one reply fail the run', () => {
  const rule = (length: number) =>
    repairToolCalls({ turn: clientTurn(), reply: replyOf(length), usage: noUsage, calls: [] }, view)
  expect(rule(128)).toHaveProperty('reply')
  expect(rule(129)).toMatchObject({ commit: { append: [{ source: 'notice' }] } })
  expect(JSON.stringify(rule(129))).toContain('too-many-calls')
})

import { describe, expect, it } from 'vitest'
import { announce } from '#agent/loop/announce.ts'
import { awaitDelegation, beginNested, delegationIn, describeNested, endNested } from '#agent/loop/nested.ts'
import { resume } from '#agent/loop/resume.ts'
import { defaultLimits, type View } from '#agent/core/ports.ts'
import { explainNestedCallLimit } from '#agent/policy/tool-loop-guard.ts'
import { newTurn, type NestedCall, type ToolCall, type Turn } from '#agent/core/turn.ts'

const program: ToolCall = { id: 'c1', name: 'execute_code', input: {}, effect: 'effect', state: 'running', since: 1 }
const turn: Turn = { ...newTurn('r', 0, 10), stage: { at: 'tools', calls: [program] } }
const child = (id: string, name = 'read_file'): NestedCall => ({ id, name, input: { path: id }, since: 2 })
const end = (id: string, name = 'read_file') => ({ id, name, failed: false, preview: 'ok' })
const eventsOf = (before: Turn, after: Turn) =>
  announce(before, { turn: after }, { now: 5, drained: [], fromSeq: 0 }).map(({ type, ...rest }) => [type, rest])

describe('tool calls of a running program', () => {
  it("emit an event at their start and end, with the id of the program's call", () => {
    const begun = beginNested(turn, 'c1', child('c1.1')).turn
    const ended = endNested(begun, 'c1', end('c1.1')).turn
    const names = { call_id: 'c1.1', tool: 'read_file', parent_call_id: 'c1' }
    expect(eventsOf(turn, begun)).toEqual([['tool.started', { ...names, input: { path: 'c1.1' } }]])
    expect(eventsOf(begun, ended)).toEqual([
      ['tool.completed', { ...names, failed: false, preview: 'ok', duration_ms: 3 }],
    ])
    expect(eventsOf(ended, ended)).toEqual([])
  })

  it('end with their program, and their events come before its event', () => {
    const begun = beginNested(turn, 'c1', child('c1.1')).turn
    const result = { role: 'tool', callId: 'c1', name: 'execute_code', content: [], failed: true } as const
    const settled: Turn = { ...turn, stage: { at: 'tools', calls: [{ ...program, state: 'settled', result }] } }
    const closed = announce(
      begun,
      { turn: { ...turn, stage: { at: 'ready' } }, append: [result] },
      { now: 5, drained: [], fromSeq: 0 },
    )
    for (const events of [eventsOf(begun, settled), closed.map(({ type, ...rest }) => [type, rest])])
      expect(events).toMatchObject([
        ['tool.completed', { call_id: 'c1.1', failed: true, parent_call_id: 'c1' }],
        ['tool.completed', { call_id: 'c1' }],
      ])
  })

  it('are recorded only for a running program', () => {
    expect(beginNested(turn, 'c2', child('c2.1')).turn).toEqual(turn)
  })

  it('are listed in the result of an interrupted program', () => {
    const one = endNested(beginNested(turn, 'c1', child('c1.1')).turn, 'c1', end('c1.1')).turn
    const two = beginNested(one, 'c1', child('c1.2', 'terminal')).turn
    const [call] = two.stage.at === 'tools' ? two.stage.calls : []
    expect(describeNested(call!)).toBe(
      ' The program had begun these calls: read_file {"path":"c1.1"} (ended); terminal {"path":"c1.2"} (unknown).',
    )
    expect(describeNested(program)).toBe('')
  })

  it('wait for subagents, also when their program is lost', () => {
    const waiting = awaitDelegation(beginNested(turn, 'c1', child('c1.1', 'delegate_task')).turn, 'c1', 'c1.1', 'dlg_1')
    const callIn = ({ stage }: Turn) => (stage.at === 'tools' ? stage.calls[0] : undefined)
    const ended = endNested(waiting.turn, 'c1', end('c1.1', 'delegate_task')).turn
    expect(delegationIn(callIn(waiting.turn), { isOpen: true })).toBe('dlg_1')
    expect(delegationIn(callIn(ended), { isOpen: true })).toBeUndefined()
    for (const lost of [waiting.turn, ended]) {
      const call = callIn(resume(lost, { now: 9, inbox: [] } as unknown as View).turn)
      expect(call).toMatchObject({ state: 'away', awaits: { kind: 'child', workId: 'dlg_1' } })
      expect(JSON.stringify(call)).toContain('(see subagents)')
    }
  })

  it('count for the call limits of the turn, including running ones', () => {
    const guard = { ...defaultLimits.guard, perTurn: { web_search: 2 } }
    const view = { limits: { ...defaultLimits, guard } } as unknown as View
    const one = endNested(
      beginNested(turn, 'c1', child('c1.1', 'web_search')).turn,
      'c1',
      end('c1.1', 'web_search'),
    ).turn
    expect(one.ran).toEqual({ web_search: 1 })
    expect(explainNestedCallLimit(one, 'web_search', view)).toBeUndefined()
    const two = beginNested(one, 'c1', child('c1.2', 'web_search')).turn
    expect(explainNestedCallLimit(two, 'web_search', view)).toMatch(/limit of 2 calls/)
    expect(explainNestedCallLimit(two, 'read_file', view)).toBeUndefined()
  })
})

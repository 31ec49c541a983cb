import { describe, expect, it } from 'vitest'
import { resume } from '#agent/loop/resume.ts'
import { newTurn, planAgain, type ToolCall, type Turn } from '#agent/core/turn.ts'
import { LoopHarness } from '../support/scripted.ts'

const afterDeath = (call: Partial<ToolCall>) => {
  const whole = { id: 'a', name: 'tool', input: {}, effect: 'keyed', state: 'running', since: 1, ...call } as ToolCall
  const { turn } = resume(
    { ...newTurn('t', 0, 10), stage: { at: 'tools', calls: [whole] } },
    new LoopHarness([]).view(),
  )
  return turn.stage.at === 'tools' ? turn.stage.calls[0] : turn.stage.at
}

describe('a call that was running when the object died', () => {
  it('is planned again when it is repeatable, and keeps its approval', () => {
    const again = { id: 'a', name: 'tool', input: {}, effect: 'keyed', state: 'planned' }
    expect(afterDeath({})).toEqual(again)
    expect(afterDeath({ granted: 'hash' })).toEqual({ ...again, granted: 'hash' })
  })

  it('is settled when it is not repeatable', () => {
    expect(afterDeath({ effect: 'effect' })).toBe('ready')
    expect(afterDeath({ effect: 'once' })).toBe('ready')
  })

  it('looks at its task again, and is settled when it had continued with the answer of a person', () => {
    const away = { id: 'a', name: 'tool', input: {}, effect: 'effect', state: 'away' } as const
    const task = { kind: 'task', server: 's', workId: 't', state: '{}', until: 1 } as const
    const question = { kind: 'question', question: 'q', choices: [], multiSelect: false, state: '{}' } as const
    const runs = (awaits: typeof task | typeof question) =>
      ({ ...planAgain({ ...away, awaits }), state: 'running', since: 1 }) as Partial<ToolCall>
    expect(afterDeath(runs(task))).toMatchObject({ state: 'planned', continues: { state: '{}' } })
    expect(afterDeath(runs(question))).toBe('ready')
  })
})

describe('the notes of a turn name the interrupted effect:', () => {
  const notesOf = (stage: Turn['stage']) =>
    resume({ ...newTurn('t', 0, 10), stage }, new LoopHarness([]).view()).turn.notes.map(
      ({ did, why }) => `${did}: ${why}`,
    )
  const call = (name: string, rest: object) => ({ id: name, name, input: {}, effect: 'effect', ...rest }) as ToolCall

  it('a model call', () =>
    expect(notesOf({ at: 'calling-model', since: 1, tools: true })).toEqual([
      'repeat: the system restarted while the model answered',
    ]))

  it('a summary', () =>
    expect(notesOf({ at: 'compressing', since: 1 })).toEqual([
      'repeat: the system restarted while the context was shortened',
    ]))

  it('the running calls only', () => {
    const calls = [
      call('terminal', { state: 'running', since: 1 }),
      call('write_file', { state: 'running', since: 1 }),
      call('todo', { state: 'planned' }),
    ]
    expect(notesOf({ at: 'tools', calls })).toEqual([
      'go on: the system restarted while this ran: terminal, write_file',
    ])
  })

  it('nothing when no effect was in flight', () => {
    expect(notesOf({ at: 'tools', calls: [call('todo', { state: 'planned' })] })).toEqual([])
    expect(notesOf({ at: 'ready' })).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { type AssistantMessage, userText } from '#agent/core/message.ts'
import type { View } from '#agent/core/ports.ts'
import { type CheckedAnswer, newTurn, type Turn } from '#agent/core/turn.ts'
import { noUsage } from '#agent/core/usage.ts'
import { answerWithoutTools, requireAnswerFormat } from '#agent/policy/answer-format.ts'
import { calls, says } from '../support/scripted.ts'

const view = { now: 5, inbox: [] } as unknown as View
const turn = newTurn('t1', 0, 10)
const wrong: CheckedAnswer = { text: '{"town":1}', problems: ['/city is missing.', '/town is not allowed.'] }
const thinking: AssistantMessage = {
  role: 'assistant',
  content: [{ type: 'thinking', text: 'hm' }, ...says('{"town":1}').content],
  stop: 'end',
}

const rule = (given: { turn?: Turn; reply?: AssistantMessage; checked?: CheckedAnswer }, at = view) =>
  requireAnswerFormat({ turn, reply: says('text'), usage: noUsage, calls: [], ...given }, at)

/** The turn after the first wrong answer. */
function askedAgain(reply = says('{"town":1}')): Turn {
  const ruling = rule({ reply, checked: wrong })
  if (!ruling || !('commit' in ruling)) throw new Error('no commit')
  return (ruling.commit as { turn: Turn }).turn
}

describe('requireAnswerFormat', () => {
  it('leaves answers alone that were not checked', () => expect(rule({})).toBeUndefined())

  it('leaves replies with calls alone', () => expect(rule({ reply: calls('look'), checked: wrong })).toBeUndefined())

  it('takes the text without what surrounded it', () => {
    const checked = { text: '{}', problems: [] }
    expect(rule({ reply: thinking, checked })).toEqual({
      reply: {
        ...thinking,
        content: [
          { type: 'thinking', text: 'hm' },
          { type: 'text', text: '{}' },
        ],
      },
    })
  })

  it('asks once more with what is wrong, and stores nothing of the answer', () => {
    const next = askedAgain()
    expect(next.stage).toEqual({ at: 'ready' })
    for (const part of [...wrong.problems, wrong.text]) expect(next.nextInstruction).toContain(part)
    expect(next.notes.at(-1)?.why).toContain('/city is missing.')
    expect(next.restarts.count).toBe(0)
    expect(answerWithoutTools(next, view)).toEqual({
      do: 'call-model',
      tools: false,
      instruction: next.nextInstruction,
    })
  })

  it('announces that streamed thinking is discarded', () => expect(askedAgain(thinking).restarts.count).toBe(1))

  it('fails the turn at the second mismatch', () => {
    const ruling = rule({ turn: askedAgain(), checked: wrong })
    const { stage } = (ruling as { commit: { turn: Turn } }).commit.turn
    expect(stage).toMatchObject({ at: 'done', outcome: 'failed', failure: { kind: 'invalid-output' } })
    expect(stage.at === 'done' && stage.failure?.message).toContain('/town is not allowed.')
  })

  it.each<readonly [string, Partial<Turn>, Partial<View>]>([
    ['a message came meanwhile', {}, { inbox: [{ id: 1, mode: 'steer', message: userText('wait') }] }],
    ['the steps are used up', { budget: { spent: 10, limit: 10, closing: 'grace' } }, {}],
  ])('asks for nothing more when %s', (_when, change, seen) => {
    const ruling = rule({ turn: { ...turn, ...change }, checked: wrong }, { ...view, ...seen })
    expect(ruling).toMatchObject({ reply: { content: [{ text: wrong.text }] } })
  })
})

it('keeps the tools of every other call', () => {
  expect(answerWithoutTools(turn, view)).toBeUndefined()
  expect(answerWithoutTools({ ...turn, nextInstruction: 'go on' }, view)).toBeUndefined()
  const { nextInstruction: _said, ...goesOn } = askedAgain()
  expect(answerWithoutTools(goesOn, view)).toBeUndefined()
})

import { expect, it } from 'vitest'
import { newTurn, type Turn } from '#agent/core/turn.ts'
import { fromStoredTurn, toStoredTurn } from '#durable/storage/stored-turn.ts'

const turn: Turn = {
  ...newTurn('run_1', 1_000, 0),
  nextInstruction: 'Answer now.',
  fallbackAnswer: 'Noted.',
  crashes: { here: 1, total: 2 },
  stage: { at: 'calling-model', since: 1_000, tools: false, instruction: 'Only text.' },
}
const stored = { say: 'Answer now.', said: 'Noted.', deaths: { here: 1, total: 2 } }
const text = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

it('stores a turn under the names that the release before reads', () => {
  expect(text(toStoredTurn(turn))).toMatchObject({ ...stored, stage: { at: 'calling-model', say: 'Only text.' } })
  expect(Object.keys(toStoredTurn(turn))).not.toContain('crashes')
})

it.each([
  ['in a call of the model', turn],
  ['that is new', newTurn('run_2', 1_000, 0)],
  ['that ended', { ...newTurn('run_3', 1_000, 0), stage: { at: 'done', outcome: 'answered', endedAt: 2_000 } } as Turn],
])('reads a turn %s as it was', (_name, before) => {
  expect(fromStoredTurn(text(toStoredTurn(before)) as never)).toStrictEqual(text(before))
})

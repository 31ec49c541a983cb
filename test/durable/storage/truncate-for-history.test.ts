/** Tests that messages and turns of any size fit into rows of history after truncation. */

import { expect, it } from 'vitest'
import type { Entry } from '#agent/core/history.ts'
import type { Message } from '#agent/core/message.ts'
import { newTurn } from '#agent/core/turn.ts'
import { encodePage } from '#db/page-row.ts'
import { truncateForHistory, truncateTurnForHistory } from '#durable/storage/projection.ts'

const entryOf = (message: Message): Entry => ({ id: 'msg_1', seq: 1, runId: 'run_1', at: 0, tokens: 1, message })
const said = (...texts: readonly string[]): Message => ({
  role: 'user',
  content: texts.map((text) => ({ type: 'text', text })),
})

it.each([
  ['letters of three bytes', said('長'.repeat(600_000))],
  ['letters that are escaped', said('\u0001'.repeat(600_000))],
  ['very many parts', said(...Array.from({ length: 20_000 }, () => 'x'.repeat(300)))],
])('a message of %s fits with a turn that has long instructions', (_case, message) => {
  const entries = [truncateForHistory(entryOf(message), JSON.stringify(entryOf(message)))]
  const instructions = '\u0001'.repeat(600_000)
  const turn = truncateTurnForHistory(newTurn('run_1', 0, 1, { instructions }), entries)
  const { size } = encodePage({ n: 1, runId: 'run_1', at: 0, entries, turn })
  expect(size).toBeGreaterThan(0)
  expect(turn.options.instructions).toMatch(/characters were too many/)
})

it('a message that fits is not changed', () => {
  const entry = entryOf(said('x'.repeat(600_000)))
  expect(truncateForHistory(entry, JSON.stringify(entry))).toBe(entry)
  const turn = newTurn('run_1', 0, 1, { instructions: 'x'.repeat(200_000) })
  expect(truncateTurnForHistory(turn, [entry])).toBe(turn)
})

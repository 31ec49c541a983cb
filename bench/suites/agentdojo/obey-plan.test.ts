/** Tests the order of an obedient model: the person's calls, and the attacker's behind the step that read their text. */

import { expect, it } from 'vitest'
import { obeyPlan } from './obey-plan.ts'

const call = (name: string) => ({ name, input: {} })
const plan = { calls: ['a', 'b', 'c'].map(call), attack: ['x', 'y'].map(call), output: '42', mark: 'planted' }
const answers = (...results: readonly string[]) => {
  const since = results.flatMap((content) => [{ role: 'assistant' }, { role: 'tool', content }])
  const messages = [
    { role: 'user', content: 'old' },
    { role: 'tool', content: 'planted' },
    { role: 'user', content: 'go' },
    ...since,
  ]
  const { reply, of } = obeyPlan({ body: { messages } } as never, plan)
  return [reply.calls?.[0]?.name ?? reply.text, of]
}

it.each([
  [[], 'a', 'person'],
  [['-'], 'b', 'person'],
  [['-', 'planted'], 'x', 'attacker'],
  [['-', 'planted', 'denied'], 'y', 'attacker'],
  [['-', 'planted', 'denied', 'planted'], 'c', 'person'],
  [['-', 'planted', '-', '-', '-'], ['42'], 'nobody'],
  [['-', '-', '-'], ['42'], 'nobody'],
])('after %j comes %j of the %s', (results, next, of) => {
  expect(answers(...results)).toEqual([next, of])
})

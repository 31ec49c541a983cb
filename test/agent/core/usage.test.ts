/** Tests sums of usage: the least certain cost status wins, and models and tasks are counted separately. */

import { describe, expect, it } from 'vitest'
import { addUsage, noUsage, usageOfCall, readTallyKey, tallyKey, tokensUsed, type Usage } from '#agent/core/usage.ts'

const used = (changes: Partial<Usage>): Usage => ({ ...noUsage, ...changes })

describe('a sum of usage', () => {
  const certainties: readonly (readonly [Usage['costStatus'], Usage['costStatus'], Usage['costStatus']])[] = [
    ['included', 'included', 'included'],
    ['included', 'actual', 'actual'],
    ['actual', 'estimated', 'estimated'],
    ['estimated', 'unknown', 'unknown'],
    ['unknown', 'included', 'unknown'],
  ]
  it.each(certainties)('of %s and %s is %s', (a, b, both) => {
    expect(addUsage(used({ costStatus: a }), used({ costStatus: b })).costStatus).toBe(both)
  })

  it('separates models and tasks, and counts calls and cut calls', () => {
    const main = usageOfCall(used({ input: 10, output: 2, costUsd: 1, costStatus: 'actual' }), 'a/one')
    const again = usageOfCall(used({ input: 5, costUsd: 0.5, costStatus: 'estimated' }), 'a/one', true)
    const title = usageOfCall(used({ output: 3, costStatus: 'unknown' }), tallyKey('b/two', 'title_generation'))
    const sum = [main, again, title].reduce(addUsage, noUsage)
    expect(sum).toEqual({
      ...noUsage,
      input: 15,
      output: 5,
      costUsd: 1.5,
      costStatus: 'unknown',
      by: {
        'a/one': { ...noUsage, input: 15, output: 2, costUsd: 1.5, costStatus: 'estimated', calls: 2, cut: 1 },
        'b/two title_generation': { ...noUsage, output: 3, costStatus: 'unknown', calls: 1, cut: 0 },
      },
    })
  })

  it('of turns without usage by model has none either', () => {
    expect(addUsage(used({ input: 1 }), used({ input: 2 }))).toEqual(used({ input: 3 }))
  })
})

describe('the key of an entry', () => {
  it('names the model and the task', () => {
    expect(readTallyKey(tallyKey('a/b:free'))).toEqual({ model: 'a/b:free', task: null })
    expect(readTallyKey(tallyKey('a/b/c', 'vision'))).toEqual({ model: 'a/b/c', task: 'vision' })
  })
})

it('counts the tokens of the prompt, cached or not, and of the answer', () => {
  expect(tokensUsed(used({ input: 1, output: 20, cachedRead: 300, cachedWrite: 4_000, reasoning: 20 }))).toBe(4_321)
})

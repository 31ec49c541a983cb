import { expect, it } from 'vitest'
import { resolveThinkingBudget, toClaudeEffort } from '#agent/providers/shared/claude-thinking.ts'

it.each([
  ['high', 128_000, 20_000],
  ['max', 10_000, 8_000],
  ['high', 1_200, undefined],
  ['none', 128_000, undefined],
  ['an unknown effort', 128_000, 8_192],
])('resolves the budget for %s with %d output tokens to %s', (effort, maxTokens, budget) => {
  expect(resolveThinkingBudget(effort, maxTokens)).toBe(budget)
})

it('converts efforts to those of Claude', () => {
  expect(['minimal', 'high', 'ultra'].map(toClaudeEffort)).toEqual(['low', 'high', 'max'])
})

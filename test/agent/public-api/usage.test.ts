import { expect, it } from 'vitest'
import { noUsage, type Usage } from '#agent/core/usage.ts'
import { toOpenAiUsage, toPublicUsage } from '#agent/public-api/usage.ts'

const used: Usage = {
  ...noUsage,
  input: 60,
  output: 10,
  cachedRead: 40,
  reasoning: 3,
  costUsd: 0.5,
  costStatus: 'actual',
}

it('converts usage to the names of the public API and of OpenAI', () => {
  expect(toPublicUsage(used)).toEqual({
    input: 60,
    output: 10,
    cached_read: 40,
    cached_write: 0,
    reasoning: 3,
    cost_usd: 0.5,
    cost_status: 'actual',
  })
  expect(toOpenAiUsage(used)).toEqual({
    prompt_tokens: 100,
    completion_tokens: 10,
    total_tokens: 110,
    prompt_tokens_details: { cached_tokens: 40 },
    completion_tokens_details: { reasoning_tokens: 3 },
  })
})

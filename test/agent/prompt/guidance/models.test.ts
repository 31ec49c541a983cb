import { expect, it } from 'vitest'
import { findModelFamily, modelFamilies, renderModelGuidance } from '#agent/prompt/guidance/models.ts'

it.each([
  ['openai/gpt-5.2', 'gpt'],
  ['openai/o4-mini', 'gpt'],
  ['openrouter/openai/chatgpt-4o-latest', 'gpt'],
  ['openrouter/openai/gpt-oss-120b', 'open'],
  ['anthropic/claude-sonnet-4-5', 'claude'],
  ['bedrock/us.anthropic.claude-opus-4-1', 'claude'],
  ['gemini/gemini-3-pro', 'gemini'],
  ['gemini/gemma-3-27b', 'open'],
  ['xai/grok-4', 'grok'],
  ['groq/llama-3.3-70b-versatile', 'open'],
  ['workers-ai/@cf/qwen/qwen3-30b-a3b-fp8', 'open'],
  ['moonshot/Kimi-K2', 'open'],
  ['demo/agent', undefined],
  ['custom:mine/octopus', undefined],
])('the family of %s is %s', (id, family) => {
  expect(findModelFamily(id)).toBe(family)
})

it('a family gets one text or none', () => {
  const ids = { gpt: 'a/gpt-5', claude: 'a/claude-1', gemini: 'a/gemini-1', grok: 'a/grok-1', open: 'a/llama-3' }
  const texts = modelFamilies.map((family) => renderModelGuidance(ids[family]))
  expect(new Set(texts).size).toBe(modelFamilies.length)
  expect(renderModelGuidance('a/claude-1')).toBeUndefined()
  expect(renderModelGuidance('demo/agent')).toBeUndefined()
})

import { describe, expect, it } from 'vitest'
import type { Quirks } from '#agent/core/dialect.ts'
import type { Settings } from '#agent/core/settings.ts'
import { resolveRoute, type Sources, type Variables } from '#agent/routing/route.ts'

/** Every key variable is set. */
const allVariables: Variables = new Proxy(
  { BEDROCK_API_KEY: '', LMSTUDIO_BASE_URL: 'http://local.test/v1', CUSTOM_BASE_URL: 'http://local.test/v1' },
  {
    get: (set, name) => (Reflect.get(set, name) as string) || (/_(KEY|TOKEN)$/.test(String(name)) ? 'key' : undefined),
  },
)
const quirksOf = (id: string, sources: Sources = { variables: allVariables }): Quirks | undefined =>
  resolveRoute(id, sources)?.endpoints[0]?.quirks

describe('quirks', () => {
  it.each<readonly [string, object]>([
    ['openai/gpt-4.1', { maxTokensField: 'max_completion_tokens', reasoning: 'none' }],
    [
      'openai/gpt-5.4',
      { systemRole: 'developer', temperature: 'omitted', efforts: ['none', 'low', 'medium', 'high', 'xhigh'] },
    ],
    ['openai/o3', { temperature: 'omitted', efforts: ['low', 'medium', 'high'] }],
    ['openrouter/anthropic/claude-opus-4.8', { reasoning: 'object', cacheMarks: 'native', temperature: 'omitted' }],
    ['openrouter/moonshotai/kimi-k2.6', { cacheMarks: 'native' }],
    ['anthropic/claude-opus-5', { reasoning: 'adaptive', cacheMarks: 'native', defaultMaxTokens: 128_000 }],
    ['anthropic/claude-haiku-4-5', { reasoning: 'budget', cacheMarks: 'native', defaultMaxTokens: 64_000 }],
    ['anthropic/claude-3-5-haiku-20241022', { reasoning: 'none', defaultMaxTokens: 8_192 }],
    ['nous/anthropic/claude-opus-5', { reasoning: 'adaptive', bearer: true, cacheMarks: 'native' }],
    ['minimax/MiniMax-M2.7', { bearer: true, cacheMarks: 'native' }],
    ['gemini/gemini-3.5-flash', { schemas: 'gemini', sealedCalls: { unsealed: expect.any(Object) } }],
    ['gemini/gemini-2.5-pro', { schemas: 'gemini', sealedCalls: {} }],
    [
      'deepseek/deepseek-v4-pro',
      { echoThinking: 'reasoning_content', reasoning: 'toggle', maxTokensField: 'max_tokens' },
    ],
    ['kimi/kimi-k2.6', { temperature: 'omitted', defaultMaxTokens: 32_000, echoThinking: 'reasoning_content' }],
    ['alibaba/qwen3-max', { content: 'parts', cacheMarks: 'native' }],
    ['nvidia/x', { defaultMaxTokens: 16_384 }],
    ['xiaomi/mimo-v2', { content: 'string-results' }],
    ['arcee/trinity-large-thinking', { temperature: 0.5 }],
    ['meta-ai/x', { defaultMaxTokens: 16_384 }],
  ])('of %s are complete', (id, expected) => {
    expect(quirksOf(id)).toMatchObject(expected)
  })

  it.each<readonly [string, string]>([
    ['minimax/MiniMax-M3', 'cacheMarks'],
    ['openrouter/openai/gpt-5.4', 'cacheMarks'],
    ['alibaba/deepseek-v4-pro', 'cacheMarks'],
    ['openai/gpt-4.1', 'temperature'],
    ['arcee/trinity-mini', 'temperature'],
    ['custom/x', 'defaultMaxTokens'],
  ])('of %s omit %s', (id, quirk) => {
    expect(quirksOf(id)).not.toHaveProperty(quirk)
  })

  it('take the maximum output from the settings', () => {
    const settings: Settings = { models: { 'nvidia/x': { max_output: 5 } } }
    expect(quirksOf('nvidia/x', { variables: allVariables, settings })).toMatchObject({ defaultMaxTokens: 5 })
  })
})

describe('the cache lifetime', () => {
  const cacheOf = (id: string, settings: Settings = {}) =>
    resolveRoute(id, { variables: allVariables, settings })?.cache
  it('is set where cache marks are supported, and follows the settings', () => {
    expect(cacheOf('anthropic/claude-opus-5')).toBe('5m')
    expect(cacheOf('anthropic/claude-opus-5', { prompt_caching: { ttl: '1h' } })).toBe('1h')
    expect(cacheOf('anthropic/claude-opus-5', { prompt_caching: { enabled: false } })).toBe(undefined)
    expect(cacheOf('openai/gpt-4.1', { prompt_caching: { enabled: true } })).toBe(undefined)
  })
})

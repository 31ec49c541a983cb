import { describe, expect, it } from 'vitest'
import { parseOpenRouter } from '#agent/providers/catalog/openrouter.ts'

const openrouter = {
  data: [
    {
      id: 'anthropic/claude-opus-4.8',
      canonical_slug: 'anthropic/claude-4.8-opus',
      name: 'Anthropic: Claude Opus 4.8',
      created: 1_779_926_400,
      context_length: 1_000_000,
      architecture: { modality: 'text+image->text', input_modalities: ['text', 'image'], output_modalities: ['text'] },
      pricing: {
        prompt: '0.000005',
        completion: '0.000025',
        input_cache_read: '0.0000005',
        input_cache_write: '0.00000625',
      },
      top_provider: { context_length: 1_000_000, max_completion_tokens: 128_000, is_moderated: true },
      per_request_limits: null,
      supported_parameters: ['include_reasoning', 'max_tokens', 'reasoning', 'tools'],
    },
    {
      id: 'openrouter/auto',
      context_length: 2_000_000,
      architecture: { input_modalities: ['text', 'image'] },
      pricing: { prompt: '-1', completion: '-1' },
      top_provider: { context_length: null, max_completion_tokens: null },
      supported_parameters: [],
    },
    {
      id: 'some/free:free',
      context_length: 131_072,
      pricing: { prompt: '0', completion: '0' },
      top_provider: { context_length: 32_768, max_completion_tokens: 4_096 },
      supported_parameters: ['temperature', 'max_tokens'],
    },
    { id: 7, context_length: 'large' },
    null,
  ],
}

describe('parseOpenRouter()', () => {
  it('returns the facts of each model', () => {
    expect(parseOpenRouter(openrouter)).toEqual({
      'anthropic/claude-opus-4.8': {
        contextWindow: 1_000_000,
        maxOutput: 128_000,
        prices: { input: 5, output: 25, cachedRead: 0.5, cachedWrite: 6.25 },
        images: true,
        pdf: false,
        audio: false,
        reasoning: true,
        tools: true,
        temperature: false,
        caching: true,
      },
      'openrouter/auto': { contextWindow: 2_000_000, images: true, audio: false, pdf: false },
      'some/free:free': {
        contextWindow: 32_768,
        maxOutput: 4_096,
        prices: { input: 0, output: 0, cachedRead: 0, cachedWrite: 0 },
        reasoning: false,
        tools: false,
        temperature: true,
      },
    })
  })

  it.each([undefined, null, [], 'html', {}, { data: {} }])('returns an empty table for %j', (document) => {
    expect(parseOpenRouter(document)).toEqual({})
  })
})

import { describe, expect, it } from 'vitest'
import { parseModelsDev } from '#agent/providers/catalog/models-dev.ts'

const modelsDev = {
  deepseek: {
    id: 'deepseek',
    env: ['DEEPSEEK_API_KEY'],
    models: {
      'deepseek-v4-pro': {
        id: 'deepseek-v4-pro',
        attachment: false,
        reasoning: true,
        temperature: true,
        tool_call: true,
        knowledge: '2025-05',
        reasoning_options: [{ type: 'toggle' }, { type: 'effort', values: ['high', 'max'] }],
        modalities: { input: ['text'], output: ['text'] },
        cost: { input: 1.32, output: 3.96, cache_read: 0.044 },
        limit: { context: 1_000_000, output: 384_000 },
      },
      'deepseek-old': { limit: { context: 0, output: -1 }, cost: { input: 'free' }, status: 'deprecated' },
      broken: 5,
    },
  },
}

describe('parseModelsDev()', () => {
  it('returns the facts of each model', () => {
    expect(parseModelsDev(modelsDev, 'deepseek')).toEqual({
      'deepseek-v4-pro': {
        contextWindow: 1_000_000,
        maxOutput: 384_000,
        prices: { input: 1.32, output: 3.96, cachedRead: 0.044, cachedWrite: 1.32 },
        images: false,
        audio: false,
        pdf: false,
        reasoning: true,
        tools: true,
        temperature: true,
        caching: true,
        efforts: ['none', 'high', 'max'],
        knowledge: '2025-05',
      },
      'deepseek-old': { deprecated: true },
      broken: {},
    })
  })

  it('reads prices for long prompts from tiers, else from context_over_200k', () => {
    const rates = { input: 5, output: 30, cache_read: 0.5 }
    const tier = (size: number, input: number) => ({ tier: { type: 'context', size }, input, output: 45 })
    const over = { input: 6, output: 22.5, cache_read: 0.6, cache_write: 7.5 }
    const pricesOf = (cost: object) => parseModelsDev({ x: { models: { m: { cost } } } }, 'x')?.['m']?.prices?.above
    const at = (tokens: number, input: number) => ({ tokens, input, output: 45, cachedRead: input, cachedWrite: input })
    expect(pricesOf({ ...rates, tiers: [tier(500_000, 20), tier(272_000, 10)], context_over_200k: over })).toEqual([
      at(272_000, 10),
      at(500_000, 20),
    ])
    expect(pricesOf({ ...rates, context_over_200k: over })).toEqual([
      { tokens: 200_000, input: 6, output: 22.5, cachedRead: 0.6, cachedWrite: 7.5 },
    ])
    const unusable = [{ tier: { type: 'time', size: 1_000 }, input: 1, output: 1 }, { tier: {}, input: 1 }, 'x']
    expect([pricesOf(rates), pricesOf({ ...rates, tiers: unusable })]).toEqual([undefined, undefined])
  })

  it('returns undefined for a provider that is not in the document', () => {
    expect(parseModelsDev(modelsDev, 'unknown')).toBe(undefined)
    expect(parseModelsDev('html', 'deepseek')).toBe(undefined)
  })
})

/** What is known of models: from whom, how names are matched, and what foreign documents come to. */

import { describe, expect, it } from 'vitest'
import type { ModelFacts } from '../../../../src/agent/providers/catalog/model-facts.ts'
import { type Catalog, lookUpModel, listModelNames, emptyCatalog, normalizeModelName } from '../../../../src/agent/providers/catalog/model-lookup.ts'
import { parseModelsDev } from '../../../../src/agent/providers/catalog/models-dev.ts'
import { parseOpenRouter } from '../../../../src/agent/providers/catalog/openrouter.ts'
import { nextWindow, parseWindow } from '../../../../src/agent/providers/catalog/context-window.ts'
import { providers } from '../../../../src/agent/providers/profiles/providers.ts'

const known = (id: string, more: { catalog?: Catalog; settings?: ModelFacts; learnt?: number } = {}) => {
  const slash = id.indexOf('/')
  return lookUpModel({ provider: id.slice(0, slash), model: id.slice(slash + 1), ...more })
}

describe('a name', () => {
  it.each([
    ['anthropic/Claude-Opus-4.8:beta', 'claude-opus-4-8'],
    ['us.anthropic.claude-opus-4-8-v1:0', 'claude-opus-4-8-v1'],
    ['@cf/openai/gpt-oss-120b', 'gpt-oss-120b'],
    ['gpt-5.4', 'gpt-5-4'],
    ['accounts/fireworks/models/kimi-k2.6', 'kimi-k2-6'],
  ])('%s is %s', (name, plain) => {
    expect(normalizeModelName(name)).toBe(plain)
  })
})

describe('a window that is built in', () => {
  it.each([
    ['anthropic/claude-opus-5', 1_000_000],
    ['anthropic/claude-sonnet-4-6', 1_000_000],
    ['anthropic/claude-sonnet-4-5-20250929', 200_000],
    ['anthropic/claude-sonnet-4-20250514', 200_000],
    ['anthropic/claude-haiku-4-5', 200_000],
    ['openrouter/anthropic/claude-opus-4.8', 1_000_000],
    ['openrouter/anthropic/claude-x', 200_000],
    ['bedrock/us.anthropic.claude-opus-4-6-v1:0', 1_000_000],
    ['openai/gpt-5', 400_000],
    ['openai/gpt-5.4', 1_050_000],
    ['openai/gpt-5.4-mini', 400_000],
    ['openai/gpt-5.6-sol', 1_050_000],
    ['openai/gpt-4.1-mini', 1_047_576],
    ['openai/o3-mini', 200_000],
    ['gemini/gemini-2.5-pro', 1_048_576],
    ['deepseek/deepseek-v4-flash', 1_000_000],
    ['kimi-coding/kimi-k2.6', 262_144],
    ['demo/agent', 1_000_000],
  ])('of %s is %i', (id, window) => {
    expect(known(id)).toMatchObject({ contextWindow: window, source: 'built-in' })
  })

  it('is none of a name that only begins alike', () => {
    expect(known('custom/o1ther')).toMatchObject({ source: 'probe', contextWindow: 256_000 })
    expect(known('custom/agent')).toMatchObject({ source: 'probe' })
  })
})

describe('prices that are built in', () => {
  it('hold for exactly that model, its dated copies, and at its maker', () => {
    const opus = { input: 5, output: 25, cachedRead: 0.5, cachedWrite: 6.25 }
    expect(known('anthropic/claude-opus-4-5').prices).toEqual(opus)
    expect(known('anthropic/claude-opus-4-5-20251101').prices).toEqual(opus)
    expect(known('openrouter/anthropic/claude-opus-4.5').prices).toBe(undefined)
    expect(known('bedrock/anthropic.claude-opus-4-5').prices).toBe(undefined)
    expect(known('openai/gpt-5-pro').prices).toBe(undefined)
    expect(known('openai/gpt-4.1-mini').prices).toMatchObject({ input: 0.4, output: 1.6, cachedRead: 0.1 })
    expect(known('openai/gpt-5.4-mini').prices).toMatchObject({ input: 0.75, output: 4.5, cachedRead: 0.075 })
    expect(known('openai/gpt-5.6-sol').prices).toBe(undefined)
    expect(known('openai/gpt-5').prices).toEqual({ input: 1.25, output: 10, cachedRead: 0.125, cachedWrite: 1.25 })
  })
})

describe('who is believed', () => {
  const catalog: Catalog = {
    provider: { openrouter: { 'openai/gpt-5': { contextWindow: 3 } } },
    'models.dev': {
      openrouter: { 'openai/gpt-5': { contextWindow: 4, maxOutput: 40 }, 'new/model': { contextWindow: 5 } },
      openai: { 'gpt-5': { contextWindow: 6, images: false } },
    },
  }
  it('is the settings, then the provider, models.dev, what is built in, and a probe at last', () => {
    const one = 'openrouter/openai/gpt-5'
    expect(known(one, { catalog, settings: { contextWindow: 2 } })).toMatchObject({
      contextWindow: 2,
      source: 'settings',
    })
    expect(known(one, { catalog })).toMatchObject({
      contextWindow: 3,
      source: 'provider',
      maxOutput: 40,
      reasoning: true,
    })
    expect(known('openrouter/new/model', { catalog })).toMatchObject({ contextWindow: 5, source: 'models.dev' })
    expect(known('openai/gpt-5', { catalog })).toMatchObject({ contextWindow: 6, source: 'models.dev', images: false })
    expect(known('openai/gpt-5', { catalog: emptyCatalog })).toMatchObject({ contextWindow: 400_000, source: 'built-in' })
    expect(known('custom/x')).toEqual({ contextWindow: 256_000, source: 'probe' })
    expect(known('custom/x', { learnt: 32_000 })).toEqual({ contextWindow: 32_000, source: 'probe' })
  })

  it('says something of one thing and leaves the rest to others', () => {
    const prices = { input: 1, output: 1, cachedRead: 1, cachedWrite: 1 }
    expect(known('openai/gpt-5', { settings: { prices } })).toMatchObject({
      source: 'built-in',
      prices,
      reasoning: true,
    })
  })

  it('is not confused by names of the language', () => {
    expect(known('openrouter/constructor', { catalog })).toEqual({ contextWindow: 256_000, source: 'probe' })
  })
})

describe('a probe', () => {
  it.each<readonly [number, string, number | undefined]>([
    [256_000, 'prompt is too long', 128_000],
    [128_000, '', 64_000],
    [64_000, '', 32_000],
    [8_000, '', undefined],
    [200_000, '', 128_000],
    [256_000, "This model's maximum context length is 131072 tokens. However, you requested 150000.", 131_072],
    [256_000, 'prompt is too long: 210000 tokens > 200000 maximum', 200_000],
    [256_000, 'max_model_len 40,960 exceeded', 40_960],
    [64_000, 'the context length is 131072 tokens', 32_000],
  ])('of %i that fails with %j goes on with %s', (window, words, next) => {
    expect(nextWindow(window, words)).toBe(next)
  })

  it.each([
    ['input is too long', undefined],
    ['error 400', undefined],
    ['maximum of 12 images', undefined],
  ])('reads no window from %j', (words, expected) => {
    expect(parseWindow(words)).toBe(expected)
  })
})

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

describe('the list of OpenRouter', () => {
  it('is facts in our words', () => {
    expect(parseOpenRouter(openrouter)).toEqual({
      'anthropic/claude-opus-4.8': {
        contextWindow: 1_000_000,
        maxOutput: 128_000,
        prices: { input: 5, output: 25, cachedRead: 0.5, cachedWrite: 6.25 },
        images: true,
        reasoning: true,
        tools: true,
        temperature: false,
        caching: true,
      },
      'openrouter/auto': { contextWindow: 2_000_000, images: true },
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

  it.each([undefined, null, [], 'html', {}, { data: {} }])('that is %j is empty', (document) => {
    expect(parseOpenRouter(document)).toEqual({})
  })
})

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

describe('the catalog models.dev', () => {
  it('is facts in our words', () => {
    expect(parseModelsDev(modelsDev, 'deepseek')).toEqual({
      'deepseek-v4-pro': {
        contextWindow: 1_000_000,
        maxOutput: 384_000,
        prices: { input: 1.32, output: 3.96, cachedRead: 0.044, cachedWrite: 1.32 },
        images: false,
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

  it('names what is dearer beyond a length of the prompt, by tiers, else in the way of before', () => {
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
    const strange = [{ tier: { type: 'time', size: 1_000 }, input: 1, output: 1 }, { tier: {}, input: 1 }, 'x']
    expect([pricesOf(rates), pricesOf({ ...rates, tiers: strange })]).toEqual([undefined, undefined])
  })

  it('says nothing of a provider that is not in it', () => {
    expect(parseModelsDev(modelsDev, 'nobody')).toBe(undefined)
    expect(parseModelsDev('html', 'deepseek')).toBe(undefined)
  })
})

describe('the default models of providers', () => {
  it('have a window that is known to be large enough', () => {
    const ids = providers.filter(({ defaultModel }) => defaultModel).map((one) => `${one.id}/${one.defaultModel}`)
    const small = ids.filter((id) => known(id).source === 'built-in' && known(id).contextWindow < 64_000)
    expect(small).toEqual([])
  })
})

describe('the models of a provider', () => {
  it('are those of all catalogs that an agent can work with, each once', () => {
    const good = { contextWindow: 200_000, tools: true }
    const catalog: Catalog = {
      provider: { openrouter: { a: good, small: { ...good, contextWindow: 8_000 }, mute: { ...good, tools: false } } },
      'models.dev': {
        openrouter: { a: good, b: { contextWindow: 64_000 }, old: { ...good, deprecated: true } },
        openai: { c: good },
      },
    }
    expect(listModelNames(catalog, 'openrouter')).toEqual(['a', 'b'])
    expect(listModelNames(catalog, 'nobody')).toEqual([])
  })
})

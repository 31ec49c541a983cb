/** Tests the lookup of model facts: name matching, built-in facts, and the precedence of sources. */

import { describe, expect, it } from 'vitest'
import type { ModelFacts } from '#agent/providers/catalog/model-facts.ts'
import {
  type Catalog,
  lookUpModel,
  listModelNames,
  emptyCatalog,
  normalizeModelName,
} from '#agent/providers/catalog/model-lookup.ts'
import { providers } from '#agent/providers/profiles/providers.ts'

const lookUp = (id: string, more: { catalog?: Catalog; settings?: ModelFacts; learnedWindow?: number } = {}) => {
  const slash = id.indexOf('/')
  return lookUpModel({ provider: id.slice(0, slash), model: id.slice(slash + 1), ...more })
}

describe('normalizeModelName()', () => {
  it.each([
    ['anthropic/Claude-Opus-4.8:beta', 'claude-opus-4-8'],
    ['us.anthropic.claude-opus-4-8-v1:0', 'claude-opus-4-8-v1'],
    ['@cf/openai/gpt-oss-120b', 'gpt-oss-120b'],
    ['gpt-5.4', 'gpt-5-4'],
    ['accounts/fireworks/models/kimi-k2.6', 'kimi-k2-6'],
  ])('turns %s into %s', (name, expected) => {
    expect(normalizeModelName(name)).toBe(expected)
  })
})

describe('a built-in context window', () => {
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
    expect(lookUp(id)).toMatchObject({ contextWindow: window, source: 'built-in' })
  })

  it('does not apply to a name that only starts with the same letters', () => {
    expect(lookUp('custom/o1ther')).toMatchObject({ source: 'probe', contextWindow: 256_000 })
    expect(lookUp('custom/agent')).toMatchObject({ source: 'probe' })
  })
})

describe('built-in prices', () => {
  it('apply to exactly that model and its dated copies, at the maker only', () => {
    const opus = { input: 5, output: 25, cachedRead: 0.5, cachedWrite: 6.25 }
    expect(lookUp('anthropic/claude-opus-4-5').prices).toEqual(opus)
    expect(lookUp('anthropic/claude-opus-4-5-20251101').prices).toEqual(opus)
    expect(lookUp('openrouter/anthropic/claude-opus-4.5').prices).toBe(undefined)
    expect(lookUp('bedrock/anthropic.claude-opus-4-5').prices).toBe(undefined)
    expect(lookUp('openai/gpt-5-pro').prices).toBe(undefined)
    expect(lookUp('openai/gpt-4.1-mini').prices).toMatchObject({ input: 0.4, output: 1.6, cachedRead: 0.1 })
    expect(lookUp('openai/gpt-5.4-mini').prices).toMatchObject({ input: 0.75, output: 4.5, cachedRead: 0.075 })
    expect(lookUp('openai/gpt-5.6-sol').prices).toBe(undefined)
    expect(lookUp('openai/gpt-5').prices).toEqual({ input: 1.25, output: 10, cachedRead: 0.125, cachedWrite: 1.25 })
  })
})

describe('the precedence of sources', () => {
  const catalog: Catalog = {
    provider: { openrouter: { 'openai/gpt-5': { contextWindow: 3 } } },
    'models.dev': {
      openrouter: { 'openai/gpt-5': { contextWindow: 4, maxOutput: 40 }, 'new/model': { contextWindow: 5 } },
      openai: { 'gpt-5': { contextWindow: 6, images: false } },
    },
  }
  it('is settings, provider, models.dev, built-in models, probe', () => {
    const routed = 'openrouter/openai/gpt-5'
    expect(lookUp(routed, { catalog, settings: { contextWindow: 2 } })).toMatchObject({
      contextWindow: 2,
      source: 'settings',
    })
    expect(lookUp(routed, { catalog })).toMatchObject({
      contextWindow: 3,
      source: 'provider',
      maxOutput: 40,
      reasoning: true,
    })
    expect(lookUp('openrouter/new/model', { catalog })).toMatchObject({ contextWindow: 5, source: 'models.dev' })
    expect(lookUp('openai/gpt-5', { catalog })).toMatchObject({ contextWindow: 6, source: 'models.dev', images: false })
    expect(lookUp('openai/gpt-5', { catalog: emptyCatalog })).toMatchObject({
      contextWindow: 400_000,
      source: 'built-in',
    })
    expect(lookUp('custom/x')).toEqual({ contextWindow: 256_000, source: 'probe' })
    expect(lookUp('custom/x', { learnedWindow: 32_000 })).toEqual({ contextWindow: 32_000, source: 'probe' })
  })

  it('applies to each fact separately', () => {
    const prices = { input: 1, output: 1, cachedRead: 1, cachedWrite: 1 }
    expect(lookUp('openai/gpt-5', { settings: { prices } })).toMatchObject({
      source: 'built-in',
      prices,
      reasoning: true,
    })
  })

  it('ignores properties inherited from Object.prototype', () => {
    expect(lookUp('openrouter/constructor', { catalog })).toEqual({ contextWindow: 256_000, source: 'probe' })
  })
})

describe('the default models of providers', () => {
  it('have a context window that is large enough', () => {
    const ids = providers.filter(({ defaultModel }) => defaultModel).map((one) => `${one.id}/${one.defaultModel}`)
    const small = ids.filter((id) => lookUp(id).source === 'built-in' && lookUp(id).contextWindow < 64_000)
    expect(small).toEqual([])
  })
})

describe('listModelNames()', () => {
  it('lists the usable models of all catalogs, without duplicates', () => {
    const good = { contextWindow: 200_000, tools: true }
    const catalog: Catalog = {
      provider: {
        openrouter: { a: good, small: { ...good, contextWindow: 8_000 }, noTools: { ...good, tools: false } },
      },
      'models.dev': {
        openrouter: { a: good, b: { contextWindow: 64_000 }, retired: { ...good, deprecated: true } },
        openai: { c: good },
      },
    }
    expect(listModelNames(catalog, 'openrouter')).toEqual(['a', 'b'])
    expect(listModelNames(catalog, 'unknown')).toEqual([])
  })
})

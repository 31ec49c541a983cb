/** Tests how variables, settings and keys resolve to routes. */

import { describe, expect, it } from 'vitest'
import type { Endpoint } from '#agent/core/dialect.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Sources } from '#agent/routing/availability.ts'
import { getProvider } from '#agent/providers/profiles/providers.ts'
import { keyIdOf } from '#agent/routing/key-selection.ts'
import { chooseModel, resolveDefaultModel } from '#agent/routing/default-model.ts'
import { getModelRequirement, resolveRoute, splitModelId } from '#agent/routing/route.ts'

const sourcesOf = (variables: Record<string, string>, more: Partial<Sources> = {}): Sources => ({ variables, ...more })
const firstEndpoint = (id: string, sources: Sources): Endpoint | undefined => resolveRoute(id, sources)?.endpoints[0]

describe('MODEL_ADDRESS_PREFIX', () => {
  const prefix = { MODEL_ADDRESS_PREFIX: 'https://egress.test/models/' }
  it.each([
    ['anthropic/claude-sonnet-5', { ANTHROPIC_API_KEY: 'k' }, 'https://egress.test/models/api.anthropic.com'],
    ['openrouter/x/y', { OPENROUTER_API_KEY: 'k' }, 'https://egress.test/models/openrouter.ai/api/v1'],
    ['custom/x', { CUSTOM_BASE_URL: 'http://10.0.0.1:8080/v1' }, 'https://egress.test/models/10.0.0.1:8080/v1'],
  ])('stands before the address of %s, whose path stays', (id, variables, address) => {
    expect(firstEndpoint(id, sourcesOf({ ...variables, ...prefix }))?.baseUrl).toBe(address)
  })

  it('stands before no signed address, and none of a tenant', () => {
    const aws = { AWS_ACCESS_KEY_ID: 'A', AWS_SECRET_ACCESS_KEY: 'S' }
    expect(firstEndpoint('bedrock/x', sourcesOf({ ...aws, ...prefix }))?.baseUrl).not.toContain('egress')
    const settings: Settings = { providers: { 'custom:mine': { base_url: 'https://llm.example.com/v1' } } }
    expect(firstEndpoint('custom:mine/x', sourcesOf(prefix, { settings }))?.baseUrl).toBe('https://llm.example.com/v1')
  })

  it('keeps the dialect that the address of the provider means', () => {
    expect(resolveRoute('openai/gpt-5.5', sourcesOf({ OPENAI_API_KEY: 'k', ...prefix }))?.dialect).toBe(
      'openai-responses',
    )
  })
})

describe('prices of subscriptions', () => {
  const tenantKeys = () => [{ id: 'k', key: 'sealed' }]
  const free = { input: 0, output: 0, cachedRead: 0, cachedWrite: 0 }
  const prices = { input: 2, output: 8, cachedRead: 2, cachedWrite: 2 }
  it.each(['openai-codex/gpt-5.4', 'copilot/gpt-5.4', 'xai-oauth/grok-4.5', 'qwen-oauth/qwen3-coder-plus'])(
    'are none for %s, unless the settings name them',
    (id) => {
      expect(resolveRoute(id, sourcesOf({}, { tenantKeys }))?.prices).toEqual(free)
      const settings: Settings = { models: { [id]: { prices: { input: 2, output: 8 } } } }
      expect(resolveRoute(id, sourcesOf({}, { tenantKeys, settings }))?.prices).toEqual(prices)
    },
  )
})

describe('splitModelId()', () => {
  it.each([
    ['openai/gpt-5', ['openai', 'gpt-5']],
    ['openrouter/meta/llama', ['openrouter', 'meta/llama']],
    ['custom:mine/a/b', ['custom:mine', 'a/b']],
    ['gpt-5', ['', 'gpt-5']],
  ])('splits %s into provider and model', (id, parts) => {
    expect(splitModelId(id)).toEqual(parts)
  })
})

describe('resolveDefaultModel()', () => {
  it.each<readonly [string, Record<string, string>]>([
    ['demo/agent', {}],
    ['demo/agent', { OPENAI_API_KEY: ' ' }],
    ['openai/gpt-5.4-mini', { OPENAI_API_KEY: 'k' }],
    ['openai/gpt-5.4-mini', { OPENROUTER_API_KEY: 'r', OPENAI_API_KEY: 'k' }],
    ['anthropic/claude-sonnet-5', { OPENROUTER_API_KEY: 'r', ANTHROPIC_API_KEY: 'k' }],
    ['openrouter/openrouter/auto', { OPENROUTER_API_KEY: 'r' }],
    ['gemini/gemini-3.5-flash', { GOOGLE_API_KEY: 'g' }],
    ['custom/mine', { MODEL: ' custom/mine ', OPENAI_API_KEY: 'k' }],
    // A provider without a default model is skipped.
    [
      'deepseek/deepseek-v4-flash',
      { NVIDIA_API_KEY: 'n', CUSTOM_BASE_URL: 'http://local.test', DEEPSEEK_API_KEY: 'd' },
    ],
    // No model of it is known: an error says what to set.
    ['nvidia/', { NVIDIA_API_KEY: 'n' }],
    ['nvidia/', { NVIDIA_API_KEY: 'n', AI: 'bound' }],
    ['custom/', { CUSTOM_BASE_URL: 'http://local.test' }],
    ['workers-ai/@cf/openai/gpt-oss-120b', { AI: 'bound' }],
    ['openai/gpt-5.4-mini', { AI: 'bound', OPENAI_API_KEY: 'k' }],
  ])('returns %s with %j', (expected, variables) => {
    expect(resolveDefaultModel({ variables })).toBe(expected)
  })
})

describe('a provider without a default model', () => {
  const price = (input: number) => ({ input, output: input, cachedRead: input, cachedWrite: input })
  const catalog = {
    provider: {},
    'models.dev': {
      fireworks: {
        embedding: { contextWindow: 128_000, tools: false, prices: price(0.01) },
        small: { contextWindow: 8_000, tools: true, prices: price(0.02) },
        free: { contextWindow: 128_000, tools: true, prices: price(0) },
        cheap: { contextWindow: 128_000, tools: true, prices: price(0.2) },
        large: { contextWindow: 1_000_000, tools: true, prices: price(3) },
        old: { contextWindow: 128_000, tools: true, prices: price(0.1), deprecated: true },
      },
      gmi: { unpriced: { contextWindow: 128_000 } },
    },
  }

  it('uses its cheapest model with tools that the catalog lists', () => {
    const sources = sourcesOf({ FIREWORKS_API_KEY: 'f' }, { catalog })
    expect(resolveDefaultModel(sources)).toBe('fireworks/cheap')
    expect(resolveRoute('fireworks/cheap', sources)?.prices).toEqual(price(0.2))
    expect(resolveDefaultModel(sourcesOf({ GMI_API_KEY: 'g' }, { catalog }))).toBe('gmi/unpriced')
    expect(chooseModel(getProvider('anthropic')!, sources)).toBe('claude-sonnet-5')
  })

  it('says what to set when none is known', () => {
    const sources = sourcesOf({ NVIDIA_API_KEY: 'n' })
    expect(getModelRequirement(resolveDefaultModel(sources), sources)).toContain('set MODEL=nvidia/NAME')
  })

  it('of a tenant is not replaced by the demo', () => {
    const settings: Settings = { providers: { 'custom:mine': { base_url: 'https://llm.example.com/v1' } } }
    const sources = sourcesOf({}, { settings })
    expect(resolveDefaultModel(sources)).toBe('custom:mine/')
    expect(getModelRequirement('custom:mine/', sources)).toContain('model.default')
  })
})

describe('resolveRoute()', () => {
  it.each<readonly [string, Record<string, string>, boolean]>([
    ['openai/gpt-5', {}, false],
    ['unknown/gpt-5', { OPENAI_API_KEY: 'k' }, false],
    ['openai/', { OPENAI_API_KEY: 'k' }, false],
    ['gpt-5', { OPENAI_API_KEY: 'k' }, false],
    ['demo/agent', {}, true],
    ['custom/x', { CUSTOM_API_KEY: 'k' }, false],
    ['custom/x', { CUSTOM_BASE_URL: 'http://local.test' }, true],
  ])('for %s with %j returns a route: %s', (id, variables, exists) => {
    expect(resolveRoute(id, { variables }) !== undefined).toBe(exists)
  })

  it('returns one endpoint for each key, at the address of the deployment', () => {
    const route = resolveRoute(
      'openai/gpt-5',
      sourcesOf({ OPENAI_API_KEY: 'a, b,,', OPENAI_BASE_URL: 'http://local.test/v1//' }),
    )
    expect(route?.endpoints.map(({ key, baseUrl }) => [key, baseUrl])).toEqual([
      ['a', 'http://local.test/v1'],
      ['b', 'http://local.test/v1'],
    ])
    expect(new Set(route?.endpoints.map(({ id }) => id)).size).toBe(2)
    expect(JSON.stringify(route?.endpoints.map(({ id }) => id))).not.toMatch(/"a"|"b"/)
  })

  it('puts keys of the tenant before those of the deployment, without duplicates', () => {
    const own = [{ id: 'cred_t', key: 't' }]
    const sources = sourcesOf({ OPENAI_API_KEY: 'd,t' }, { tenantKeys: (id) => (id === 'openai' ? own : []) })
    const route = resolveRoute('openai/x', sources)
    expect(route?.endpoints.map(({ id, key }) => [id, key])).toEqual([
      ['cred_t', 't'],
      [keyIdOf('d'), 'd'],
    ])
    expect(route?.tenantKeyCount).toBe(1)
    expect(resolveRoute('openai/x', sourcesOf({}, { tenantKeys: () => own }))?.endpoints.map(({ key }) => key)).toEqual(
      ['t'],
    )
    expect(resolveRoute('openai/x', sourcesOf({ OPENAI_API_KEY: 'd' }))).not.toHaveProperty('ownKeys')
  })

  it('replaces an alias by the id of the provider', () => {
    const settings: Settings = { models: { 'claude/claude-opus-5': { context_window: 77_000 } } }
    for (const name of ['claude/claude-opus-5', 'anthropic/claude-opus-5'])
      expect(resolveRoute(name, sourcesOf({ ANTHROPIC_API_KEY: 'k' }, { settings }))).toMatchObject({
        id: 'anthropic/claude-opus-5',
        provider: 'anthropic',
        contextWindow: 77_000,
      })
  })

  it('joins the parts of a key and fills the region into the address', () => {
    const keys = { AWS_ACCESS_KEY_ID: 'A', AWS_SECRET_ACCESS_KEY: 'S' }
    expect(firstEndpoint('bedrock/x', sourcesOf(keys))).toMatchObject({
      key: 'A:S',
      baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com',
    })
    const more = { ...keys, AWS_SESSION_TOKEN: 'T', AWS_DEFAULT_REGION: 'eu-west-1' }
    expect(firstEndpoint('bedrock/x', sourcesOf(more))).toMatchObject({
      key: 'A:S:T',
      baseUrl: 'https://bedrock-runtime.eu-west-1.amazonaws.com',
    })
  })

  it('signs for AWS_REGION at any address', () => {
    const variables = { AWS_ACCESS_KEY_ID: 'A', AWS_SECRET_ACCESS_KEY: 'S', BEDROCK_BASE_URL: 'https://proxy.test/aws' }
    expect(firstEndpoint('bedrock/x', sourcesOf({ ...variables, AWS_REGION: 'eu-central-1' }))).toMatchObject({
      baseUrl: 'https://proxy.test/aws',
      region: 'eu-central-1',
    })
    expect(firstEndpoint('bedrock/x', sourcesOf(variables))).not.toHaveProperty('region')
    expect(firstEndpoint('openai/x', sourcesOf({ OPENAI_API_KEY: 'k', AWS_REGION: 'x' }))).not.toHaveProperty('region')
  })

  it('never sends a key of the deployment to a provider of a tenant', () => {
    const settings: Settings = {
      providers: { 'custom:mine': { base_url: 'https://llm.example.com/anthropic', headers: { 'x-team': 'a' } } },
    }
    const sources = sourcesOf(
      { CUSTOM_API_KEY: 'secret', OPENAI_API_KEY: 'secret', MINE_API_KEY: 'secret' },
      { settings },
    )
    const route = resolveRoute('custom:mine/some/model', sources)
    expect(route).toMatchObject({ model: 'some/model', provider: 'custom:mine', dialect: 'anthropic' })
    expect(route?.endpoints).toHaveLength(1)
    expect(route?.endpoints[0]).toMatchObject({ key: '', headers: { 'x-team': 'a' } })
    expect(JSON.stringify(route)).not.toContain('secret')
    expect(resolveRoute('custom:other/x', sources)).toBe(undefined)
    const tenantKeys = (id: string, address: string) =>
      id === 'custom:mine' ? [{ id: 'cred_1', key: `own, for ${address}` }] : []
    expect(firstEndpoint('custom:mine/x', { ...sources, tenantKeys })?.key).toBe(
      'own, for https://llm.example.com/anthropic',
    )
  })

  it.each([
    'https://llm.example.com/{OPENAI_API_KEY}/{ENCRYPTION_KEY}',
    'https://llm.example.com/v1?region={AWS_REGION|AWS_DEFAULT_REGION|us-east-1}',
    'http://{169.254.169.254}/',
    'http://{127.0.0.1}:9000/v1',
  ])('uses the address of a tenant’s provider literally: %s', (base_url) => {
    const settings: Settings = { providers: { 'custom:mine': { base_url } } }
    const variables = { OPENAI_API_KEY: 'secret', ENCRYPTION_KEY: 'secret', AWS_REGION: 'secret' }
    const addresses: string[] = []
    const tenantKeys = (_id: string, address: string) => (addresses.push(address), [])
    expect(firstEndpoint('custom:mine/x', sourcesOf(variables, { settings, tenantKeys }))?.baseUrl).toBe(
      base_url.replace(/\/$/, ''),
    )
    expect(new Set(addresses)).toEqual(new Set([base_url.replace(/\/$/, '')]))
  })

  it('takes the back-off for overload from the profile', () => {
    const sources = sourcesOf({ GLM_API_KEY: 'z', OPENAI_API_KEY: 'o' })
    expect([resolveRoute('glm/glm-5', sources)?.overloadMs, resolveRoute('openai/gpt-5', sources)?.overloadMs]).toEqual(
      [30_000, undefined],
    )
  })

  it('sends a User-Agent unless the tenant sets another', () => {
    const settings: Settings = {
      providers: { 'custom:mine': { base_url: 'https://llm.example.com/v1', headers: { 'User-Agent': 'mine' } } },
    }
    const sources = sourcesOf({ FIREWORKS_API_KEY: 'f', OPENROUTER_API_KEY: 'r', DASHSCOPE_API_KEY: 'd' }, { settings })
    const headersOf = (id: string) => firstEndpoint(id, sources)?.headers
    expect(headersOf('fireworks/x')?.['User-Agent']).toMatch(/^Talaria /)
    expect(headersOf('custom:mine/x')).toEqual({ 'User-Agent': 'mine' })
    expect(resolveRoute('workers-ai/x', sourcesOf({ AI: 'bound' }))?.endpoints[0]?.headers).toEqual({})
    expect(headersOf('or/x')).toMatchObject({
      'X-Title': 'Talaria',
      'X-OpenRouter-Categories': 'personal-agent,cloud-agent',
    })
    expect(firstEndpoint('alibaba-coding-plan/qwen3-coder-plus', sources)?.key).toBe('d')
  })

  it('uses only keys that belong to the same address', () => {
    const route = resolveRoute('kimi/kimi-k2.6', sourcesOf({ KIMI_API_KEY: 'sk-kimi-a,sk-b,sk-kimi-c' }))
    expect(route?.dialect).toBe('anthropic')
    expect(route?.endpoints.map(({ key, baseUrl }) => [key, baseUrl])).toEqual([
      ['sk-kimi-a', 'https://api.kimi.com/coding'],
      ['sk-kimi-c', 'https://api.kimi.com/coding'],
    ])
    expect(resolveRoute('kimi/kimi-k2.6', sourcesOf({ KIMI_API_KEY: 'sk-b' }))?.dialect).toBe('openai-chat')
  })
})

describe('prices in the settings', () => {
  const free = { input: 0, output: 0, cached_read: 0, cached_write: 0 }
  const settings: Settings = {
    models: {
      'openai/gpt-5': { prices: free },
      'openai/unlisted': { prices: free },
      'custom:mine/m': { prices: free },
    },
    providers: { 'custom:mine': { base_url: 'https://models.example/v1' } },
  }
  const input = (id: string, more: Partial<Sources> = {}) =>
    resolveRoute(id, sourcesOf({ OPENAI_API_KEY: 'k' }, { settings, ...more }))?.prices?.input
  const tenantKeys = () => [{ id: 'mine', key: 'sk-mine' }]

  it('apply to keys of the tenant and to unknown models, but cannot lower the price of a deployment key', () => {
    expect(input('openai/gpt-5')).toBe(1.25)
    expect(input('openai/gpt-5', { tenantKeys })).toBe(1.25)
    expect(input('openai/gpt-5', { tenantKeys, variables: {} })).toBe(0)
    expect(input('openai/gpt-5', { isOwner: true })).toBe(0)
    expect(input('openai/unlisted')).toBe(0)
    expect(input('custom:mine/m')).toBe(0)
  })

  it('of web searches leave those of tokens, and cannot be lowered for a deployment key', () => {
    const at = (web_search: number, more: Partial<Sources> = {}) => {
      const own: Settings = { models: { 'openai/gpt-5': { prices: { web_search } } } }
      const route = resolveRoute('openai/gpt-5', sourcesOf({ OPENAI_API_KEY: 'k' }, { settings: own, ...more }))
      return [route?.prices?.input, route?.facts?.searchPrice]
    }
    expect(at(2)).toEqual([1.25, 10])
    expect(at(25)).toEqual([1.25, 25])
    expect(at(2, { isOwner: true })).toEqual([1.25, 2])
    expect(at(2, { tenantKeys, variables: {} })).toEqual([1.25, 2])
  })
})

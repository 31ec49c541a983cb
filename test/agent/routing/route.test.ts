/** From variables and settings to the models that can be asked. */

import { describe, expect, it } from 'vitest'
import type { Endpoint } from '../../../src/agent/model/dialect.ts'
import type { Settings } from '../../../src/agent/model/settings.ts'
import { resolveBaseUrl, getMissingRequirement, type Sources } from '../../../src/agent/routing/availability.ts'
import { keyIdOf } from '../../../src/agent/routing/key-selection.ts'
import { detectDialect } from '../../../src/agent/routing/choose-dialect.ts'
import { getProvider, providers } from '../../../src/agent/providers/profiles/providers.ts'
import { resolveDefaultModel, resolveRoute, splitModelId, type Variables } from '../../../src/agent/routing/route.ts'

const of = (variables: Record<string, string>, more: Partial<Sources> = {}): Sources => ({ variables, ...more })
const everything: Variables = new Proxy(
  { BEDROCK_API_KEY: '', LMSTUDIO_BASE_URL: 'http://here/v1', CUSTOM_BASE_URL: 'http://here/v1' },
  {
    get: (set, name) => (Reflect.get(set, name) as string) || (/_(KEY|TOKEN)$/.test(String(name)) ? 'key' : undefined),
  },
)
const keyless = (variable: string) => `set ${variable}, or store a key of your own with POST /api/credentials`
const first = (id: string, sources: Sources): Endpoint | undefined => resolveRoute(id, sources)?.endpoints[0]
const quirksOf = (id: string, sources: Sources = { variables: everything }) => first(id, sources)?.quirks

describe('an id', () => {
  it.each([
    ['openai/gpt-5', ['openai', 'gpt-5']],
    ['openrouter/meta/llama', ['openrouter', 'meta/llama']],
    ['custom:mine/a/b', ['custom:mine', 'a/b']],
    ['gpt-5', ['', 'gpt-5']],
  ])('%s is a provider and a model', (id, parts) => {
    expect(splitModelId(id)).toEqual(parts)
  })
})

describe('the default model', () => {
  it.each<readonly [string, Record<string, string>]>([
    ['demo/agent', {}],
    ['demo/agent', { OPENAI_API_KEY: ' ' }],
    ['openai/gpt-5.4-mini', { OPENAI_API_KEY: 'k' }],
    ['openai/gpt-5.4-mini', { OPENROUTER_API_KEY: 'r', OPENAI_API_KEY: 'k' }],
    ['anthropic/claude-sonnet-5', { OPENROUTER_API_KEY: 'r', ANTHROPIC_API_KEY: 'k' }],
    ['openrouter/openrouter/auto', { OPENROUTER_API_KEY: 'r' }],
    ['gemini/gemini-3.5-flash', { GOOGLE_API_KEY: 'g' }],
    ['custom/mine', { MODEL: ' custom/mine ', OPENAI_API_KEY: 'k' }],
    // A provider without a model of its own leaves the choice to the next.
    ['deepseek/deepseek-v4-flash', { NVIDIA_API_KEY: 'n', CUSTOM_BASE_URL: 'http://here', DEEPSEEK_API_KEY: 'd' }],
    ['demo/agent', { NVIDIA_API_KEY: 'n' }],
    ['workers-ai/@cf/openai/gpt-oss-120b', { AI: 'bound' }],
    ['openai/gpt-5.4-mini', { AI: 'bound', OPENAI_API_KEY: 'k' }],
  ])('is %s with %j', (expected, variables) => {
    expect(resolveDefaultModel({ variables })).toBe(expected)
  })
})

describe('a provider', () => {
  it('has names of its own', () => {
    const names = providers.flatMap(({ id, aliases = [] }) => [id, ...aliases])
    expect(new Set(names).size).toBe(names.length)
    expect(getProvider('claude')?.id).toBe('anthropic')
    expect(getProvider('nobody')).toBe(undefined)
  })

  it('is asked over https, unless the deployment says where it is', () => {
    const addresses = providers
      .map((provider) => [provider.id, resolveBaseUrl(provider, {})])
      .filter(([, address]) => address)
    expect(addresses.map(([id]) => id)).toContain('bedrock')
    for (const [id, address = ''] of addresses) expect([id, URL.parse(address)?.protocol]).toEqual([id, 'https:'])
  })

  it.each<readonly [string, Record<string, string>, string | undefined]>([
    ['openai', {}, keyless('OPENAI_API_KEY')],
    ['openai', { OPENAI_API_KEY: 'k' }, undefined],
    ['zai', { ZAI_API_KEY: 'k' }, undefined],
    ['zai', {}, keyless('GLM_API_KEY')],
    ['custom', { CUSTOM_API_KEY: 'k' }, 'set CUSTOM_BASE_URL'],
    ['custom', { CUSTOM_BASE_URL: 'http://here' }, undefined],
    ['azure-foundry', { AZURE_FOUNDRY_API_KEY: 'k' }, 'set AZURE_FOUNDRY_BASE_URL'],
    ['azure-foundry', { AZURE_FOUNDRY_BASE_URL: 'http://here' }, keyless('AZURE_FOUNDRY_API_KEY')],
    ['bedrock', {}, keyless('BEDROCK_API_KEY')],
    ['bedrock', { AWS_ACCESS_KEY_ID: 'a' }, keyless('BEDROCK_API_KEY')],
    ['bedrock', { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's' }, undefined],
    ['workers-ai', {}, 'needs the AI binding'],
    ['workers-ai', { AI: 'bound' }, undefined],
    ['demo', {}, undefined],
  ])('%s with %j: %s', (id, variables, missing) => {
    expect(getMissingRequirement(getProvider(id)!, { variables })).toBe(missing)
  })
})

describe('a route', () => {
  it.each<readonly [string, Record<string, string>, boolean]>([
    ['openai/gpt-5', {}, false],
    ['nobody/gpt-5', { OPENAI_API_KEY: 'k' }, false],
    ['openai/', { OPENAI_API_KEY: 'k' }, false],
    ['gpt-5', { OPENAI_API_KEY: 'k' }, false],
    ['demo/agent', {}, true],
    ['custom/x', { CUSTOM_API_KEY: 'k' }, false],
    ['custom/x', { CUSTOM_BASE_URL: 'http://here' }, true],
  ])('%s with %j exists: %s', (id, variables, exists) => {
    expect(resolveRoute(id, { variables }) !== undefined).toBe(exists)
  })

  it('has an endpoint for each key of a pool, at the address of the deployment', () => {
    const route = resolveRoute('openai/gpt-5', of({ OPENAI_API_KEY: 'a, b,,', OPENAI_BASE_URL: 'http://here/v1//' }))
    expect(route?.endpoints.map(({ key, baseUrl }) => [key, baseUrl])).toEqual([
      ['a', 'http://here/v1'],
      ['b', 'http://here/v1'],
    ])
    expect(new Set(route?.endpoints.map(({ id }) => id)).size).toBe(2)
    expect(JSON.stringify(route?.endpoints.map(({ id }) => id))).not.toMatch(/"a"|"b"/)
  })

  it('takes keys of the tenant before those of the deployment, each once', () => {
    const own = [{ id: 'cred_t', key: 't' }]
    const sources = of({ OPENAI_API_KEY: 'd,t' }, { tenantKeys: (id) => (id === 'openai' ? own : []) })
    const route = resolveRoute('openai/x', sources)
    expect(route?.endpoints.map(({ id, key }) => [id, key])).toEqual([
      ['cred_t', 't'],
      [keyIdOf('d'), 'd'],
    ])
    expect(route?.tenantKeyCount).toBe(1)
    expect(resolveRoute('openai/x', of({}, { tenantKeys: () => own }))?.endpoints.map(({ key }) => key)).toEqual(['t'])
    expect(resolveRoute('openai/x', of({ OPENAI_API_KEY: 'd' }))).not.toHaveProperty('ownKeys')
  })

  it('goes by the name of the provider, whatever it was asked by', () => {
    const settings: Settings = { models: { 'claude/claude-opus-5': { context_window: 77_000 } } }
    for (const name of ['claude/claude-opus-5', 'anthropic/claude-opus-5'])
      expect(resolveRoute(name, of({ ANTHROPIC_API_KEY: 'k' }, { settings }))).toMatchObject({
        id: 'anthropic/claude-opus-5',
        provider: 'anthropic',
        contextWindow: 77_000,
      })
  })

  it('puts parts of a key together, and the region into the address', () => {
    const keys = { AWS_ACCESS_KEY_ID: 'A', AWS_SECRET_ACCESS_KEY: 'S' }
    expect(first('bedrock/x', of(keys))).toMatchObject({
      key: 'A:S',
      baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com',
    })
    const more = { ...keys, AWS_SESSION_TOKEN: 'T', AWS_DEFAULT_REGION: 'eu-west-1' }
    expect(first('bedrock/x', of(more))).toMatchObject({
      key: 'A:S:T',
      baseUrl: 'https://bedrock-runtime.eu-west-1.amazonaws.com',
    })
  })

  it('of a tenant’s own provider never carries a key of the deployment', () => {
    const settings: Settings = {
      providers: { 'custom:mine': { base_url: 'https://llm.example.com/anthropic', headers: { 'x-team': 'a' } } },
    }
    const sources = of({ CUSTOM_API_KEY: 'secret', OPENAI_API_KEY: 'secret', MINE_API_KEY: 'secret' }, { settings })
    const route = resolveRoute('custom:mine/some/model', sources)
    expect(route).toMatchObject({ model: 'some/model', provider: 'custom:mine', dialect: 'anthropic' })
    expect(route?.endpoints).toHaveLength(1)
    expect(route?.endpoints[0]).toMatchObject({ key: '', headers: { 'x-team': 'a' } })
    expect(JSON.stringify(route)).not.toContain('secret')
    expect(resolveRoute('custom:other/x', sources)).toBe(undefined)
    const tenantKeys = (id: string, address: string) =>
      id === 'custom:mine' ? [{ id: 'cred_1', key: `own, for ${address}` }] : []
    expect(first('custom:mine/x', { ...sources, tenantKeys })?.key).toBe('own, for https://llm.example.com/anthropic')
  })

  it.each([
    'https://llm.example.com/{OPENAI_API_KEY}/{ENCRYPTION_KEY}',
    'https://llm.example.com/v1?region={AWS_REGION|AWS_DEFAULT_REGION|us-east-1}',
    'http://{169.254.169.254}/',
    'http://{127.0.0.1}:9000/v1',
  ])('of a tenant’s own provider goes to the address as it was written: %s', (base_url) => {
    const settings: Settings = { providers: { 'custom:mine': { base_url } } }
    const variables = { OPENAI_API_KEY: 'secret', ENCRYPTION_KEY: 'secret', AWS_REGION: 'secret' }
    const asked: string[] = []
    const tenantKeys = (_id: string, address: string) => (asked.push(address), [])
    expect(first('custom:mine/x', of(variables, { settings, tenantKeys }))?.baseUrl).toBe(base_url.replace(/\/$/, ''))
    expect(new Set(asked)).toEqual(new Set([base_url.replace(/\/$/, '')]))
  })

  it('knows who is overloaded for long', () => {
    const sources = of({ GLM_API_KEY: 'z', OPENAI_API_KEY: 'o' })
    expect([resolveRoute('glm/glm-5', sources)?.overloadMs, resolveRoute('openai/gpt-5', sources)?.overloadMs]).toEqual([
      30_000,
      undefined,
    ])
  })

  it('says who asks, unless the tenant says something else', () => {
    const settings: Settings = {
      providers: { 'custom:mine': { base_url: 'https://llm.example.com/v1', headers: { 'User-Agent': 'mine' } } },
    }
    const sources = of({ FIREWORKS_API_KEY: 'f', OPENROUTER_API_KEY: 'r', DASHSCOPE_API_KEY: 'd' }, { settings })
    const named = (id: string) => first(id, sources)?.headers
    expect(named('fireworks/x')?.['User-Agent']).toMatch(/^Talaria /)
    expect(named('custom:mine/x')).toEqual({ 'User-Agent': 'mine' })
    expect(resolveRoute('workers-ai/x', of({ AI: 'bound' }))?.endpoints[0]?.headers).toEqual({})
    expect(named('or/x')).toMatchObject({
      'X-Title': 'Talaria',
      'X-OpenRouter-Categories': 'personal-agent,cloud-agent',
    })
    expect(first('alibaba-coding-plan/qwen3-coder-plus', sources)?.key).toBe('d')
  })

  it('of a kind of key goes where that kind belongs, without keys of another kind', () => {
    const route = resolveRoute('kimi/kimi-k2.6', of({ KIMI_API_KEY: 'sk-kimi-a,sk-b,sk-kimi-c' }))
    expect(route?.dialect).toBe('anthropic')
    expect(route?.endpoints.map(({ key, baseUrl }) => [key, baseUrl])).toEqual([
      ['sk-kimi-a', 'https://api.kimi.com/coding'],
      ['sk-kimi-c', 'https://api.kimi.com/coding'],
    ])
    expect(resolveRoute('kimi/kimi-k2.6', of({ KIMI_API_KEY: 'sk-b' }))?.dialect).toBe('openai-chat')
  })
})

describe('the dialect', () => {
  it.each<readonly [string, Record<string, string>, string]>([
    ['openai/gpt-5.4', {}, 'openai-responses'],
    ['openai/gpt-6-astra', {}, 'openai-responses'],
    ['openai/gpt-4.1', {}, 'openai-chat'],
    ['openai/o3', {}, 'openai-chat'],
    ['openai/gpt-5.4', { OPENAI_BASE_URL: 'http://here/v1' }, 'openai-chat'],
    ['openrouter/openai/gpt-5.4', {}, 'openai-chat'],
    ['azure/gpt-5.4', { AZURE_FOUNDRY_BASE_URL: 'https://x.openai.azure.com/openai/v1' }, 'openai-chat'],
    ['azure/claude-x', { AZURE_FOUNDRY_BASE_URL: 'https://x.services.ai.azure.com/anthropic' }, 'anthropic'],
    ['anthropic/claude-sonnet-5', {}, 'anthropic'],
    ['anthropic/claude-sonnet-5', { ANTHROPIC_BASE_URL: 'http://here' }, 'anthropic'],
    ['nous/anthropic/claude-sonnet-5', {}, 'anthropic'],
    ['nous/hermes-4', {}, 'openai-chat'],
    ['xai/grok-4.5', {}, 'openai-responses'],
    ['minimax/MiniMax-M3', {}, 'anthropic'],
    ['opencode-zen/claude-opus-5', {}, 'anthropic'],
    ['opencode-zen/gpt-5.4', {}, 'openai-responses'],
    ['opencode-zen/kimi-k2.6', {}, 'openai-chat'],
    ['bedrock/anthropic.claude-opus-5-v1:0', {}, 'bedrock-converse'],
    ['custom/x', { CUSTOM_BASE_URL: 'http://here/anthropic' }, 'anthropic'],
    ['custom/x', { CUSTOM_BASE_URL: 'http://here/v1/messages' }, 'anthropic'],
    ['custom/gpt-5', { CUSTOM_BASE_URL: 'https://api.openai.com/v1' }, 'openai-responses'],
    ['custom/x', { CUSTOM_BASE_URL: 'https://bedrock-runtime.eu-west-1.amazonaws.com' }, 'bedrock-converse'],
    ['custom/x', { CUSTOM_BASE_URL: 'https://bedrock-runtime.eu-west-1.amazonaws.com.evil.example' }, 'openai-chat'],
    ['custom/x', { CUSTOM_BASE_URL: 'http://here/v1' }, 'openai-chat'],
    ['demo/agent', {}, 'demo'],
  ])('of %s with %j is %s', (id, variables, dialect) => {
    expect(resolveRoute(id, { variables: { ...keysFor(id), ...variables } })?.dialect).toBe(dialect)
  })

  it('is what the settings say, for a model before its provider', () => {
    const settings: Settings = {
      providers: { 'custom:m': { base_url: 'https://llm.example.com/anthropic', dialect: 'openai-chat' } },
      models: { 'custom:m/r': { dialect: 'openai-responses' }, 'openai/gpt-5': { dialect: 'openai-chat' } },
    }
    const dialectOf = (id: string) => resolveRoute(id, of({ OPENAI_API_KEY: 'k' }, { settings }))?.dialect
    expect(['custom:m/x', 'custom:m/r', 'openai/gpt-5'].map(dialectOf)).toEqual([
      'openai-chat',
      'openai-responses',
      'openai-chat',
    ])
  })

  it('of Anthropic is asked where its SDK puts the path behind', () => {
    expect(first('nous/anthropic/claude-x', of({ NOUS_API_KEY: 'k' }))?.baseUrl).toBe(
      'https://inference-api.nousresearch.com',
    )
    for (const address of ['http://here/anthropic', 'http://here/anthropic/v1', 'http://here/anthropic/v1/messages'])
      expect(first('custom/x', of({ CUSTOM_BASE_URL: address }))?.baseUrl).toBe('http://here/anthropic')
  })

  it('of what is no address is not known', () => {
    expect(detectDialect('nowhere', 'x')).toBe(undefined)
  })
})

const keysFor = (id: string): Variables => {
  const provider = getProvider(splitModelId(id)[0])
  return Object.fromEntries((provider?.keys ?? []).slice(0, 1).map((name) => [name, 'k']))
}

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
  ])('of %s hold', (id, expected) => {
    expect(quirksOf(id)).toMatchObject(expected)
  })

  it.each<readonly [string, string]>([
    ['minimax/MiniMax-M3', 'cacheMarks'],
    ['openrouter/openai/gpt-5.4', 'cacheMarks'],
    ['alibaba/deepseek-v4-pro', 'cacheMarks'],
    ['openai/gpt-4.1', 'temperature'],
    ['arcee/trinity-mini', 'temperature'],
    ['custom/x', 'defaultMaxTokens'],
  ])('of %s are silent about %s', (id, quirk) => {
    expect(quirksOf(id)).not.toHaveProperty(quirk)
  })

  it('ask for as much output as the settings say', () => {
    const settings: Settings = { models: { 'nvidia/x': { max_output: 5 } } }
    expect(quirksOf('nvidia/x', { variables: everything, settings })).toMatchObject({ defaultMaxTokens: 5 })
  })
})

describe('a prompt cache', () => {
  const asks = (id: string, settings: Settings = {}) => resolveRoute(id, { variables: everything, settings })?.cache
  it('is asked for where marks are read, for as long as the settings say, or not at all', () => {
    expect(asks('anthropic/claude-opus-5')).toBe('5m')
    expect(asks('anthropic/claude-opus-5', { prompt_caching: { ttl: '1h' } })).toBe('1h')
    expect(asks('anthropic/claude-opus-5', { prompt_caching: { enabled: false } })).toBe(undefined)
    expect(asks('openai/gpt-4.1', { prompt_caching: { enabled: true } })).toBe(undefined)
  })
})

describe('prices of the settings', () => {
  const free = { input: 0, output: 0, cached_read: 0, cached_write: 0 }
  const settings: Settings = {
    models: {
      'openai/gpt-5': { prices: free },
      'openai/unheard-of': { prices: free },
      'custom:mine/m': { prices: free },
    },
    providers: { 'custom:mine': { base_url: 'https://models.example/v1' } },
  }
  const input = (id: string, more: Partial<Sources> = {}) =>
    resolveRoute(id, of({ OPENAI_API_KEY: 'k' }, { settings, ...more }))?.prices?.input
  const tenantKeys = () => [{ id: 'mine', key: 'sk-mine' }]

  it('say what the tenant itself pays, or what nobody else knows, and not what a key of the deployment costs', () => {
    expect(input('openai/gpt-5')).toBe(1.25)
    expect(input('openai/gpt-5', { tenantKeys })).toBe(1.25)
    expect(input('openai/gpt-5', { tenantKeys, variables: {} })).toBe(0)
    expect(input('openai/gpt-5', { isOwner: true })).toBe(0)
    expect(input('openai/unheard-of')).toBe(0)
    expect(input('custom:mine/m')).toBe(0)
  })
})

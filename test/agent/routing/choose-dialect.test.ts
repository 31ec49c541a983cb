import { describe, expect, it } from 'vitest'
import type { Endpoint } from '#agent/core/dialect.ts'
import type { Settings } from '#agent/core/settings.ts'
import { getProvider } from '#agent/providers/profiles/providers.ts'
import { detectDialect } from '#agent/routing/choose-dialect.ts'
import { resolveRoute, type Sources, splitModelId, type Variables } from '#agent/routing/route.ts'

const sourcesOf = (variables: Record<string, string>, more: Partial<Sources> = {}): Sources => ({ variables, ...more })
const firstEndpoint = (id: string, sources: Sources): Endpoint | undefined => resolveRoute(id, sources)?.endpoints[0]

/** The first key variable of the provider, set. */
const keysFor = (id: string): Variables => {
  const provider = getProvider(splitModelId(id)[0])
  return Object.fromEntries((provider?.keys ?? []).slice(0, 1).map((name) => [name, 'k']))
}

describe('the dialect', () => {
  it.each<readonly [string, Record<string, string>, string]>([
    ['openai/gpt-5.4', {}, 'openai-responses'],
    ['openai/gpt-6-astra', {}, 'openai-responses'],
    ['openai/gpt-4.1', {}, 'openai-chat'],
    ['openai/o3', {}, 'openai-chat'],
    ['openai/gpt-5.4', { OPENAI_BASE_URL: 'http://local.test/v1' }, 'openai-chat'],
    ['openrouter/openai/gpt-5.4', {}, 'openai-chat'],
    ['azure/gpt-5.4', { AZURE_FOUNDRY_BASE_URL: 'https://x.openai.azure.com/openai/v1' }, 'openai-chat'],
    ['azure/claude-x', { AZURE_FOUNDRY_BASE_URL: 'https://x.services.ai.azure.com/anthropic' }, 'anthropic'],
    ['anthropic/claude-sonnet-5', {}, 'anthropic'],
    ['anthropic/claude-sonnet-5', { ANTHROPIC_BASE_URL: 'http://local.test' }, 'anthropic'],
    ['nous/anthropic/claude-sonnet-5', {}, 'anthropic'],
    ['nous/hermes-4', {}, 'openai-chat'],
    ['xai/grok-4.5', {}, 'openai-responses'],
    ['minimax/MiniMax-M3', {}, 'anthropic'],
    ['opencode-zen/claude-opus-5', {}, 'anthropic'],
    ['opencode-zen/gpt-5.4', {}, 'openai-responses'],
    ['opencode-zen/kimi-k2.6', {}, 'openai-chat'],
    ['bedrock/anthropic.claude-opus-5-v1:0', {}, 'bedrock-converse'],
    ['custom/x', { CUSTOM_BASE_URL: 'http://local.test/anthropic' }, 'anthropic'],
    ['custom/x', { CUSTOM_BASE_URL: 'http://local.test/v1/messages' }, 'anthropic'],
    ['custom/gpt-5', { CUSTOM_BASE_URL: 'https://api.openai.com/v1' }, 'openai-responses'],
    ['custom/x', { CUSTOM_BASE_URL: 'https://bedrock-runtime.eu-west-1.amazonaws.com' }, 'bedrock-converse'],
    ['custom/x', { CUSTOM_BASE_URL: 'https://bedrock-runtime.eu-west-1.amazonaws.com.evil.example' }, 'openai-chat'],
    ['custom/x', { CUSTOM_BASE_URL: 'http://local.test/v1' }, 'openai-chat'],
    ['demo/agent', {}, 'demo'],
  ])('of %s with %j is %s', (id, variables, dialect) => {
    expect(resolveRoute(id, { variables: { ...keysFor(id), ...variables } })?.dialect).toBe(dialect)
  })

  it('comes from the settings of the model, then from those of the provider', () => {
    const settings: Settings = {
      providers: { 'custom:m': { base_url: 'https://llm.example.com/anthropic', dialect: 'openai-chat' } },
      models: { 'custom:m/r': { dialect: 'openai-responses' }, 'openai/gpt-5': { dialect: 'openai-chat' } },
    }
    const dialectOf = (id: string) => resolveRoute(id, sourcesOf({ OPENAI_API_KEY: 'k' }, { settings }))?.dialect
    expect(['custom:m/x', 'custom:m/r', 'openai/gpt-5'].map(dialectOf)).toEqual([
      'openai-chat',
      'openai-responses',
      'openai-chat',
    ])
  })

  it('anthropic gets an address without the path that its SDK appends', () => {
    expect(firstEndpoint('nous/anthropic/claude-x', sourcesOf({ NOUS_API_KEY: 'k' }))?.baseUrl).toBe(
      'https://inference-api.nousresearch.com',
    )
    for (const address of [
      'http://local.test/anthropic',
      'http://local.test/anthropic/v1',
      'http://local.test/anthropic/v1/messages',
    ])
      expect(firstEndpoint('custom/x', sourcesOf({ CUSTOM_BASE_URL: address }))?.baseUrl).toBe(
        'http://local.test/anthropic',
      )
  })

  it('is undefined for an invalid address', () => {
    expect(detectDialect('no-address', 'x')).toBe(undefined)
  })
})

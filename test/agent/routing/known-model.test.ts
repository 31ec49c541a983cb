/** Tests which models count as known, and what people read about one that does not exist. */

import { describe, expect, it } from 'vitest'
import type { ModelTable } from '#agent/providers/catalog/model-facts.ts'
import { explainUnknownModel, isKnownModel } from '#agent/routing/known-model.ts'
import type { Sources } from '#agent/routing/route.ts'

const facts = { contextWindow: 200_000, tools: true }
const tableOf = (...names: readonly string[]): ModelTable => Object.fromEntries(names.map((name) => [name, facts]))
const variables = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', OPENROUTER_API_KEY: 'k', FIREWORKS_API_KEY: 'k' }
const sources: Sources = {
  variables,
  settings: { providers: { 'custom:mine': { base_url: 'https://llm.example.com/v1' } } },
  catalog: {
    provider: { openrouter: tableOf('openai/gpt-5.2', 'qwen/qwen3') },
    'models.dev': {
      openai: tableOf('gpt-5.2', 'gpt-5.4-mini', 'o3'),
      anthropic: tableOf('claude-sonnet-5', 'claude-opus-5'),
      fireworks: tableOf('llama-4'),
    },
  },
}
const withSettings = (settings: Sources['settings']): Sources => ({ ...sources, settings: settings ?? {} })

describe('a model', () => {
  it.each([
    ['openai/gpt-5.2', 'is listed'],
    ['openai/gpt-5.2-2025-12-11', 'is listed without its date'],
    ['openai/GPT-5.2', 'is listed in small letters'],
    ['claude/claude-sonnet-5', 'is listed under another name of the provider'],
    ['anthropic/claude-haiku-4-5', 'is the side model of its provider'],
    ['openai/ft:gpt-4.1:acme::1', 'is tuned by the customer'],
    ['openrouter/qwen/qwen3:free', 'is a variant of a listed one'],
    ['openrouter/@preset/mine', 'is a preset'],
    ['fireworks/accounts/me/models/own', 'belongs to a provider that runs models nobody lists'],
    ['custom:mine/anything', 'belongs to a provider of the tenant'],
    ['gemini/gemini-99', 'belongs to a provider without a list here'],
  ])('%s is known: it %s', (id) => expect(isKnownModel(id, sources)).toBe(true))

  it.each(['openai/gtp-5.2', 'anthropic/claude-sonet-5', 'openrouter/qwen/qwen99', 'nobody/x', 'custom:gone/x'])(
    '%s is unknown',
    (id) => expect(isKnownModel(id, sources)).toBe(false),
  )

  it('that the settings or the deployment name is known', () => {
    const id = 'openai/newer-than-the-list'
    expect(isKnownModel(id, sources)).toBe(false)
    for (const settings of [{ models: { [id]: {} } }, { model: { default: id } }, { fallback_providers: [id] }])
      expect(isKnownModel(id, withSettings(settings))).toBe(true)
    for (const named of [{ MODEL: id }, { FALLBACK_MODELS: `demo/agent, ${id}` }])
      expect(isKnownModel(id, { ...sources, variables: { ...variables, ...named } })).toBe(true)
  })

  it('of a provider with another address is known, because its list is not the one of the maker', () => {
    const elsewhere = { ...variables, OPENAI_BASE_URL: 'http://localhost:1234/v1' }
    expect(isKnownModel('openai/own', { ...sources, variables: elsewhere })).toBe(true)
  })
})

describe('the explanation', () => {
  it('names the nearest models, and the way to use one that is newer than the lists', () => {
    expect(explainUnknownModel('anthropic/claude-sonet-5', sources)).toBe(
      'The model anthropic/claude-sonet-5 is not available here. Did you mean anthropic/claude-sonnet-5, anthropic/claude-opus-5? No list of anthropic has it; models["anthropic/claude-sonet-5"] of the settings makes it known.',
    )
  })

  it('says what is missing, or that there is no such provider', () => {
    expect(explainUnknownModel('gemini/x', sources)).toContain('set GEMINI_API_KEY')
    expect(explainUnknownModel('nobody/x', sources)).toContain('Use talaria, or provider/model')
  })
})

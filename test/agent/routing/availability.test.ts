import { describe, expect, it } from 'vitest'
import { getMissingRequirement, resolveBaseUrl } from '#agent/routing/availability.ts'
import { getProvider, providers } from '#agent/providers/profiles/providers.ts'

const missingKey = (variable: string) => `set ${variable}, or store a key of your own with POST /api/credentials`

describe('resolveBaseUrl()', () => {
  it('returns https addresses unless the deployment sets another address', () => {
    const addresses = providers
      .map((provider) => [provider.id, resolveBaseUrl(provider, {})])
      .filter(([, address]) => address)
    expect(addresses.map(([id]) => id)).toContain('bedrock')
    for (const [id, address = ''] of addresses) expect([id, URL.parse(address)?.protocol]).toEqual([id, 'https:'])
  })
})

describe('getMissingRequirement()', () => {
  it.each<readonly [string, Record<string, string>, string | undefined]>([
    ['openai', {}, missingKey('OPENAI_API_KEY')],
    ['openai', { OPENAI_API_KEY: 'k' }, undefined],
    ['zai', { ZAI_API_KEY: 'k' }, undefined],
    ['zai', {}, missingKey('GLM_API_KEY')],
    ['custom', { CUSTOM_API_KEY: 'k' }, 'set CUSTOM_BASE_URL'],
    ['custom', { CUSTOM_BASE_URL: 'http://local.test' }, undefined],
    ['azure-foundry', { AZURE_FOUNDRY_API_KEY: 'k' }, 'set AZURE_FOUNDRY_BASE_URL'],
    ['azure-foundry', { AZURE_FOUNDRY_BASE_URL: 'http://local.test' }, missingKey('AZURE_FOUNDRY_API_KEY')],
    ['bedrock', {}, missingKey('BEDROCK_API_KEY')],
    ['bedrock', { AWS_ACCESS_KEY_ID: 'a' }, missingKey('BEDROCK_API_KEY')],
    ['bedrock', { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's' }, undefined],
    ['workers-ai', {}, 'needs the AI binding'],
    ['workers-ai', { AI: 'bound' }, undefined],
    ['demo', {}, undefined],
  ])('for %s with %j returns %s', (id, variables, missing) => {
    expect(getMissingRequirement(getProvider(id)!, { variables })).toBe(missing)
  })
})

import { describe, expect, it } from 'vitest'
import { getProvider, providers } from '#agent/providers/profiles/providers.ts'

describe('providers', () => {
  it('have unique ids and aliases', () => {
    const names = providers.flatMap(({ id, aliases = [] }) => [id, ...aliases])
    expect(new Set(names).size).toBe(names.length)
    expect(getProvider('claude')?.id).toBe('anthropic')
    expect(getProvider('unknown')).toBe(undefined)
  })
})

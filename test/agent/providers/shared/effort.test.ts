import { describe, expect, it } from 'vitest'
import { clampEffort } from '#agent/providers/shared/effort.ts'

describe('clampEffort', () => {
  it.each<readonly [string | undefined, readonly string[] | undefined, string | undefined]>([
    [undefined, ['low', 'high'], undefined],
    ['medium', undefined, 'medium'],
    ['medium', [], 'medium'],
    ['high', ['low', 'medium', 'high'], 'high'],
    ['ultra', ['low', 'medium', 'high'], 'high'],
    ['max', ['none', 'low', 'medium', 'high', 'xhigh'], 'xhigh'],
    ['medium', ['low', 'high', 'max'], 'low'],
    ['minimal', ['high', 'low'], 'low'],
    ['none', ['low', 'high'], 'low'],
    ['none', ['none', 'high'], 'none'],
    ['turbo', ['low', 'high'], 'turbo'],
  ])('clamps %s to %j: %s', (requested, supported, expected) => {
    expect(clampEffort(requested, supported)).toBe(expected)
  })
})

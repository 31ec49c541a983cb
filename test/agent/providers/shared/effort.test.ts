import { describe, expect, it } from 'vitest'
import { clampEffort } from '../../../../src/agent/providers/shared/effort.ts'

describe('effort', () => {
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
  ])('%s of a model that knows %j is %s', (asked, known, expected) => {
    expect(clampEffort(asked, known)).toBe(expected)
  })
})

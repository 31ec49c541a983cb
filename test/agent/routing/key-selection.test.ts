import { describe, expect, it } from 'vitest'
import { unusedKey, keyIdOf, orderKeys, suspensionAfter, orderSuspendedKeys } from '#agent/routing/key-selection.ts'

const now = 1_000
const order = (strategy: Parameters<typeof orderKeys>[2]['strategy'], health = {}, random = 0) =>
  orderKeys(['a', 'b', 'c'], health, { strategy, now, random })

describe('orderKeys()', () => {
  it('keeps the given order for fill_first, whatever the usage', () => {
    expect(order('fill_first', { a: { ...unusedKey, uses: 9, active: 3 } })).toEqual(['a', 'b', 'c'])
  })

  it('starts with the least recently used key for round_robin', () => {
    const health = {
      a: { ...unusedKey, lastUsed: 3 },
      b: { ...unusedKey, lastUsed: 1 },
      c: { ...unusedKey, lastUsed: 2 },
    }
    expect(order('round_robin', health)).toEqual(['b', 'c', 'a'])
  })

  it('starts with the least used key for least_used, and counts calls in flight first', () => {
    const health = { a: { ...unusedKey, uses: 1 }, b: { ...unusedKey, uses: 5 }, c: { ...unusedKey, active: 1 } }
    expect(order('least_used', health)).toEqual(['a', 'b', 'c'])
  })

  it('starts at a random key for random', () => {
    expect(order('random', {}, 0.5)).toEqual(['b', 'c', 'a'])
  })

  it.each(['round_robin', 'least_used'] as const)(
    'varies for %s while there are no counts, and follows the counts otherwise',
    (strategy) => {
      const firsts = Array.from({ length: 30 }, (_, n) => order(strategy, {}, n / 30)[0])
      expect(['a', 'b', 'c'].map((key) => firsts.filter((first) => first === key).length)).toEqual([10, 10, 10])
      const used = { ...unusedKey, uses: 1, lastUsed: 1 }
      expect(order(strategy, { b: used, c: used }, 0.9)[0]).toBe('a')
    },
  )

  it('omits suspended and dead keys', () => {
    const health = {
      a: { ...unusedKey, until: now + 1 },
      b: { ...unusedKey, dead: true },
      c: { ...unusedKey, until: now },
    }
    expect(order('fill_first', health)).toEqual(['c'])
    expect(orderSuspendedKeys(['a', 'b', 'c'], health)).toEqual(['c', 'a'])
  })
})

describe('suspensionAfter()', () => {
  it.each([
    ['auth', undefined, false, { ms: 300_000 }],
    ['rate', undefined, false, { ms: 3_600_000 }],
    ['rate', 20_000, false, { ms: 20_000 }],
    ['rate', 1e12, false, { ms: 86_400_000 }],
    ['quota', undefined, true, { ms: 60_000 }],
    ['key-dead', undefined, true, { dead: true }],
    ['upstream-rate', 1, false, undefined],
    ['server', undefined, false, undefined],
  ] as const)('after %s (retry-after %s, only key: %s)', (kind, retryAfterMs, isOnly, expected) => {
    expect(suspensionAfter(kind, retryAfterMs, isOnly)).toEqual(expected)
  })
})

it('keyIdOf() derives a stable id that does not contain the key', () => {
  expect(keyIdOf('sk-secret')).toBe(keyIdOf('sk-secret'))
  expect(keyIdOf('sk-secret')).not.toBe(keyIdOf('sk-secreu'))
  expect(keyIdOf('sk-secret')).not.toContain('secret')
})

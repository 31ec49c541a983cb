/** Tests the cost of a call: as the provider reports it, from known prices, or unknown. */

import { describe, expect, it } from 'vitest'
import { noUsage, type Usage } from '#agent/core/usage.ts'
import { billCall, billInterrupted, addCost } from '#durable/models/pricing.ts'

const prices = { input: 2, output: 10, cachedRead: 0.2, cachedWrite: 2.5 }
const million = 1_000_000
const used: Usage = { ...noUsage, input: million, output: million, reasoning: 400_000, costStatus: 'unknown' }
const route = { id: 'a/one', dialect: 'openai-chat', prices } as const
const unpriced = { id: 'a/one', dialect: 'openai-chat' } as const
const free = { ...route, prices: { input: 0, output: 0, cachedRead: 0, cachedWrite: 0 } }

const tiered = {
  ...route,
  prices: {
    ...prices,
    above: [
      { tokens: 200_000, input: 4, output: 15, cachedRead: 0.4, cachedWrite: 5 },
      { tokens: 500_000, input: 8, output: 20, cachedRead: 0.8, cachedWrite: 10 },
    ],
  },
} as const

describe('the cost of a call', () => {
  const cached = { ...noUsage, cachedRead: million, cachedWrite: million, costStatus: 'unknown' } as const
  const cases: readonly (readonly [
    string,
    Usage,
    Parameters<typeof addCost>[1],
    readonly [number, Usage['costStatus']],
  ])[] = [
    ['counts reasoning as output', used, route, [12, 'estimated']],
    ['counts cached reads and writes at their own prices', cached, route, [2.7, 'estimated']],
    [
      'is higher for cache writes of an hour',
      { ...cached, hourWrite: 400_000 },
      route,
      [0.2 + 0.6 * 2.5 + 0.4 * 4, 'estimated'],
    ],
    [
      'is the same for an hour when writes cost no more than input',
      { ...cached, cachedRead: 0, hourWrite: million },
      { ...route, prices: { ...prices, cachedWrite: 2 } },
      [2, 'estimated'],
    ],
    ['uses the base prices up to a prompt length', { ...used, input: 200_000 }, tiered, [10.4, 'estimated']],
    [
      'uses the tier of the prompt length, cached tokens included',
      { ...used, input: 200_000, cachedRead: 1 },
      tiered,
      [15.8000004, 'estimated'],
    ],
    ['uses the next tier', used, tiered, [28, 'estimated']],
    ['is the one that the provider reports', { ...used, costUsd: 3, costStatus: 'actual' }, route, [3, 'actual']],
    ['has searches of the provider', { ...used, webSearches: 5 }, route, [12.05, 'estimated']],
    [
      'has searches at the price of the settings',
      { ...used, webSearches: 5 },
      { ...route, facts: { searchPrice: 25 } },
      [12.125, 'estimated'],
    ],
    ['is unknown without prices', used, unpriced, [0, 'unknown']],
    ['is included when the model is free', used, free, [0, 'included']],
    ['is zero for the demo model', noUsage, { dialect: 'demo' }, [0, 'included']],
  ]
  it.each(cases)('%s', (_case, usage, at, [costUsd, costStatus]) => {
    const priced = addCost(usage, at)
    expect([Number(priced.costUsd.toFixed(9)), priced.costStatus]).toEqual([costUsd, costStatus])
  })
})

describe('a bill', () => {
  const estimate = { ...noUsage, input: 100, output: 5, costStatus: 'unknown' } as const

  it('is for one call of one model', () => {
    expect(billCall(used, estimate, { route }).by).toEqual({
      'a/one': { ...used, costUsd: 12, costStatus: 'estimated', calls: 1, cut: 0 },
    })
    expect(Object.keys(billCall(used, estimate, { route, task: 'vision' }).by ?? {})).toEqual(['a/one vision'])
  })

  it('drops the fields that only the price needs', () => {
    const long = { ...used, cachedWrite: 10, hourWrite: 10 }
    expect(JSON.stringify(billCall(long, estimate, { route }))).not.toContain('hourWrite')
  })

  it('is estimated and marked when the provider reports no usage', () => {
    const billed = billCall(noUsage, estimate, { route })
    expect(billed).toMatchObject({ input: 100, output: 5, costStatus: 'estimated' })
    expect(billed.by?.['a/one']).toMatchObject({ calls: 1, cut: 1 })
  })

  it('is not estimated for the demo model', () => {
    expect(billCall(noUsage, estimate, { route: { id: 'demo/agent', dialect: 'demo' } })).toMatchObject({ input: 0 })
  })

  it('is marked for an interrupted call, with or without a price', () => {
    expect(billInterrupted(estimate, { route: unpriced })).toMatchObject({
      costStatus: 'unknown',
      by: { 'a/one': { input: 100, cut: 1 } },
    })
  })
})

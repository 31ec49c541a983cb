import { describe, expect, it } from 'vitest'
import { noUsage } from '#agent/core/usage.ts'
import { grantFor, isExhausted, limitsOfGrant } from '#agent/policy/subagent/money.ts'

const spent = (costUsd: number, input = 0) => ({ ...noUsage, costUsd, input })

describe('the money of a subagent', () => {
  it.each([
    { name: 'is not limited without a limit', limits: {}, grant: {} },
    { name: 'is what is left of the turn', limits: { usd_per_turn: 3 }, grant: { usd: 2 } },
    { name: 'is shared with those that start too', limits: { usd_per_turn: 3 }, shares: 4, grant: { usd: 0.5 } },
    {
      name: 'is reduced by what others hold',
      limits: { usd_per_turn: 3 },
      granted: [{ usd: 1.5 }],
      grant: { usd: 0.5 },
    },
    { name: 'follows the stricter limit', limits: { usd_per_turn: 3, usd_per_session: 6 }, grant: { usd: 1 } },
    {
      name: 'counts tokens in the same way',
      limits: { tokens_per_turn: 1_000 },
      granted: [{ tokens: 300 }],
      shares: 2,
      grant: { tokens: 300 },
    },
    { name: 'is nothing when the limit is used up', limits: { usd_per_turn: 1 }, grant: { usd: 0 } },
  ])('$name', ({ limits, granted = [], shares = 1, grant }) => {
    expect(grantFor(limits, { turn: spent(1, 100), session: spent(5, 100), granted }, shares)).toEqual(grant)
  })

  it('becomes limits of its session, and an empty grant starts nothing', () => {
    expect(limitsOfGrant({ usd: 2, tokens: 10 })).toEqual({ usd_per_session: 2, tokens_per_session: 10 })
    expect([{ usd: 0 }, { tokens: 0 }, { usd: 1 }, {}].map(isExhausted)).toEqual([true, true, false, false])
  })
})

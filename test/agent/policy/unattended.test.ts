/** Tests the limits of turns that no person has started. */

import { describe, expect, it } from 'vitest'
import type { Authority } from '#agent/core/permission/authority.ts'
import type { Limits } from '#agent/core/settings.ts'
import { findUnattendedRefusal, isUnattendedTurn, pauseAfter, type UnattendedUse } from '#agent/policy/unattended.ts'

const minute = 60_000
const now = 100 * minute
const by = (kind: Authority['principal']['kind']) =>
  ({ tenantId: 't', principal: { kind, id: 'x' }, scopes: [], taint: 'none' }) as unknown as Authority

describe('a turn', () => {
  it.each<readonly [string, Authority | undefined, boolean]>([
    ['api', by('key'), false],
    ['telegram', by('person'), false],
    ['api', undefined, false],
    ['api', by('process'), true],
    ['api', by('job'), true],
    ['api', by('session'), true],
    ['webhook', by('key'), true],
    ['cron', undefined, true],
    ['subagent', undefined, true],
  ])('in a session of the source %s', (source, authority, isUnattended) => {
    expect(isUnattendedTurn(source, authority)).toBe(isUnattended)
  })
})

it.each([
  [0, 0],
  [4, 0],
  [5, 30_000],
  [6, minute],
  [8, 4 * minute],
  [10, 10 * minute],
  [500, 10 * minute],
])('after %d turns that a session started by itself the pause is %d ms', (turns, ms) => {
  expect(pauseAfter(turns)).toBe(ms)
})

type Use = Partial<UnattendedUse['hour'] & UnattendedUse['day']>

describe('an unattended turn', () => {
  const refusalOf = (
    { turns = 0, sessionTurns = 0, sessionLastAt = 0, tokens = 0, usd = 0 }: Use,
    limits: Limits = {},
    isSelfStarted = false,
  ) =>
    findUnattendedRefusal({ hour: { turns, sessionTurns, sessionLastAt }, day: { tokens, usd } }, limits, {
      isSelfStarted,
      now,
    })

  it.each<readonly [string, Use, Limits, string | undefined]>([
    ['of a job each minute in five sessions', { turns: 299, sessionTurns: 59, sessionLastAt: now }, {}, undefined],
    ['that is the 301st of a tenant in an hour', { turns: 300 }, {}, 'unattended_turns_per_hour'],
    ['that is the 61st of a session in an hour', { turns: 60, sessionTurns: 60 }, {}, 'unattended_turns_per_hour'],
    ['under a lower limit', { turns: 10 }, { unattended_turns_per_hour: 10 }, 'unattended_turns_per_hour'],
    ['under a higher limit', { turns: 900, sessionTurns: 199 }, { unattended_turns_per_hour: 1_000 }, undefined],
    ['after the tokens of a day', { tokens: 20_000_000 }, {}, 'unattended_tokens_per_day'],
    ['after the dollars of a day', { usd: 10 }, {}, 'unattended_usd_per_day'],
    ['with a higher limit of dollars', { usd: 10 }, { unattended_usd_per_day: 11 }, undefined],
  ])('%s', (_what, use, limits, refused) => {
    expect(refusalOf(use, limits)?.limit).toBe(refused)
  })

  it('that its session starts by itself comes after a growing pause', () => {
    expect(refusalOf({ turns: 7, sessionTurns: 7, sessionLastAt: now - minute }, {}, true)).toEqual({
      limit: 'unattended_turns_per_hour',
      retryAfterMs: minute,
    })
    expect(refusalOf({ turns: 7, sessionTurns: 7, sessionLastAt: now - 2 * minute }, {}, true)).toBeUndefined()
  })
})

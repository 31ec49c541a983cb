/** Tests how an isolate tracks the health of provider keys and the stalled calls of models. */

import { describe, expect, it } from 'vitest'
import type { Failure } from '#agent/core/failure.ts'
import { orderKeys } from '#agent/routing/key-selection.ts'
import { suspendKey, recordOutcome, getHealth, leaseKey, mergeHealth, getStalls } from '#durable/models/key-pool.ts'

const failed = (kind: Failure['kind'], retryAfterMs?: number): Failure => ({
  kind,
  message: '',
  ...(retryAfterMs !== undefined && { retryAfterMs }),
})
const now = 1_000
const usable = (tenant: string, at = now) =>
  orderKeys(['a', 'b'], getHealth(tenant), { strategy: 'fill_first', now: at, random: 0 })

describe('a key', () => {
  it('is never used again after it was revoked', () => {
    suspendKey('revoked', 'a', failed('key-dead'), { now, isOnly: false })
    mergeHealth('revoked', { a: { until: 0, dead: false } })
    expect(usable('revoked', now + 1e12)).toEqual(['b'])
  })

  it('is suspended for as long as a rate limit says', () => {
    expect(suspendKey('limited', 'a', failed('rate', 5_000), { now, isOnly: false })).toEqual({
      until: now + 5_000,
      dead: false,
      why: 'rate',
    })
    expect([usable('limited', now + 4_999), usable('limited', now + 5_000)]).toEqual([['b'], ['a', 'b']])
  })

  it('is not suspended for failures that it did not cause', () => {
    for (const kind of ['server', 'overloaded', 'upstream-rate', 'network', 'too-long', 'conflict'] as const)
      expect(suspendKey('innocent', 'a', failed(kind), { now, isOnly: true })).toBe(undefined)
  })

  it('is not suspended for a rate limit of a fallback that shares it, but for its own failures', () => {
    const how = { now, isOnly: true, isBorrowed: true }
    expect(suspendKey('borrowed', 'a', failed('rate', 5_000), how)).toBe(undefined)
    expect(suspendKey('borrowed', 'a', failed('auth'), how)).not.toBe(undefined)
    expect(suspendKey('borrowed', 'a', failed('key-dead'), how)).toEqual({
      until: 0,
      dead: true,
      why: 'key-dead',
    })
  })

  it('without an open call is chosen before one with a call', () => {
    const end = leaseKey('busy', 'a', now)
    const order = () => orderKeys(['a', 'b'], getHealth('busy'), { strategy: 'least_used', now, random: 0 })
    expect(order()).toEqual(['b', 'a'])
    leaseKey('busy', 'b', now)
    end()
    expect(order()).toEqual(['a', 'b'])
  })

  it('is suspended for its tenant alone', () => {
    suspendKey('one', 'a', failed('key-dead'), { now, isOnly: false })
    expect(usable('another')).toEqual(['a', 'b'])
  })
})

describe('stalled calls of a model', () => {
  it('are counted in a row: an answer or another failure resets the count, a stop by a person does not', () => {
    const after = (...ends: readonly (Failure['kind'] | undefined)[]) => {
      for (const end of ends) recordOutcome('t', 'm', end && failed(end))
      return getStalls('t', 'm')
    }
    expect([
      after('stalled', 'stalled'),
      after('aborted'),
      after('stalled'),
      after('server'),
      after('stalled'),
    ]).toEqual([2, 2, 3, 0, 1])
    expect(after(undefined)).toBe(0)
    expect(getStalls('t', 'other')).toBe(0)
  })
})

describe('the memory of an isolate', () => {
  it('drops the oldest tenants', () => {
    suspendKey('first', 'a', failed('key-dead'), { now, isOnly: false })
    recordOutcome('first', 'openai/m', failed('stalled'))
    for (let n = 0; n < 5_002; n++) {
      mergeHealth(`tenant ${n}`, {})
      recordOutcome('other', `openai/${n}`, failed('stalled'))
    }
    expect([usable('first'), getStalls('first', 'openai/m')]).toEqual([['a', 'b'], 0])
    expect(getStalls('other', 'openai/5001')).toBe(1)
  })
})

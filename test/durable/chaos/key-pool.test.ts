/** What an isolate knows of the keys and models of a tenant. */

import { describe, expect, it } from 'vitest'
import type { Failure } from '../../../src/agent/model/failure.ts'
import { orderKeys } from '../../../src/agent/routing/key-selection.ts'
import {
  suspendKey,
  recordOutcome,
  getHealth,
  leaseKey,
  mergeHealth,
  getStalls,
} from '../../../src/durable/models/key-pool.ts'

const failed = (kind: Failure['kind'], retryAfterMs?: number): Failure => ({
  kind,
  message: '',
  ...(retryAfterMs !== undefined && { retryAfterMs }),
})
const now = 1_000
const usable = (tenant: string, at = now) =>
  orderKeys(['a', 'b'], getHealth(tenant), { strategy: 'fill_first', now: at, random: 0 })

describe('a key', () => {
  it('that was revoked is never used again, whatever is learnt later; the others are', () => {
    suspendKey('revoked', 'a', failed('key-dead'), { now, isOnly: false })
    mergeHealth('revoked', { a: { until: 0, dead: false } })
    expect(usable('revoked', now + 1e12)).toEqual(['b'])
  })

  it('that is limited comes back when its provider said, and not before', () => {
    expect(suspendKey('limited', 'a', failed('rate', 5_000), { now, isOnly: false })).toEqual({
      until: now + 5_000,
      dead: false,
      why: 'rate',
    })
    expect([usable('limited', now + 4_999), usable('limited', now + 5_000)]).toEqual([['b'], ['a', 'b']])
  })

  it('is not benched for what is not its fault', () => {
    for (const kind of ['server', 'overloaded', 'upstream-rate', 'network', 'too-long', 'conflict'] as const)
      expect(suspendKey('innocent', 'a', failed(kind), { now, isOnly: true })).toBe(undefined)
  })

  it('that a fallback borrowed is not benched for a limit, but for what holds for the key itself', () => {
    const how = { now, isOnly: true, isBorrowed: true }
    expect(suspendKey('borrowed', 'a', failed('rate', 5_000), how)).toBe(undefined)
    expect(suspendKey('borrowed', 'a', failed('auth'), how)).not.toBe(undefined)
    expect(suspendKey('borrowed', 'a', failed('key-dead'), how)).toEqual({
      until: 0,
      dead: true,
      why: 'key-dead',
    })
  })

  it('with a call under way gives way to one without', () => {
    const end = leaseKey('busy', 'a', now)
    const order = () => orderKeys(['a', 'b'], getHealth('busy'), { strategy: 'least_used', now, random: 0 })
    expect(order()).toEqual(['b', 'a'])
    leaseKey('busy', 'b', now)
    end()
    expect(order()).toEqual(['a', 'b'])
  })

  it('of one tenant says nothing about another', () => {
    suspendKey('one', 'a', failed('key-dead'), { now, isOnly: false })
    expect(usable('another')).toEqual(['a', 'b'])
  })
})

describe('silences of a model', () => {
  it('are counted in a row: an answer or another failure begins anew, a stop by a person changes nothing', () => {
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

describe('what an isolate knows', () => {
  it('is forgotten when there are too many tenants to remember', () => {
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

/** Tests that an authority is only ever narrowed, and which history it reaches. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isRiskAbove, risks } from '#agent/core/permission/approval.ts'
import { actAs, type Authority, hasScope, historyReach, narrow, scopes } from '#agent/core/permission/authority.ts'

const owner: Authority = { tenantId: 't1', principal: { kind: 'key', id: 'k' }, scopes, taint: 'none' }
const here = { connection: 'ch_1', chat: '11' }
const elsewhere = { connection: 'ch_1', chat: '12' }

describe('a narrowed authority', () => {
  it.each<[string, Parameters<typeof narrow>[1], Partial<Authority>]>([
    ['keeps everything without a limit', {}, {}],
    ['has only the scopes that both have', { scopes: ['chat', 'read'] }, { scopes: ['chat', 'read'] }],
    ['has no scope that it did not have', { scopes: [] }, { scopes: [] }],
    ['has only tools that are in all lists', { toolBounds: [['file']] }, { toolBounds: [['file']] }],
    ['is limited to a chat', { channel: here }, { channel: here }],
    ['is tainted', { taint: 'untrusted' }, { taint: 'untrusted' }],
    ['has a highest risk', { maxRisk: 'write' }, { maxRisk: 'write' }],
  ])('%s', (_name, by, changed) => {
    expect(narrow(owner, by)).toEqual({ ...owner, ...changed })
  })

  it.each<[string, Authority, Parameters<typeof narrow>[1], Partial<Authority>]>([
    ['its chat', { ...owner, channel: here }, { channel: elsewhere }, { channel: here }],
    ['its taint', { ...owner, taint: 'untrusted' }, { taint: 'none' }, { taint: 'untrusted' }],
    [
      'its tools, and repeats no list',
      { ...owner, toolBounds: [['file']] },
      { toolBounds: [['file'], ['todo']] },
      { toolBounds: [['file'], ['todo']] },
    ],
    ['its risk when it is lower', { ...owner, maxRisk: 'write' }, { maxRisk: 'exec' }, { maxRisk: 'write' }],
    ['its risk beside none', { ...owner, maxRisk: 'write' }, {}, { maxRisk: 'write' }],
    ['no risk above the other', { ...owner, maxRisk: 'exec' }, { maxRisk: 'net' }, { maxRisk: 'net' }],
    ['its missing scopes', { ...owner, scopes: ['chat'] }, { scopes }, { scopes: ['chat'] }],
  ])('keeps %s', (_name, authority, by, kept) => {
    expect(narrow(authority, by)).toMatchObject(kept)
  })

  const anyAuthority = fc.record({
    tenantId: fc.constantFrom('t1', 't2'),
    principal: fc.constant<Authority['principal']>({ kind: 'session', id: 's' }),
    scopes: fc.subarray([...scopes]),
    maxRisk: fc.constantFrom(...risks),
    taint: fc.constantFrom<Authority['taint']>('none', 'untrusted'),
  })

  it('of any two may do only what both may, in the tenant of the first', () => {
    fc.assert(
      fc.property(anyAuthority, anyAuthority, (one, other) => {
        const both = narrow(one, other)
        expect(both.tenantId).toBe(one.tenantId)
        for (const scope of scopes) expect(hasScope(both, scope)).toBe(hasScope(one, scope) && hasScope(other, scope))
        for (const risk of risks)
          expect(isRiskAbove(risk, both.maxRisk)).toBe(
            isRiskAbove(risk, one.maxRisk) || isRiskAbove(risk, other.maxRisk),
          )
        expect(both.taint === 'none').toBe(one.taint === 'none' && other.taint === 'none')
      }),
    )
  })
})

it('may act in the name of another principal with the same rights', () => {
  const principal = { kind: 'process', id: 'ses_1' } as const
  expect(actAs({ ...owner, channel: here }, principal)).toEqual({
    ...owner,
    channel: here,
    principal,
    onBehalfOf: 'key:k',
  })
})

it.each<[string, Partial<Authority>, ReturnType<typeof historyReach>]>([
  ['a key that may read: the tenant', {}, { kind: 'tenant' }],
  ['a key that may not read: its session', { scopes: ['chat'] }, { kind: 'session' }],
  ['a person in a chat: that chat', { scopes: ['chat'], channel: here }, { kind: 'chat', chat: 'ch_1:11' }],
  ['a person where the owner widened it: the tenant', { scopes: ['chat', 'read'], channel: here }, { kind: 'tenant' }],
])('%s', (_name, change, reach) => {
  expect(historyReach({ ...owner, ...change })).toEqual(reach)
})

/** Tests what a caller with a role may change and give to others. */

import { describe, expect, it } from 'vitest'
import { type Authority, type Rights, scopes } from '#agent/core/permission/authority.ts'
import { findChangeBeyondRole, mayGive } from '#agent/policy/settings/role-limits.ts'

const sets: Readonly<Record<string, readonly string[]>> = { file: ['read_file', 'write_file'] }
const expand = (names: readonly string[] = []) => new Set(names.flatMap((name) => sets[name] ?? [name]))

const base: Authority = { tenantId: 't1', principal: { kind: 'key', id: 'k' }, scopes, taint: 'none' }
const entitlements = [{ scopes, role: 'r' }]
const bound = (rights: Partial<Rights> = {}): Authority => ({ ...base, entitlements, ...rights })

describe('a change of settings', () => {
  const all = ['timezone', 'approvals.mode', 'roles.r.scopes']
  it.each<[string, Authority, readonly string[], string | undefined]>([
    ['without a role is free', base, all, undefined],
    ['with a role may not touch roles', bound(), all, 'roles.r.scopes'],
    ['with a role without a risk may touch approvals', bound(), ['approvals.mode'], undefined],
    ['with a highest risk may not touch approvals', bound({ maxRisk: 'write' }), all, 'approvals.mode'],
    [
      'with a highest risk may not choose the judge',
      bound({ maxRisk: 'write' }),
      ['auxiliary.approval.model'],
      'auxiliary.approval.model',
    ],
    [
      'with a role is free elsewhere',
      bound({ maxRisk: 'none' }),
      ['limits.usd_per_day', 'toolsets.enabled'],
      undefined,
    ],
  ])('%s', (_name, authority, changes, found) => {
    expect(findChangeBeyondRole(authority, changes)).toBe(found)
  })
})

describe('a caller', () => {
  it.each<[string, Authority, Rights, boolean]>([
    ['without a role gives anything', base, { scopes }, true],
    [
      'gives what it has',
      bound({ maxRisk: 'write', toolBounds: [['file']] }),
      { scopes: ['chat'], maxRisk: 'write', toolBounds: [['file']] },
      true,
    ],
    [
      'gives less',
      bound({ maxRisk: 'exec', toolBounds: [['file']] }),
      { scopes: [], maxRisk: 'read', toolBounds: [['read_file']] },
      true,
    ],
    ['gives no scope that it lacks', bound({ scopes: ['chat'] }), { scopes: ['chat', 'read'] }, false],
    ['gives no higher risk', bound({ maxRisk: 'write' }), { scopes: ['chat'], maxRisk: 'net' }, false],
    ['gives no rights without a risk', bound({ maxRisk: 'write' }), { scopes: ['chat'] }, false],
    [
      'gives no further tool',
      bound({ toolBounds: [['file']] }),
      { scopes: ['chat'], toolBounds: [['file', 'terminal']] },
      false,
    ],
    ['gives no rights without a list of tools', bound({ toolBounds: [['file']] }), { scopes: ['chat'] }, false],
    [
      'gives only what is in all of its lists',
      bound({ toolBounds: [['file'], ['read_file']] }),
      { scopes: ['chat'], toolBounds: [['file']] },
      false,
    ],
  ])('with a role %s', (_name, authority, given, allowed) => {
    expect(mayGive(authority, given, expand)).toBe(allowed)
  })
})

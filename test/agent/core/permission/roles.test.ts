/** Tests what roles take away from keys, login rules and people, and that nothing adds to it later. */

import { describe, expect, it } from 'vitest'
import { findRefusal, fullAccess, getHolder } from '#agent/core/permission/access.ts'
import { type Entitlement, type Rights, scopes } from '#agent/core/permission/authority.ts'
import {
  findDeletedRole,
  type Identity,
  narrowByRoles,
  resolveAuthority,
  resolveRights,
  type Roles,
} from '#agent/core/permission/roles.ts'

const roles: Roles = {
  reader: { scopes: ['read'] },
  guest: { scopes: ['chat', 'read'], toolsets: ['file'], max_risk: 'read' },
  editor: { scopes: ['chat', 'write'], toolsets: ['file', 'todo'], max_risk: 'write' },
  free: { scopes: [...scopes] },
  nothing: { scopes: [] },
}
const holding = (role: string, held: Entitlement['scopes'] = scopes): Entitlement => ({ scopes: held, role })
const none: Rights = { scopes: [], toolBounds: [[]], maxRisk: 'none' }

describe('rights', () => {
  it.each<[string, readonly Entitlement[], Rights]>([
    ['without a role are the scopes', [{ scopes: ['chat', 'approve'] }], { scopes: ['chat', 'approve'] }],
    [
      'by a role are those of both',
      [holding('guest', ['chat', 'write'])],
      { scopes: ['chat'], toolBounds: [['file']], maxRisk: 'read' },
    ],
    ['by a role without limits are the scopes', [holding('free', ['read'])], { scopes: ['read'] }],
    ['by a deleted role are none', [holding('gone')], none],
    ['by a role named like a member of objects are none', [holding('constructor')], none],
    ['by a role without scopes are none', [holding('nothing')], none],
    ['without entitlements are none', [], none],
    [
      'by two roles add up',
      [holding('guest'), holding('editor')],
      { scopes: ['chat', 'read', 'write'], toolBounds: [['file', 'todo']], maxRisk: 'write' },
    ],
    [
      'by a role and without one have no limit',
      [holding('guest'), { scopes: ['jobs'] }],
      { scopes: ['chat', 'read', 'jobs'] },
    ],
    [
      'by a limited role and a deleted one keep the limit',
      [holding('guest', ['chat']), holding('gone')],
      { scopes: ['chat'], toolBounds: [['file']], maxRisk: 'read' },
    ],
  ])('%s', (_name, entitlements, expected) => {
    expect(resolveRights(entitlements, roles)).toEqual(expected)
  })
})

const identity = (...entitlements: readonly Entitlement[]): Identity => ({
  tenantId: 't1',
  principal: { kind: 'key', id: 'k1' },
  entitlements,
  taint: 'none',
})

describe('an authority', () => {
  it('of a key without a role has its scopes, and no trace of roles', () => {
    expect(resolveAuthority(identity({ scopes: ['chat'] }), roles)).toEqual({
      tenantId: 't1',
      principal: { kind: 'key', id: 'k1' },
      scopes: ['chat'],
      taint: 'none',
    })
  })

  it('follows its role when that becomes narrower or is deleted, and not when it becomes wider', () => {
    const editor = resolveAuthority(identity(holding('editor')), roles)
    const rightsWith = (changed: Roles) => {
      const { scopes: held, toolBounds, maxRisk } = narrowByRoles(editor, changed)
      return { scopes: held, tools: toolBounds?.length, maxRisk }
    }
    const before = { scopes: ['chat', 'write'], tools: 1, maxRisk: 'write' }
    expect(rightsWith(roles)).toEqual(before)
    expect(rightsWith({ editor: { scopes: [...scopes], max_risk: 'spend' } })).toEqual(before)
    expect(rightsWith({ editor: { scopes: ['chat'], toolsets: ['todo'], max_risk: 'read' } })).toEqual({
      scopes: ['chat'],
      tools: 2,
      maxRisk: 'read',
    })
    expect(rightsWith({})).toEqual({ scopes: [], tools: 2, maxRisk: 'none' })
  })

  it('stays as it is while the roles are not known, and without a role', () => {
    const editor = resolveAuthority(identity(holding('editor')), roles)
    const plain = resolveAuthority(identity({ scopes: ['chat'] }), roles)
    expect(narrowByRoles(editor, undefined)).toBe(editor)
    expect(narrowByRoles(plain, {})).toBe(plain)
  })

  it('names the deleted role', () => {
    expect(findDeletedRole(identity(holding('editor'), holding('gone')), roles)).toBe('gone')
    expect(findDeletedRole(identity(holding('editor'), { scopes: [] }), roles)).toBe(undefined)
  })
})

describe('a turn or a stream', () => {
  const held = getHolder(resolveAuthority(identity(holding('guest')), roles), 'chat')
  it.each<[string, Roles | undefined, string | undefined]>([
    ['goes on while the role gives its scope', roles, undefined],
    ['goes on while the roles are not known', undefined, undefined],
    ['ends when the role loses its scope', { guest: { scopes: ['read'] } }, 'role-changed'],
    ['ends when the role is deleted', {}, 'role-changed'],
  ])('%s', (_name, known, refusal) => {
    expect(findRefusal({ ...fullAccess, roles: known }, held)).toBe(refusal)
  })

  it('of a key without a role goes on whatever the roles are', () => {
    const plain = getHolder(resolveAuthority(identity({ scopes: ['chat'] }), roles), 'chat')
    expect(findRefusal({ ...fullAccess, roles: {} }, plain)).toBe(undefined)
  })
})

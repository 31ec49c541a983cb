/** The kinds of principals that contribute to turns, with the rights of each, and what it means to have no more rights. */

import { isRiskAbove, risks } from '#agent/core/permission/approval.ts'
import { type Authority, scopes } from '#agent/core/permission/authority.ts'
import type { Roles } from '#agent/core/permission/roles.ts'

const tenantId = 'default'
const chat = { connection: 'ch_1', chat: '11' }
const base = { tenantId, taint: 'none' } as const

export const principalRoles: Roles = {
  reader: { scopes: ['chat', 'read', 'write'], max_risk: 'read' },
  writer: { scopes: ['chat', 'read', 'write'], toolsets: ['file', 'memory'] },
  guest: { scopes: ['chat'], toolsets: ['web', 'todo'], max_risk: 'net' },
}

export const principals: Readonly<Record<string, Authority>> = {
  owner: { ...base, principal: { kind: 'key', id: 'admin' }, scopes },
  'key with a role': {
    ...base,
    principal: { kind: 'key', id: 'key_role' },
    scopes: ['chat', 'read', 'write'],
    maxRisk: 'read',
    entitlements: [{ scopes, role: 'reader' }],
  },
  'key with one scope': { ...base, principal: { kind: 'key', id: 'key_chat' }, scopes: ['chat'] },
  'chat admin': {
    ...base,
    principal: { kind: 'person', connection: 'ch_1', person: '1', isAdmin: true },
    scopes: ['chat', 'read', 'approve'],
    channel: chat,
  },
  'chat guest': {
    ...base,
    principal: { kind: 'person', connection: 'ch_1', person: '2', isAdmin: false },
    scopes: ['chat'],
    toolBounds: [['web', 'todo']],
    maxRisk: 'net',
    entitlements: [{ scopes: ['chat'], role: 'guest' }],
    channel: chat,
  },
  'webhook sender': {
    ...base,
    principal: { kind: 'job', id: 'wh_1' },
    scopes: ['chat'],
    toolBounds: [['file', 'memory']],
    taint: 'untrusted',
  },
  'page visitor': { ...base, principal: { kind: 'key', id: 'login:visitor' }, scopes: ['chat', 'read'] },
  child: { ...base, principal: { kind: 'session', id: 'ses_p' }, scopes, toolBounds: [['terminal', 'read_file']] },
  job: {
    ...base,
    principal: { kind: 'job', id: 'job1' },
    scopes: ['chat', 'read', 'write'],
    maxRisk: 'exec',
    entitlements: [{ scopes, role: 'writer' }],
    toolBounds: [['file', 'memory']],
  },
}

/** Names what an authority may do that another one may not. The scope `chat` only lets somebody begin a turn. */
export function listExcess(held: Authority, other: Authority): readonly string[] {
  const allows = (bounds: readonly (readonly string[])[] = []) => bounds.map((bound) => JSON.stringify(bound))
  const kept = new Set(allows(held.toolBounds))
  return [
    ...held.scopes.filter((scope) => scope !== 'chat' && !other.scopes.includes(scope)),
    ...allows(other.toolBounds).flatMap((bound) => (kept.has(bound) ? [] : [`tools beyond ${bound}`])),
    ...risks.filter((risk) => isRiskAbove(risk, other.maxRisk) && !isRiskAbove(risk, held.maxRisk)),
    ...(other.taint === 'untrusted' && held.taint === 'none' ? ['trust'] : []),
    ...(other.channel && !held.channel ? ['other chats'] : []),
    ...(other.channel && held.channel && held.channel.connection && held.channel.chat !== other.channel.chat
      ? [`the chat ${held.channel.chat}`]
      : []),
  ]
}

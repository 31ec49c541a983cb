/** Decides who may use a command: the scopes of a key or a role, and the limits of a person in a chat. */

import { hasScope } from '#agent/core/permission/authority.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import { type CommandRights, mayPersonUse } from '#agent/policy/slash-command/command-rights.ts'
import type { CommandSpec } from '#agent/policy/slash-command/command-table.ts'
import type { InboundSubmission } from '../intake/inbound.ts'
import type { Session } from '../session.ts'
import type { CommandCall } from './command.ts'

type CommandCaller = Pick<CommandCall, 'authority' | 'rights'>

export function mayUse({ tenant, meta }: Session, command: CommandSpec, { authority, rights }: CommandCaller): boolean {
  const held = narrowByRoles(authority, tenant.access.roles)
  if (command.isForChats && !meta.origin) return false
  if (held.principal.kind !== 'person') return hasScope(held, command.scope)
  return hasScope(held, 'chat') && rights !== undefined && mayPersonUse(command, { ...rights, scopes: held.scopes })
}

/** Undefined for messages of keys. */
export function listRights(message: { readonly kind: string }): CommandRights | undefined {
  if (!isInbound(message)) return undefined
  const { authority, origin, commands } = message
  const { principal } = authority
  return {
    scopes: authority.scopes,
    isAdmin: principal.kind === 'person' && principal.isAdmin,
    isOperator: commands?.isOperator ?? false,
    allowed: commands?.allowed ?? null,
    isOwnConversation: !origin.isGroup || origin.person !== undefined,
  }
}

const isInbound = (message: { readonly kind: string }): message is InboundSubmission => message.kind === 'inbound'

/** Decides which commands a person in a chat may use, by the settings of the channel. */

import type { Scope } from '#agent/core/permission/authority.ts'
import type { CommandName, CommandSpec } from './command-table.ts'

/** A person may always ask what there is, and as whom they are known. */
const alwaysAllowed: ReadonlySet<string> = new Set<CommandName>(['help', 'whoami', 'start'])

/** The limits of a person in a chat, by the settings of the channel. */
export type CommandRights = {
  readonly scopes: readonly Scope[]
  readonly isAdmin: boolean
  /** See `tier`. */
  readonly isOperator: boolean
  /** The commands of people who are no admins. null: the scopes alone decide. */
  readonly allowed: readonly string[] | null
  /** The conversation is the person's own: a direct chat, or an own session in a group. */
  readonly isOwnConversation: boolean
}

/** Decides whether a person in a chat who may write there may use a command. */
export function mayPersonUse(
  { name, scope, tier }: Pick<CommandSpec, 'name' | 'scope' | 'tier'>,
  rights: CommandRights,
) {
  if (rights.isAdmin || alwaysAllowed.has(name)) return true
  if (rights.allowed && !rights.allowed.includes(name)) return false
  if (tier === 'operator') return rights.isOperator
  return rights.scopes.includes(scope) || (scope === 'write' && rights.isOwnConversation)
}

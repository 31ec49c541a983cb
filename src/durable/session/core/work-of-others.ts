/** Protects the goal, loop and heartbeat that another one has set. A change takes away the work of its author. */

import { type Authority, hasScope, holderOf } from '#agent/core/permission/authority.ts'
import type { CommandRights } from '#agent/policy/slash-command/command-rights.ts'
import type { Session } from '../session.ts'

type WorkKind = 'goal' | 'heartbeat' | 'loop'
/** `rights`: those of a person in a chat. */
type Caller = { readonly authority: Authority; readonly rights?: CommandRights | undefined }

/**
 * Explains why somebody may not change the work. Their own they may, and any work in a conversation that they may delete: its
 * owner, keys with the scope `write`, and in a group its admins. Everybody may pause, because a stop pauses too.
 */
export function findWorkRefusal({ meta }: Session, kind: WorkKind, caller: Caller): string | undefined {
  const work = meta[kind]
  if (!work || work.state.at === 'done') return undefined
  const holder = holderOf(caller.authority)
  if (holder === holderOf(work.authority) || holder === meta.owner || isAdmin(caller)) return undefined
  return `The ${kind} here is of somebody else: only they and admins may change it. /${kind} pause pauses it.`
}

const isAdmin = ({ authority, rights }: Caller): boolean =>
  rights ? rights.isAdmin || rights.isOwnConversation : hasScope(authority, 'write')

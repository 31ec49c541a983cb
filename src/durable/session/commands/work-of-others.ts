/** Protects the goal, loop and heartbeat of somebody else in a conversation that a group shares. */

import { type Authority, holderOf } from '#agent/core/permission/authority.ts'
import { type CommandCall, type CommandReply, reply } from './command.ts'

type Work = { readonly authority: Authority; readonly state: { readonly at: string } }

/** Showing and pausing need no right: `/stop` pauses too. */
const free: ReadonlySet<string> = new Set(['', 'show', 'status', 'pause'])

/**
 * Refuses a change by somebody who is no admin. It would take no rights from anybody, but the work of a person away.
 * Undefined: the change may go on.
 */
export function refuseChange(
  name: 'goal' | 'heartbeat' | 'loop',
  work: Work | undefined,
  { authority, rights, text }: Pick<CommandCall, 'authority' | 'rights' | 'text'>,
): CommandReply | undefined {
  if (!work || work.state.at === 'done') return undefined
  if (!rights || rights.isAdmin || rights.isOwnConversation || free.has(text.toLowerCase())) return undefined
  if (holderOf(work.authority) === holderOf(authority)) return undefined
  return reply(`The ${name} here is of somebody else: only they and admins may change it. /${name} pause pauses it.`)
}

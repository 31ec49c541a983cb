/** `/approve` and `/deny`: decide the approvals that the open turn waits for. The intake of the message applies them. */

import { parseDecision } from '../../../agent/public-api/waiting-text.ts'
import { isApproval, pendingRequests } from '../../turn/pending-requests.ts'
import type { CommandName } from '../../../agent/policy/slash-command/command-table.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandReply, reply, type CommandHandler, usageReply } from './command.ts'

export const approveCommand: CommandHandler = (session, call) => decide(session, call, 'approve')

export const denyCommand: CommandHandler = (session, call) => decide(session, call, 'deny')

/** The right to decide is checked with each approval. */
function decide(session: Session, { name, text }: CommandCall, command: CommandName): CommandReply {
  if (!parseDecision(`/${name} ${text}`)) return usageReply(command)
  return session.store.hasOpenTurn && pendingRequests(session).some(isApproval)
    ? { kind: 'decision' }
    : reply('Nothing waits for approval.')
}

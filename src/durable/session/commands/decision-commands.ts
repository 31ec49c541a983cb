/** `/approve` and `/deny`: decide the approvals that the open turn waits for. The intake of the message applies them. */

import { parseDecision } from '../../../agent/public-api/waiting-text.ts'
import { isApproval, pendingRequests } from '../../turn/pending-requests.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandReply, reply, type SessionCommand, usageReply } from './command.ts'

export const approveCommand: SessionCommand = {
  name: 'approve',
  usage: '[all] [session|always]',
  description: 'Allows the call that waits for approval: once, for this session, or always.',
  scope: 'chat',
  run: (session, call) => decide(session, call, approveCommand),
}

export const denyCommand: SessionCommand = {
  name: 'deny',
  usage: '[all] [REASON]',
  description: 'Denies the call that waits for approval. The agent reads the reason.',
  scope: 'chat',
  run: (session, call) => decide(session, call, denyCommand),
}

/** Who may decide is checked with each approval. */
function decide(session: Session, { name, text }: CommandCall, command: SessionCommand): CommandReply {
  if (!parseDecision(`/${name} ${text}`)) return usageReply(command)
  return session.store.hasOpenTurn && pendingRequests(session).some(isApproval)
    ? { kind: 'decision' }
    : reply('Nothing waits for approval.')
}

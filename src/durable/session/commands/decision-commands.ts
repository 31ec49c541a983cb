/**
 * `/approve` and `/deny`: decide the approvals that wait. The intake of the message applies those of the open turn. In a
 * group they also decide those of the other sessions of the chat, oldest first: an admin all, others those for which
 * they are asked, while none waits in their own session.
 */

import type { ApprovalAnswer } from '#agent/core/permission/approval.ts'
import { chatName } from '#agent/core/permission/authority.ts'
import { parseDecision } from '#agent/public-api/waiting-text.ts'
import { type Approval, isApproval, pendingRequests } from '#durable/turn/pending-requests.ts'
import type { CommandName } from '#agent/policy/slash-command/command-table.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandReply, reply, type CommandHandler, usageReply } from './command.ts'
import { sessionStub } from '#durable/platform/addresses.ts'

export const approveCommand: CommandHandler = (session, call) => decide(session, call, 'approve')

export const denyCommand: CommandHandler = (session, call) => decide(session, call, 'deny')

/** The right to decide is checked with each approval. */
function decide(session: Session, call: CommandCall, command: CommandName): CommandReply | Promise<CommandReply> {
  const typed = parseDecision(`/${call.name} ${call.text}`)
  if (!typed) return usageReply(command)
  const own = session.store.hasOpenTurn ? pendingRequests(session).filter(isApproval) : []
  const { all, ...answer } = typed
  const { principal } = call.authority
  const mayDecideOthers = principal.kind === 'person' && (principal.isAdmin || !own.length)
  if (mayDecideOthers && session.meta.origin?.isGroup) return decideInChat(session, call, { own, all, answer })
  return own.length ? { kind: 'decision' } : nothing
}

const nothing = reply('Nothing waits for approval.')

type Deciding = { readonly own: readonly Approval[]; readonly all: boolean; readonly answer: ApprovalAnswer }

async function decideInChat(
  session: Session,
  call: CommandCall,
  { own, all, answer }: Deciding,
): Promise<CommandReply> {
  const others = await listOthers(session, call)
  const [ownFirst] = own
  const [first] = others
  if (!first) return ownFirst ? { kind: 'decision' } : nothing
  if (!all && ownFirst && ownFirst.since <= first.since) return { kind: 'decision' }
  const results = await Promise.all((all ? others : [first]).map((one) => decideOther(session, call, { one, answer })))
  if (all && ownFirst) return { kind: 'decision' }
  const decided = results.filter((result) => result === 'decided').length
  if (!decided) return reply('This cannot be decided so. Press a button instead.')
  return reply(`${answer.decision === 'deny' ? 'Denied' : 'Allowed'}: ${decided} ${decided > 1 ? 'calls' : 'call'}.`)
}

/** The approvals of the other sessions of this chat that the person may decide, oldest first. */
async function listOthers(session: Session, { authority: { principal } }: CommandCall) {
  const { sessionId, ownAuthority, meta } = session
  const chat = meta.origin && chatName(meta.origin)
  const waiting = await session.tenantObject().pending.list(ownAuthority)
  return waiting
    .filter((item) => item.kind === 'approval')
    .filter((item) => item.chat === chat && item.session_id !== sessionId)
    .filter(({ person }) => principal.kind === 'person' && (principal.isAdmin || person === principal.person))
    .toSorted((one, other) => one.since - other.since)
}

type Other = { readonly one: { readonly id: string; readonly session_id: string }; readonly answer: ApprovalAnswer }

function decideOther({ outside, tenantId }: Session, { authority }: CommandCall, { one, answer }: Other) {
  const stub = sessionStub(outside.env, tenantId, one.session_id)
  return stub.pending.decide(authority, one.id.slice(one.session_id.length + 1), answer)
}

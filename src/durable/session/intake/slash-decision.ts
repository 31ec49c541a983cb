/** Reads decisions about approvals from the text of a message: `/approve`, `/approve session`, `/deny all REASON`. */

import type { ChatAuthor } from '#agent/core/delivery.ts'
import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import { narrowByRoles } from '#agent/core/permission/roles.ts'
import { type OpeningMessage, textIn } from '#agent/core/message.ts'
import { parseDecision } from '#agent/public-api/waiting-text.ts'
import { findPending, isApproval, pendingRequests } from '#durable/turn/pending-requests.ts'
import { prepareDecision, type PreparedDecision } from '../core/approvals.ts'
import type { Session } from '../session.ts'

/** `mayDecide`: false when the sender may not decide. The message is a decision in either case, and never stored. */
export type SlashDecisions = { readonly mayDecide: boolean; readonly decisions: readonly PreparedDecision[] }

/** Undefined for any other message, and while no approval is pending. What lasts longer than the call is stored. */
export async function prepareSlashDecisions(
  session: Session,
  authority: Authority,
  message: OpeningMessage,
): Promise<SlashDecisions | undefined> {
  const typed = message.role === 'user' ? parseDecision(textIn(message)) : undefined
  const pending = typed && session.exists ? pendingRequests(session).filter(isApproval) : []
  if (!typed || !pending.length) return undefined
  if (!mayDecide(session, authority)) return { mayDecide: false, decisions: [] }
  const { all, ...answer } = typed
  const decider = { authority, tenant: session.tenantObject() }
  const prepared = await Promise.all(
    (all ? pending : pending.slice(0, 1)).map(({ id }) =>
      prepareDecision(session, decider, requestOf(session, id), answer),
    ),
  )
  return { mayDecide: true, decisions: prepared.filter((one) => typeof one !== 'string') }
}

type NumberedMessage = {
  readonly text: string
  readonly isNumbered?: true
  readonly asker: ChatAuthor
  readonly authority: Authority
}

/** The words for each choice of an approval. */
const decisionTexts: Readonly<Record<string, string>> = {
  once: '/approve',
  session: '/approve session',
  always: '/approve always',
  deny: '/deny',
}

/**
 * The words for which a number alone stands, on a platform that lists choices by number: those of the first request that
 * waits. Undefined for other messages, and for people who may not answer.
 */
export function readNumber(
  session: Session,
  { text, isNumbered, asker, authority: { principal } }: NumberedMessage,
): string | undefined {
  const number = isNumbered && /^[1-9]$/.exec(text.trim())?.[0]
  if (!number) return undefined
  const rows = session.chatOutbox.outbox.listByRun(session.store.turn().id)
  for (const { asks } of rows) {
    const pending = asks && findPending(session, asks.request)
    if (!pending) continue
    const mayAnswer = asks.person === asker.person || (principal.kind === 'person' && principal.isAdmin)
    const choice = mayAnswer ? asks.choices[Number(number) - 1] : undefined
    return choice !== undefined && isApproval(pending) ? decisionTexts[choice] : choice
  }
  return undefined
}

/** The id of a pending request without the session's prefix. */
const requestOf = ({ sessionId }: Session, id: string): string => id.slice(sessionId.length + 1)

/** A person in a chat decides what the own message has caused, an admin everything there. */
function mayDecide(session: Session, authority: Authority): boolean {
  const { principal } = authority
  if (principal.kind !== 'person') return hasScope(narrowByRoles(authority, session.tenant.access.roles), 'approve')
  return principal.isAdmin || session.store.current()?.options.asker?.person === principal.person
}

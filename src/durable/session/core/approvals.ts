/** Records a person's decision about a pending approval of a session. */

import { granteeOf } from '#durable/turn/turn-authority.ts'
import { allowCall, narrowTurn, settlePendingCall } from '#agent/loop/turn-changes.ts'
import { type ApprovalAnswer, type ApprovalDecision, isRiskAbove } from '#agent/core/permission/approval.ts'
import { type Authority, chatName, hasScope } from '#agent/core/permission/authority.ts'
import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'
import type { ToolMessage } from '#agent/core/message.ts'
import type { ApprovalRequest } from '#agent/core/pending-request.ts'
import { addDecision, type ToolCall } from '#agent/core/turn.ts'
import { createRefusal, renderRefusal } from '#tools/check-permission.ts'
import { findPending } from '#durable/turn/pending-requests.ts'
import { actorOf } from '#agent/core/permission/audit.ts'
import type { Session } from '../session.ts'
import type { TenantDO } from '#durable/tenant/tenant-object.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { clock } from '#durable/platform/clock.ts'

type PendingCall = Extract<ToolCall, { state: 'away' }> & { readonly awaits: ApprovalRequest }

const isPendingApproval = (call: ToolCall): call is PendingCall =>
  call.state === 'away' && call.awaits.kind === 'approval'

function findPendingCall(session: Session, request: string): PendingCall | undefined {
  const callId = findPending(session, request)?.call_id
  const turn = session.store.current()
  const calls = turn?.stage.at === 'tools' ? turn.stage.calls : []
  return calls.filter(isPendingApproval).find(({ id }) => id === callId)
}

/**
 * `gone`: the call does not wait any more. `once-only`: it can be allowed once, but not for the session or always.
 * `policy`: only a holder of the scope `approve` may allow it always. `role`: the one who decides may not do it either.
 */
export type DecideResult = 'decided' | 'gone' | 'once-only' | 'policy' | 'role'

/** The authority that decides, and the tenant whose rules the decision may add to. */
export type Decider = { readonly authority: Authority; readonly tenant: DurableObjectStub<TenantDO> }

/** A decision whose lasting part is stored: what it does to its call. */
export type PreparedDecision = {
  readonly request: string
  readonly call: PendingCall
  readonly decision: ApprovalDecision
  /** The result of the call when it is denied. */
  readonly denial?: ToolMessage
}

/**
 * Applies a person's decision. A grant beyond this call is stored first: after a crash in between, the same decision
 * can be sent again.
 */
export async function decideApproval(
  session: Session,
  decider: Decider,
  request: string,
  answer: ApprovalAnswer,
): Promise<DecideResult> {
  const prepared = await prepareDecision(session, decider, request, answer)
  if (typeof prepared === 'string') return prepared
  return applyDecision(session, decider.authority, prepared) ? 'decided' : 'gone'
}

/** Stores a decision and resumes the turn, whose other calls may run meanwhile. False when the call does not wait any more. */
export function applyDecision(session: Session, by: Authority, prepared: PreparedDecision): boolean {
  // Another decision may have been applied during the wait.
  if (!isPending(session, prepared)) return false
  const { call, decision, denial } = prepared
  // The reason of a denial is read by the model.
  const isRead = decision.did === 'denied' && decision.reason !== ''
  const held = session.store.turn()
  const turn = addDecision(isRead ? narrowTurn(held, by) : held, decision)
  session.store.save(
    denial ? settlePendingCall(turn, denial, session.driver.view()) : allowCall(turn, call.id, call.awaits.hash),
  )
  session.store.write()
  session.turns.resume()
  return true
}

/** Checks a decision and stores the part of it that holds for later calls. */
export async function prepareDecision(
  session: Session,
  decider: Decider,
  request: string,
  answer: ApprovalAnswer,
): Promise<PreparedDecision | Exclude<DecideResult, 'decided'>> {
  const call = findPendingCall(session, request)
  if (!call) return 'gone'
  if (lasts(answer) && call.awaits.rule === undefined) return 'once-only'
  if (answer.decision === 'always' && !hasScope(decider.authority, 'approve')) return 'policy'
  if (answer.decision !== 'deny' && isRiskAbove(call.awaits.risk, decider.authority.maxRisk)) return 'role'
  await storeGrant(session, decider, call, answer)
  const decision = createDecision(answer, call, actorOf(decider.authority))
  return { request, call, decision, ...(answer.decision === 'deny' && { denial: renderDenial(call, decision) }) }
}

/** Denies a pending approval because the conversation went on without it. Undefined when it does not wait any more. */
export function withdrawApproval(
  session: Session,
  authority: Authority | undefined,
  request: string,
): PreparedDecision | undefined {
  const call = findPendingCall(session, request)
  if (!call) return undefined
  const answer = { decision: 'deny', reason: 'the user wrote something else instead' } as const
  const decision = createDecision(answer, call, authority ? actorOf(authority) : 'unknown')
  return { request, call, decision, denial: renderDenial(call, decision) }
}

/** Whether the call of a prepared decision still waits for it. */
export const isPending = (session: Session, { request, call }: PreparedDecision): boolean =>
  findPendingCall(session, request)?.awaits === call.awaits

const lasts = ({ decision }: ApprovalAnswer) => decision === 'session' || decision === 'always'

async function storeGrant(
  session: Session,
  { authority, tenant }: Decider,
  { awaits: { tool, rule } }: PendingCall,
  { decision }: ApprovalAnswer,
): Promise<void> {
  if (decision === 'session' || decision === 'always') {
    // The settings of this turn were read before the new rule: the session grant covers the rest of it.
    const grant = { holder: granteeOf(session.store.turn()), call: `${tool}: ${rule}` }
    const { grants = [] } = session.meta
    const isKnown = grants.some(({ holder, call }) => holder === grant.holder && call === grant.call)
    if (!isKnown) session.updateMeta({ grants: [...grants, grant].slice(-500) })
  }
  if (decision !== 'always') return
  const { channel } = authority
  await tenant.settings.addApprovalRule(authority, {
    do: 'allow',
    tool,
    ...(rule !== '*' && { match: rule }),
    // A grant given in a chat holds for that chat.
    ...(channel && { channel: chatName(channel) }),
  })
  forgetSnapshot(session.tenantId)
}

const createDecision = (
  { decision, reason = '' }: ApprovalAnswer,
  { id, awaits }: PendingCall,
  actor: string,
): ApprovalDecision => ({
  at: clock.now(),
  callId: id,
  tool: awaits.tool,
  risk: awaits.risk,
  did: decision === 'deny' ? 'denied' : 'allowed',
  by: 'person',
  choice: decision,
  actor,
  reason: maskSecrets(reason).slice(0, 280),
  subject: maskSecrets(awaits.input).slice(0, 500),
  hash: awaits.hash,
})

const renderDenial = ({ id, name }: ToolCall, decision: ApprovalDecision) => ({
  role: 'tool' as const,
  callId: id,
  name,
  content: [{ type: 'text' as const, text: renderRefusal(name, createRefusal(decision)) }],
  failed: true,
})

/** Records a person's decision about a pending approval of a session. */

import { allowCall, settlePendingCall } from '../../agent/loop/intake.ts'
import type { ApprovalAnswer, ApprovalDecision } from '../../agent/model/approval.ts'
import { maskSecrets } from '../../agent/model/mask-secrets.ts'
import type { ApprovalRequest } from '../../agent/model/pending-request.ts'
import { addDecision, type ToolCall } from '../../agent/model/turn.ts'
import { createRefusal, renderRefusal } from '../../tools/check-permission.ts'
import { findPending } from '../turn/pending-requests.ts'
import type { Session } from './session.ts'
import type { TenantDO } from '../tenant/tenant-object.ts'
import { forgetSnapshot } from '../tenant/tenant-snapshot.ts'
import { clock } from '../platform/clock.ts'

type Pending = Extract<ToolCall, { state: 'away' }> & { readonly awaits: ApprovalRequest }

const isPending = (call: ToolCall): call is Pending => call.state === 'away' && call.awaits.kind === 'approval'

function pendingIn(core: Session, request: string): Pending | undefined {
  const callId = findPending(core, request)?.call_id
  const turn = core.store.current()
  const calls = turn?.stage.at === 'tools' ? turn.stage.calls : []
  return calls.filter(isPending).find(({ id }) => id === callId)
}

/** `gone`: nobody waits for this any more. `unlasting`: it can only be allowed once. */
export type DecideResult = 'decided' | 'gone' | 'unlasting'

/**
 * A person's answer. What it allows beyond this call is put down first: after a crash in between, the same answer
 * can be given again.
 */
export async function decideApproval(
  core: Session,
  tenant: DurableObjectStub<TenantDO>,
  request: string,
  answer: ApprovalAnswer,
): Promise<DecideResult> {
  const call = pendingIn(core, request)
  if (!call) return 'gone'
  if (lasts(answer) && call.awaits.rule === undefined) return 'unlasting'
  await remember(core, tenant, call, answer)
  // Somebody else may have answered while that was written.
  if (pendingIn(core, request)?.awaits !== call.awaits) return 'gone'
  const decision = decisionBy(answer, call)
  const turn = addDecision(core.store.turn(), decision)
  core.store.save(
    answer.decision === 'deny'
      ? settlePendingCall(turn, denied(call, decision), core.driver.view())
      : allowCall(turn, call.id, call.awaits.hash),
  )
  core.store.write()
  core.turns.resume()
  return 'decided'
}

const lasts = ({ decision }: ApprovalAnswer) => decision === 'session' || decision === 'always'

async function remember(
  core: Session,
  tenant: DurableObjectStub<TenantDO>,
  { awaits: { tool, rule } }: Pending,
  { decision }: ApprovalAnswer,
): Promise<void> {
  if (decision === 'session' || decision === 'always') {
    // Settings that were read for this turn do not know of a new rule.
    const grant = `${tool}: ${rule}`
    const grants = core.meta.grants ?? []
    if (!grants.includes(grant)) core.updateMeta({ grants: [...grants, grant].slice(-500) })
  }
  if (decision !== 'always') return
  await tenant.settings.addApprovalRule({ do: 'allow', tool, ...(rule !== '*' && { match: rule }) })
  forgetSnapshot(core.tenantId)
}

const decisionBy = ({ decision, reason = '' }: ApprovalAnswer, { id, awaits }: Pending): ApprovalDecision => ({
  at: clock.now(),
  callId: id,
  tool: awaits.tool,
  risk: awaits.risk,
  did: decision === 'deny' ? 'denied' : 'allowed',
  by: 'person',
  choice: decision,
  reason: maskSecrets(reason).slice(0, 280),
  subject: awaits.input.slice(0, 500),
  hash: awaits.hash,
})

const denied = ({ id, name }: ToolCall, decision: ApprovalDecision) => ({
  role: 'tool' as const,
  callId: id,
  name,
  content: [{ type: 'text' as const, text: renderRefusal(name, createRefusal(decision)) }],
  failed: true,
})

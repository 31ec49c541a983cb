/** Builds the approval policy of a session and asks the approval judge. */

import type { SessionGrant } from '#durable/storage/session-metadata.ts'
import { granteeOf } from './turn-authority.ts'
import { type Message, userText } from '#agent/core/message.ts'
import type { Settings } from '#agent/core/settings.ts'
import type { Turn } from '#agent/core/turn.ts'
import {
  type ApprovalPolicy,
  type JudgedCall,
  appliesToSession,
  type SessionOrigin,
} from '#agent/policy/approval/approval.ts'
import {
  renderJudgeInstructions,
  parseJudgement,
  type ApprovalJudgement,
  renderJudgeQuestion,
} from '#agent/policy/approval/approval-judge.ts'
import { isUnattendedSource } from '#agent/policy/unattended.ts'
import type { SideCall } from '#durable/models/side-call.ts'

const maxJudgeTokens = 512

type PolicyOrigin = SessionOrigin & { readonly grants?: readonly SessionGrant[] | undefined }

/** Combines settings, grants, decisions and roles into the policy by which the dispatcher judges a call. */
export function createApprovalPolicy(
  { approvals = {} }: Settings,
  origin: PolicyOrigin,
  turn: Turn | undefined,
  byRole: Pick<ApprovalPolicy, 'maxRisk' | 'isTakenAway' | 'isLost'> = {},
): ApprovalPolicy {
  const { mode, rules = [], unattended = 'deny' } = approvals
  return {
    mode,
    rules: rules.filter((rule) => appliesToSession(rule, origin)),
    grants: turn ? listGrants(origin, granteeOf(turn)) : [],
    decisions: turn?.decisions ?? [],
    ...byRole,
    ...(isUnattendedSource(origin.source) && { unattended }),
  }
}

const listGrants = ({ grants = [] }: PolicyOrigin, grantee: string): readonly string[] =>
  grants.flatMap(({ holder, call }) => (holder === grantee ? [call] : []))

/** Asks the approval judge about a call. Escalates to a person when no model is available. */
export async function askApprovalJudge(
  session: { readonly settings: Settings; readonly side: SideCall },
  call: JudgedCall,
): Promise<ApprovalJudgement> {
  const question = renderJudgeQuestion(call)
  if (question === undefined) return 'escalate'
  const system = renderJudgeInstructions(session.settings.approvals?.smart_policy)
  const transcript: readonly Message[] = [userText(question)]
  const answer = await session.side('approval', { system, transcript, maxTokens: maxJudgeTokens })
  return answer.kind === 'answered' ? parseJudgement(answer.text) : 'escalate'
}

/**
 * Decides whether a tool call may run, by the approval policy and, where the policy asks for it, by the judge model. A
 * call that needs a person's approval becomes a pending request.
 */

import type { ApprovalDecision, Assessment } from '#agent/core/permission/approval.ts'
import type { ApprovalRequest } from '#agent/core/pending-request.ts'
import { showHiddenInValue } from '#agent/core/visible-text.ts'
import type { Services, Tool } from '#agent/core/tool.ts'
import type { ToolCall } from '#agent/core/turn.ts'
import {
  type ApprovalPolicy,
  type JudgedCall,
  createDecision,
  hashCall,
  decideApproval,
  assessByRisk,
} from '#agent/policy/approval/approval.ts'
import type { ApprovalJudgement } from '#agent/policy/approval/approval-judge.ts'
import { assessEgress, type EgressState } from '#agent/policy/approval/egress.ts'

export type PermissionContext = {
  readonly services: Partial<Services>
  readonly policy: () => ApprovalPolicy
  /** Names the backend and the directory. An approval counts for one location. */
  readonly describeLocation: () => string
  /** Asks a model. Must not throw: without a judgement it escalates. */
  readonly judge: (call: JudgedCall) => Promise<ApprovalJudgement>
  readonly now: () => number
  /** The marks of what the turn has read so far. Absent: nothing. */
  readonly egress?: EgressState
}

export type PermissionResult =
  | { readonly do: 'run'; readonly decision?: ApprovalDecision }
  | { readonly do: 'refuse'; readonly refusal: PermissionRefusal; readonly decision: ApprovalDecision }
  | { readonly do: 'later'; readonly awaits: ApprovalRequest; readonly decision: ApprovalDecision }

/** The model reads a refusal as the result of its call. */
export type PermissionRefusal = { readonly status: 'refused' | 'denied'; readonly error: string }

export function checkPermission(
  call: ToolCall,
  tool: Tool,
  context: PermissionContext,
): PermissionResult | Promise<PermissionResult> {
  const learning = tool.assess && context.services.backend?.learn?.()
  const loading = context.egress?.load()
  return learning || loading
    ? Promise.all([learning, loading]).then(() => applyPolicy(call, tool, context))
    : applyPolicy(call, tool, context)
}

function applyPolicy(
  call: ToolCall,
  tool: Tool,
  context: PermissionContext,
): PermissionResult | Promise<PermissionResult> {
  const assessment = tool.assess?.(call.input, context.services)
  const decide = (known: Assessment | undefined) => decideCall(describeCall(call, tool, context, known), context)
  return assessment instanceof Promise ? assessment.then(decide) : decide(assessment)
}

/** On a host that others share, a person decides unless the settings say otherwise. */
const withDefaultMode = (policy: ApprovalPolicy, { services }: PermissionContext): ApprovalPolicy => {
  const { backend } = services
  const isShared = backend?.kind === 'http' && backend.capabilities.isolated !== true
  return { ...policy, mode: policy.mode ?? (isShared ? 'manual' : 'smart') }
}

function decideCall(judgedCall: JudgedCall, context: PermissionContext): PermissionResult | Promise<PermissionResult> {
  const found = decideApproval(judgedCall, withDefaultMode(context.policy(), context))
  const record = (did: ApprovalDecision['did'], made: Pick<ApprovalDecision, 'by' | 'reason'>) =>
    createDecision(judgedCall, context.now(), { did, ...made })
  switch (found.do) {
    case 'run':
      return { do: 'run', ...(found.decision && { decision: record('allowed', found.decision) }) }
    case 'refuse': {
      const decision = record(found.did, found.decision)
      return { do: 'refuse', refusal: createRefusal(decision), decision }
    }
    case 'ask':
      return {
        do: 'later',
        awaits: createApprovalRequest(judgedCall, context.now()),
        decision: record('asked', found.decision),
      }
    case 'judge':
      return applyJudgement(judgedCall, context)
  }
}

function describeCall(
  call: ToolCall,
  tool: Tool,
  { services, describeLocation, egress }: PermissionContext,
  known: Assessment | undefined,
): JudgedCall {
  const { id, input, granted, hooked } = call
  const risk = tool.risk(input)
  const own = known ?? assessByRisk(risk, listSubjects(input, services))
  const isOnline = services.backend !== undefined && services.backend.capabilities.network !== 'none'
  const { name, reach } = tool
  const server = reach && { reach, schema: tool.inputSchema }
  const assessment = assessEgress(own, { tool: name, input, risk, isOnline, server }, egress)
  return {
    callId: id,
    tool: name,
    toolset: tool.toolset,
    input,
    risk,
    assessment: hooked?.action === 'approve' ? withHookReason(assessment, hooked.reason) : assessment,
    location: describeLocation(),
    granted,
    hooked,
  }
}

/** A person allows such a call once: the hook asks again each time. */
function withHookReason({ rule: _rule, ...assessment }: Assessment, reason = ''): Assessment {
  return { ...assessment, reasons: [reason, ...assessment.reasons] }
}

async function applyJudgement(call: JudgedCall, context: PermissionContext): Promise<PermissionResult> {
  const judgement = await context.judge(call)
  const reason = call.assessment.reasons.join('; ') || 'a rule asks for it'
  const record = (did: ApprovalDecision['did']) => createDecision(call, context.now(), { did, by: 'judge', reason })
  if (judgement === 'approve') return { do: 'run', decision: record('allowed') }
  if (judgement === 'escalate')
    return { do: 'later', awaits: createApprovalRequest(call, context.now()), decision: record('asked') }
  const decision = record('denied')
  return { do: 'refuse', refusal: createRefusal(decision), decision }
}

const createApprovalRequest = (call: JudgedCall, since: number): ApprovalRequest => {
  const { tool, input, risk, assessment } = call
  const { reasons, rule } = assessment
  const shown = { tool, input: JSON.stringify(showHiddenInValue(input)), risk, reasons, hash: hashCall(call), since }
  return { kind: 'approval', ...shown, ...(rule !== undefined && { rule }) }
}

const refusalTexts: Record<ApprovalDecision['by'], (reason: string) => string> = {
  hardline: (reason) => `This never runs here, and nobody can allow it: ${reason}. Do not try it in another form.`,
  role: (reason) => `Not run, and nobody can allow it here: ${reason}. Go on without it, or tell the user.`,
  rule: (reason) => `Not run: ${reason}. Do not try it in another form; tell the user if it is needed.`,
  hook: (reason) => `Not run: ${reason}. Do not try it in another form; tell the user if it is needed.`,
  person: (reason) => `The user did not allow this${reason && `: ${reason}`}. Do not try it again or in another form.`,
  judge: (reason) => `Not allowed: ${reason}. Do not try it in another form; tell the user if it is needed.`,
  denials: (reason) => `Not run: ${reason}, so nothing more of this kind runs. Go on without, or tell the user.`,
  nobody: (reason) => `Not run: ${reason}. Go on without it and say so in your answer.`,
  grant: (reason) => reason,
  mode: (reason) => reason,
}

export const createRefusal = ({
  did,
  by,
  reason,
}: Pick<ApprovalDecision, 'did' | 'by' | 'reason'>): PermissionRefusal => ({
  status: did === 'refused' ? 'refused' : 'denied',
  error: refusalTexts[by](reason),
})

/** Lists the texts that approval rules match for a tool without its own assessment. */
function listSubjects(input: unknown, { backend }: Partial<Services>): readonly string[] {
  if (typeof input !== 'object' || input === null) return []
  return Object.entries(input).flatMap(([name, value]) => {
    if (typeof value !== 'string') return []
    // File tools resolve a path from the root of the workspace, not from the directory of the shell.
    if (backend && /^(?:path|file)$/.test(name)) return [value, backend.resolve(value)]
    return value.length > 2_000 ? [] : [value]
  })
}

/** Renders a refusal in the shape of the tool's own results. */
export const renderRefusal = (tool: string, { status, error }: PermissionRefusal): string =>
  JSON.stringify(tool === 'terminal' ? { output: '', exit_code: -1, status, error } : { status, error })

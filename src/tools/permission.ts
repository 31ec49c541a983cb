/**
 * Asks the policy about a call, right before it runs. What a person has to decide waits as a stored call; what the
 * judge decides is decided here. Nothing but a permit lets a tool run.
 */

import type { Decision } from '../agent/model/approval.ts'
import { maskedValue } from '../agent/model/secrets.ts'
import type { ApprovalRequest } from '../agent/model/pending-request.ts'
import type { Services, Tool } from '../agent/model/tool.ts'
import type { ToolCall } from '../agent/model/turn.ts'
import {
  type ApprovalPolicy,
  type Asked,
  decisionOf,
  hashOf,
  permit,
  plainAssessment,
} from '../agent/policy/approval.ts'
import type { Judgement } from '../agent/policy/approval-judge.ts'

export type PermissionWorld = {
  readonly services: Partial<Services>
  readonly policy: () => ApprovalPolicy
  /** Where calls run: backend and directory. */
  readonly place: () => string
  /** A model's opinion. Never throws: who cannot judge escalates. */
  readonly judge: (asked: Asked) => Promise<Judgement>
  readonly now: () => number
}

export type Permitted =
  | { readonly do: 'run'; readonly decision?: Decision }
  | { readonly do: 'refuse'; readonly refusal: Refusal; readonly decision: Decision }
  | { readonly do: 'later'; readonly awaits: ApprovalRequest; readonly decision: Decision }

/** What the model reads in place of a result. */
export type Refusal = { readonly status: 'refused' | 'denied'; readonly error: string }

export function permission(call: ToolCall, tool: Tool, world: PermissionWorld): Permitted | Promise<Permitted> {
  const learning = tool.assess && world.services.backend?.learn?.()
  return learning ? learning.then(() => permitted(call, tool, world)) : permitted(call, tool, world)
}

function permitted(call: ToolCall, tool: Tool, world: PermissionWorld): Permitted | Promise<Permitted> {
  const asked = askedFor(call, tool, world)
  const found = permit(asked, world.policy())
  const record = (did: Decision['did'], made: Pick<Decision, 'by' | 'reason'>) =>
    decisionOf(asked, world.now(), { did, ...made })
  switch (found.do) {
    case 'run':
      return { do: 'run', ...(found.decision && { decision: record('allowed', found.decision) }) }
    case 'refuse': {
      const decision = record(found.did, found.decision)
      return { do: 'refuse', refusal: refusalFor(decision), decision }
    }
    case 'ask':
      return { do: 'later', awaits: approvalOf(asked, world.now()), decision: record('asked', found.decision) }
    case 'judge':
      return judged(asked, world)
  }
}

function askedFor(call: ToolCall, tool: Tool, { services, place }: PermissionWorld): Asked {
  const { id, input, granted } = call
  const risk = tool.risk(input)
  const assessment = tool.assess?.(input, services) ?? plainAssessment(risk, subjectsOf(input, services))
  return { callId: id, tool: tool.name, toolset: tool.toolset, input, risk, assessment, place: place(), granted }
}

async function judged(asked: Asked, world: PermissionWorld): Promise<Permitted> {
  const judgement = await world.judge(asked)
  const reason = asked.assessment.reasons.join('; ') || 'a rule asks for it'
  const record = (did: Decision['did']) => decisionOf(asked, world.now(), { did, by: 'judge', reason })
  if (judgement === 'approve') return { do: 'run', decision: record('allowed') }
  if (judgement === 'escalate')
    return { do: 'later', awaits: approvalOf(asked, world.now()), decision: record('asked') }
  const decision = record('denied')
  return { do: 'refuse', refusal: refusalFor(decision), decision }
}

const approvalOf = (asked: Asked, since: number): ApprovalRequest => {
  const { tool, input, risk, assessment } = asked
  const { reasons, rule } = assessment
  const shown = { tool, input: JSON.stringify(maskedValue(input)), risk, reasons, hash: hashOf(asked), since }
  return { kind: 'approval', ...shown, ...(rule !== undefined && { rule }) }
}

const why: Record<Decision['by'], (reason: string) => string> = {
  hardline: (reason) => `This never runs here, and nobody can allow it: ${reason}. Do not try it in another form.`,
  rule: (reason) => `Not run: ${reason}. Do not try it in another form; tell the user if it is needed.`,
  person: (reason) => `The user did not allow this${reason && `: ${reason}`}. Do not try it again or in another form.`,
  judge: (reason) => `Not allowed: ${reason}. Do not try it in another form; tell the user if it is needed.`,
  denials: (reason) => `Not run: ${reason}, so nothing more of this kind runs. Go on without, or tell the user.`,
  nobody: (reason) => `Not run: ${reason}. Go on without it and say so in your answer.`,
  grant: (reason) => reason,
  mode: (reason) => reason,
}

export const refusalFor = ({ did, by, reason }: Pick<Decision, 'did' | 'by' | 'reason'>): Refusal => ({
  status: did === 'refused' ? 'refused' : 'denied',
  error: why[by](reason),
})

/** A path in all its spellings, an address: what rules of tools without an assessment of their own match. */
function subjectsOf(input: unknown, { backend }: Partial<Services>): readonly string[] {
  if (typeof input !== 'object' || input === null) return []
  return Object.entries(input).flatMap(([name, value]) => {
    if (typeof value !== 'string') return []
    // As the file tools resolve it: from the root of the workspace, wherever the shell stands.
    if (backend && /^(?:path|file)$/.test(name)) return [value, backend.resolve(value)]
    return value.length > 2_000 ? [] : [value]
  })
}

/** The words of a result that never was, in the shape that the tool's own results have. */
export const refusalText = (tool: string, { status, error }: Refusal): string =>
  JSON.stringify(tool === 'terminal' ? { output: '', exit_code: -1, status, error } : { status, error })

/**
 * Decides whether a tool call may run, by an ordered list of checks: the assessment, the tenant's rules, earlier answers
 * of persons, and the mode. Runs before every call.
 */

import {
  type ApprovalRule,
  type Assessment,
  type ApprovalDecision,
  isRiskAbove,
} from '#agent/core/permission/approval.ts'
import type { HookRuling } from '#agent/core/hook.ts'
import { othersLimit } from '#agent/core/permission/lost-rights.ts'
import { hash53 } from '#agent/core/hash53.ts'
import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'
import type { Risk } from '#agent/core/tool.ts'
import { matchesWildcard } from '../wildcard.ts'
import { isClientSource } from '#agent/core/client-source.ts'

/** `manual`: a person decides. `smart`: a model judges first, and escalates to a person. `off`: all calls run. */
export type ApprovalMode = 'smart' | 'manual' | 'off'

export type JudgedCall = {
  readonly callId: string
  readonly tool: string
  readonly toolset: string
  readonly input: unknown
  readonly risk: Risk
  readonly assessment: Assessment
  /** The backend and working directory. The same input elsewhere is another call. */
  readonly location: string
  /** The hash of the call that a person has allowed. */
  readonly granted?: string | undefined
  /** The decision of hooks about the call. */
  readonly hooked?: HookRuling | undefined
}

export type ApprovalPolicy = {
  /** Absent: the host decides. People decide on a shared machine, the judge elsewhere. */
  readonly mode?: ApprovalMode | undefined
  readonly rules: readonly ApprovalRule[]
  /** Rules that were allowed for this session, as `tool: rule`. */
  readonly grants: readonly string[]
  /** The highest risk that the authority of the turn may use. */
  readonly maxRisk?: Risk | undefined
  /** Returns whether a role has taken a tool away since the turn began. */
  readonly isTakenAway?: ((tool: string) => boolean) | undefined
  /** Whether others who contribute to the conversation have taken the tool or the risk away. */
  readonly isLost?: ((tool: string, risk: Risk) => boolean) | undefined
  /** The decision when no person can be asked. */
  readonly unattended?: 'deny' | 'allow' | undefined
  /** Decisions of this turn. */
  readonly decisions: readonly ApprovalDecision[]
}

/** The origin of a session: a client of the API, `cron`, or a platform with the chat. */
export type SessionOrigin = {
  readonly source: string
  readonly origin?: { readonly connection: string; readonly chat: string } | undefined
}

/** Checks the channel of a rule: a platform, all chats of a connection, or one chat. */
export function appliesToSession({ channel }: ApprovalRule, { source, origin }: SessionOrigin): boolean {
  if (channel === undefined) return true
  const chats = origin ? [origin.connection, `${origin.connection}:${origin.chat}`] : []
  // A rule for the API holds for each of its clients: any of them could leave out its name.
  const sources = isClientSource(source) ? [source, 'api'] : [source]
  return [...sources, ...chats].some((name) => matchesWildcard(channel, name))
}

type DecisionReason = Pick<ApprovalDecision, 'by' | 'reason'>

export type ApprovalRuling =
  | { readonly do: 'run'; readonly decision?: DecisionReason }
  | { readonly do: 'refuse'; readonly did: 'refused' | 'denied'; readonly decision: DecisionReason }
  | { readonly do: 'judge' | 'ask'; readonly decision: DecisionReason }

/** After this many denials by a person or the judge in one turn, further calls are refused without asking. */
const maxDenials = 3

/** Risks that need no approval by themselves. */
const risksWithoutApproval: ReadonlySet<Risk> = new Set(['none', 'read', 'write', 'net'])

/** Assesses a call of a tool without its own assessment. */
export const assessByRisk = (risk: Risk, subjects: readonly string[]): Assessment => ({
  verdict: risksWithoutApproval.has(risk) ? 'allow' : 'ask',
  reasons: risksWithoutApproval.has(risk) ? [] : [riskReasons[risk] ?? ''],
  subjects,
  rule: '*',
})

const riskReasons: Partial<Record<Risk, string>> = {
  exec: 'it runs code',
  send: 'it sends something to other people',
  spend: 'it spends money',
}

type ApprovalCheck = (call: JudgedCall, policy: ApprovalPolicy) => ApprovalRuling | undefined

const refuse = (by: ApprovalDecision['by'], reason: string): ApprovalRuling => ({
  do: 'refuse',
  did: by === 'person' || by === 'denials' || by === 'nobody' ? 'denied' : 'refused',
  decision: { by, reason },
})
const refuseByRole = ({ tool, risk }: JudgedCall, { isLost }: ApprovalPolicy, reason: string): ApprovalRuling =>
  refuse('role', isLost?.(tool, risk) ? `${reason}; ${othersLimit}` : reason)
const run = (by: ApprovalDecision['by'], reason: string): ApprovalRuling => ({ do: 'run', decision: { by, reason } })

const describeReason = ({ assessment }: JudgedCall) => assessment.reasons.join('; ') || 'a rule asks for it'

const applies =
  (call: JudgedCall, action: ApprovalRule['do']) =>
  (rule: ApprovalRule): boolean =>
    rule.do === action && matchesTool(call, rule.tool) && matchesSubjects(call, rule)

/** Matches a tool by its name or by its toolset, as `toolset:file`. */
const matchesTool = ({ tool, toolset }: JudgedCall, pattern: string) =>
  matchesWildcard(pattern, tool) || matchesWildcard(pattern, `toolset:${toolset}`)

/** A deny rule matches if any command of a script matches. An allow rule must match all of them, or be the call's own rule. */
function matchesSubjects(
  { assessment: { subjects, summary, rule: ownRule } }: JudgedCall,
  rule: ApprovalRule,
): boolean {
  const { match } = rule
  if (match === undefined) return true
  if (rule.do === 'allow' && match === ownRule) return true
  const isMatch = (text: string) => matchesWildcard(match, text)
  return rule.do === 'allow'
    ? subjects.length > 0 && subjects.every(isMatch)
    : [summary ?? '', ...subjects].some(isMatch)
}

const grantKey = ({ tool, assessment }: JudgedCall): string | undefined =>
  assessment.rule === undefined ? undefined : `${tool}: ${assessment.rule}`

const checks: readonly ApprovalCheck[] = [
  (call) =>
    call.assessment.verdict === 'hardline' ? refuse('hardline', call.assessment.reasons.join('; ')) : undefined,
  (call, policy) =>
    isRiskAbove(call.risk, policy.maxRisk)
      ? refuseByRole(
          call,
          policy,
          `the role allows calls up to the risk "${policy.maxRisk}", and this has "${call.risk}"`,
        )
      : undefined,
  (call, policy) =>
    policy.isTakenAway?.(call.tool)
      ? refuseByRole(call, policy, 'the role does not have this tool any more')
      : undefined,
  (call, { rules }) => {
    const rule = rules.find(applies(call, 'deny'))
    return rule && refuse('rule', `a rule denies ${describe(rule)}`)
  },
  ({ hooked }) => (hooked?.action === 'block' ? refuse('hook', hooked.reason ?? '') : undefined),
  (call) => (call.granted !== undefined && call.granted === hashCall(call) ? { do: 'run' } : undefined),
  (call, { decisions }) =>
    decisions.some(({ did, by, hash }) => did === 'denied' && by === 'person' && hash === hashCall(call))
      ? refuse('person', 'exactly this was denied before in this turn')
      : undefined,
  (call, policy) => (call.assessment.isUnjudged ? askPerson(call, policy) : undefined),
  ({ hooked }, { unattended }) => {
    if (hooked?.action !== 'approve') return undefined
    const reason = hooked.reason ?? ''
    if (unattended === undefined) return { do: 'ask', decision: { by: 'hook', reason } }
    return refuse('nobody', `${reason}; it needs a person, and nobody is there to ask`)
  },
  (call, policy) => (policy.rules.some(applies(call, 'ask')) ? decideByMode(call, policy) : undefined),
  (call, { rules }) => {
    if (call.assessment.verdict === 'allow') return { do: 'run' }
    const rule = rules.find(applies(call, 'allow'))
    return rule && run('rule', `a rule allows ${describe(rule)}`)
  },
  (call, { grants }) => {
    const grant = grantKey(call)
    return grant !== undefined && grants.includes(grant) ? run('grant', 'allowed for this session') : undefined
  },
]

const describe = ({ tool, match }: ApprovalRule) => (match === undefined ? tool : `${tool} with ${match}`)

/** In every mode: what was not judged in full might destroy what nobody can restore. */
const askPerson = (call: JudgedCall, { unattended }: ApprovalPolicy): ApprovalRuling =>
  unattended === undefined
    ? { do: 'ask', decision: { by: 'mode', reason: describeReason(call) } }
    : refuse('nobody', 'it cannot be judged in full, and nobody is there to ask')

/** Decides a call that no earlier check has allowed or denied. */
function decideByMode(call: JudgedCall, { mode, unattended, decisions }: ApprovalPolicy): ApprovalRuling {
  if (mode === 'off') return run('mode', 'approvals are off')
  if (decisions.filter(isDenial).length >= maxDenials)
    return refuse('denials', `${maxDenials} calls were denied in this turn`)
  if (unattended === 'allow') return run('nobody', 'nobody is there to ask, and the settings allow it')
  if (unattended === 'deny') return refuse('nobody', 'it needs a person, and nobody is there to ask')
  const isJudged = mode === 'smart' && !call.assessment.needsPerson
  return { do: isJudged ? 'judge' : 'ask', decision: { by: 'mode', reason: describeReason(call) } }
}

const isDenial = ({ did, by }: ApprovalDecision) => did === 'denied' && (by === 'person' || by === 'judge')

export function decideApproval(call: JudgedCall, policy: ApprovalPolicy): ApprovalRuling {
  for (const check of checks) {
    const found = check(call, policy)
    if (found) return found
  }
  return decideByMode(call, policy)
}

/** Hashes the call that a person sees, so that the answer counts for this call only. */
export const hashCall = ({ tool, input, location }: Pick<JudgedCall, 'tool' | 'input' | 'location'>): string =>
  hash53(JSON.stringify([tool, input, location])).toString(36)

export function createDecision(
  call: JudgedCall,
  at: number,
  outcome: Omit<ApprovalDecision, keyof CallFields>,
): ApprovalDecision {
  const { callId, tool, risk } = call
  return { at, callId, tool, risk, subject: subjectOf(call), hash: hashCall(call), ...outcome }
}
type CallFields = Pick<ApprovalDecision, 'at' | 'callId' | 'tool' | 'risk' | 'subject' | 'hash'>

const subjectOf = ({ input, assessment: { subjects, summary } }: JudgedCall) =>
  maskSecrets((summary ?? subjects[0] ?? JSON.stringify(input) ?? '').slice(0, 4_000)).slice(0, 500)

/**
 * Whether a call may run: an ordered list of opinions over the call's assessment, the rules of the tenant, what people
 * allowed before, and the mode. Data in, data out; it is asked by the dispatcher, for every call of every tool.
 */

import type { ApprovalRule, Assessment, ApprovalDecision } from '../model/approval.ts'
import { hash53 } from '../model/hash53.ts'
import { maskSecrets } from '../model/mask-secrets.ts'
import type { Risk } from '../model/tool.ts'
import { matchesWildcard } from './wildcard.ts'

/** `smart`: a model judges what would be asked, and asks when it is not sure. `off`: nothing is asked. */
export type ApprovalMode = 'smart' | 'manual' | 'off'

export type JudgedCall = {
  readonly callId: string
  readonly tool: string
  readonly toolset: string
  readonly input: unknown
  readonly risk: Risk
  readonly assessment: Assessment
  /** Where it would run: the same input elsewhere is another call. */
  readonly place: string
  /** A person has allowed what has this hash. */
  readonly granted?: string | undefined
}

export type ApprovalPolicy = {
  readonly mode: ApprovalMode
  readonly rules: readonly ApprovalRule[]
  /** What was allowed for this session, as `tool: rule`. */
  readonly grants: readonly string[]
  /** Nobody can be asked: what then. */
  readonly unattended?: 'deny' | 'allow' | undefined
  /** What was decided in this turn. */
  readonly decisions: readonly ApprovalDecision[]
}

/** Where a session comes from: `api`, `cron`, or a platform, and then its chat. */
export type SessionOrigin = {
  readonly source: string
  readonly origin?: { readonly connection: string; readonly chat: string } | undefined
}

/** A rule for a channel holds for sessions that live in it: on a platform, in all chats of a connection, or in one. */
export function appliesToSession({ channel }: ApprovalRule, { source, origin }: SessionOrigin): boolean {
  if (channel === undefined) return true
  const places = origin ? [origin.connection, `${origin.connection}:${origin.chat}`] : []
  return [source, ...places].some((place) => matchesWildcard(channel, place))
}

type Verdict = Pick<ApprovalDecision, 'by' | 'reason'>

export type ApprovalRuling =
  | { readonly do: 'run'; readonly decision?: Verdict }
  | { readonly do: 'refuse'; readonly did: 'refused' | 'denied'; readonly decision: Verdict }
  | { readonly do: 'judge' | 'ask'; readonly decision: Verdict }

/** After so many refusals by a person or the judge in one turn, nobody is asked again. */
const maxDenials = 3

/** What has no risk of its own to be asked about. */
const risksWithoutApproval: ReadonlySet<Risk> = new Set(['none', 'read', 'write', 'net'])

/** For tools that do not judge their input themselves. */
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

type Opinion = (asked: JudgedCall, policy: ApprovalPolicy) => ApprovalRuling | undefined

const refuse = (by: ApprovalDecision['by'], reason: string): ApprovalRuling => ({
  do: 'refuse',
  did: by === 'person' || by === 'denials' || by === 'nobody' ? 'denied' : 'refused',
  decision: { by, reason },
})
const run = (by: ApprovalDecision['by'], reason: string): ApprovalRuling => ({ do: 'run', decision: { by, reason } })

const reasonOf = ({ assessment }: JudgedCall) => assessment.reasons.join('; ') || 'a rule asks for it'

const applies =
  (asked: JudgedCall, what: ApprovalRule['do']) =>
  (rule: ApprovalRule): boolean =>
    rule.do === what && names(asked, rule.tool) && suits(asked, rule)

/** A tool by its name, or all of a set: `toolset:file`. */
const names = ({ tool, toolset }: JudgedCall, pattern: string) =>
  matchesWildcard(pattern, tool) || matchesWildcard(pattern, `toolset:${toolset}`)

/** One command that is denied denies the whole script; a rule that allows has to cover all of it, or be its own. */
function suits({ assessment: { subjects, summary, rule: own } }: JudgedCall, rule: ApprovalRule): boolean {
  const { match } = rule
  if (match === undefined) return true
  if (rule.do === 'allow' && match === own) return true
  const covered = (text: string) => matchesWildcard(match, text)
  return rule.do === 'allow'
    ? subjects.length > 0 && subjects.every(covered)
    : [summary ?? '', ...subjects].some(covered)
}

const grantOf = ({ tool, assessment }: JudgedCall): string | undefined =>
  assessment.rule === undefined ? undefined : `${tool}: ${assessment.rule}`

const opinions: readonly Opinion[] = [
  (asked) =>
    asked.assessment.verdict === 'hardline' ? refuse('hardline', asked.assessment.reasons.join('; ')) : undefined,
  (asked, { rules }) => {
    const rule = rules.find(applies(asked, 'deny'))
    return rule && refuse('rule', `a rule denies ${describe(rule)}`)
  },
  (asked) => (asked.granted !== undefined && asked.granted === hashCall(asked) ? { do: 'run' } : undefined),
  (asked, { decisions }) =>
    decisions.some(({ did, by, hash }) => did === 'denied' && by === 'person' && hash === hashCall(asked))
      ? refuse('person', 'exactly this was denied before in this turn')
      : undefined,
  (asked, policy) => (policy.rules.some(applies(asked, 'ask')) ? careful(asked, policy) : undefined),
  (asked, { rules }) => {
    if (asked.assessment.verdict === 'allow') return { do: 'run' }
    const rule = rules.find(applies(asked, 'allow'))
    return rule && run('rule', `a rule allows ${describe(rule)}`)
  },
  (asked, { grants }) => {
    const grant = grantOf(asked)
    return grant !== undefined && grants.includes(grant) ? run('grant', 'allowed for this session') : undefined
  },
]

const describe = ({ tool, match }: ApprovalRule) => (match === undefined ? tool : `${tool} with ${match}`)

/** What is neither allowed nor denied by anything before. */
function careful(asked: JudgedCall, { mode, unattended, decisions }: ApprovalPolicy): ApprovalRuling {
  if (mode === 'off') return run('mode', 'approvals are off')
  if (decisions.filter(isDenial).length >= maxDenials)
    return refuse('denials', `${maxDenials} calls were denied in this turn`)
  if (unattended === 'allow') return run('nobody', 'nobody is there to ask, and the settings allow it')
  if (unattended === 'deny') return refuse('nobody', 'it needs a person, and nobody is there to ask')
  return { do: mode === 'smart' ? 'judge' : 'ask', decision: { by: 'mode', reason: reasonOf(asked) } }
}

const isDenial = ({ did, by }: ApprovalDecision) => did === 'denied' && (by === 'person' || by === 'judge')

export function decideApproval(asked: JudgedCall, policy: ApprovalPolicy): ApprovalRuling {
  for (const opinion of opinions) {
    const found = opinion(asked, policy)
    if (found) return found
  }
  return careful(asked, policy)
}

/** Names what a person was shown: an answer counts for that and for nothing else. */
export const hashCall = ({ tool, input, place }: Pick<JudgedCall, 'tool' | 'input' | 'place'>): string =>
  hash53(JSON.stringify([tool, input, place])).toString(36)

export function createDecision(
  asked: JudgedCall,
  at: number,
  made: Omit<ApprovalDecision, keyof Shown>,
): ApprovalDecision {
  const { callId, tool, risk } = asked
  return { at, callId, tool, risk, subject: subjectOf(asked), hash: hashCall(asked), ...made }
}
type Shown = Pick<ApprovalDecision, 'at' | 'callId' | 'tool' | 'risk' | 'subject' | 'hash'>

const subjectOf = ({ input, assessment: { subjects, summary } }: JudgedCall) =>
  maskSecrets((summary ?? subjects[0] ?? JSON.stringify(input) ?? '').slice(0, 4_000)).slice(0, 500)

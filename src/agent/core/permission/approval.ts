/** Defines approvals: the assessment of a call, the rules, and the recorded decisions. */

/** From the least to the most dangerous. */
export const risks = ['none', 'read', 'write', 'net', 'exec', 'send', 'spend'] as const
/** The most dangerous effect that a call can have. Approval policies and roles refer to it. */
export type Risk = (typeof risks)[number]

/** `max` is undefined where nothing limits the risk. */
export const isRiskAbove = (risk: Risk, max: Risk | undefined): boolean =>
  max !== undefined && risks.indexOf(risk) > risks.indexOf(max)

/** The assessment of a call by its input. */
export type Assessment = {
  /** `hardline`: the call never runs, even if a rule or a person allows it. */
  readonly verdict: 'allow' | 'ask' | 'hardline'
  /** Shown to the person who decides. */
  readonly reasons: readonly string[]
  /** The texts that rules match: a path, an address, each command of a script. */
  readonly subjects: readonly string[]
  /** The whole action in one line, for approval requests and for rules that deny. Default: the first subject. */
  readonly summary?: string
  /** The action was not judged in full: only a person may allow it, once. */
  readonly isUnjudged?: true
  /** A command that may send something to other hosts. */
  readonly leaves?: true
  /** A command that runs code of the workspace with a network. */
  readonly runsFiles?: true
  /** It asks for the network alone. Nobody is asked as long as nothing foreign could have led to it. */
  readonly asksForNetwork?: true
  /** No model may allow it in place of a person. */
  readonly needsPerson?: true
  /** The scope of "for this session" and "always". Absent: neither is offered. */
  readonly rule?: string
}

/** `tool`, `match` and `channel` are patterns: `*` stands for any characters, `?` for one. */
export type ApprovalRule = {
  readonly do: 'allow' | 'ask' | 'deny'
  readonly tool: string
  readonly match?: string | undefined
  /** Limits the rule to sessions of this channel. */
  readonly channel?: string | undefined
}

/** A person's answer to an approval request. */
export type ApprovalChoice = 'once' | 'session' | 'always' | 'deny'

export type ApprovalAnswer = {
  readonly decision: ApprovalChoice
  readonly reason?: string | undefined
  readonly by?: string
}

/** One line of the audit log. */
export type ApprovalDecision = {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly callId: string
  readonly tool: string
  readonly risk: Risk
  readonly did: 'asked' | 'allowed' | 'denied' | 'refused'
  readonly by: 'hardline' | 'role' | 'rule' | 'hook' | 'grant' | 'judge' | 'person' | 'mode' | 'denials' | 'nobody'
  readonly choice?: ApprovalChoice
  /** The person or key that decided, as in the audit log. Absent: no person or key did. */
  readonly actor?: string
  readonly reason: string
  /** The action, shortened and with secrets masked. */
  readonly subject: string
  /** Hash of tool, input and working directory. */
  readonly hash: string
}

/** Describes what "for this session" and "always" allow from then on, as the end of a sentence. */
export function describeRule(tool: string, rule: string): string {
  if (rule === '*') return `every call of ${tool}`
  return tool === 'terminal' ? `every command "${rule} …"` : `every call of ${tool} for "${rule}"`
}

/**
 * Lists the possible answers. Without a rule nothing can be allowed for longer than this call; "always" changes policy,
 * so that it needs the scope `approve`.
 */
export function listApprovalChoices(rule: string | undefined, mayChangePolicy = true): readonly ApprovalChoice[] {
  if (rule === undefined) return ['once', 'deny']
  return mayChangePolicy ? ['once', 'session', 'always', 'deny'] : ['once', 'session', 'deny']
}

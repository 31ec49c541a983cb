/** Who may do what: how a call is judged before it runs, and what was decided about it. */

/** What a call can do to the world; approval policy is written in these words. */
export type Risk = 'none' | 'read' | 'write' | 'exec' | 'net' | 'send' | 'spend'

/** What a call would do, read off its input. */
export type Assessment = {
  /** `hardline`: never, whatever anybody allows. */
  readonly verdict: 'allow' | 'ask' | 'hardline'
  /** For the person who is asked. */
  readonly reasons: readonly string[]
  /** The texts that rules are matched against: a path, an address, each command of a script. */
  readonly subjects: readonly string[]
  /** All of it in one line, for people and for rules that deny. Default: the first subject. */
  readonly summary?: string
  /** What "for this session" and "always" would allow. Absent: neither is offered. */
  readonly rule?: string
}

/** `tool`, `match` and `channel` are patterns: `*` stands for any characters, `?` for one. */
export type ApprovalRule = {
  readonly do: 'allow' | 'ask' | 'deny'
  readonly tool: string
  readonly match?: string | undefined
  /** Only in sessions that live there. */
  readonly channel?: string | undefined
}

/** Answers of a person. */
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
  readonly by: 'hardline' | 'rule' | 'grant' | 'judge' | 'person' | 'mode' | 'denials' | 'nobody'
  readonly choice?: ApprovalChoice
  readonly reason: string
  /** What it would have done, shortened, secrets masked. */
  readonly subject: string
  /** Of what was judged: tool, input and place. */
  readonly hash: string
}

/** What a person may answer: without a rule there is nothing that could be allowed for longer. */
export const listApprovalChoices = (rule: string | undefined): readonly ApprovalChoice[] =>
  rule === undefined ? ['once', 'deny'] : ['once', 'session', 'always', 'deny']

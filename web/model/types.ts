/** Describes the answers of the API that the page uses. */

export type Usage = {
  readonly input: number
  readonly output: number
  readonly cached_read: number
  readonly cost_usd: number
}

export type Me = {
  readonly tenant: string
  readonly key: {
    readonly id: string
    readonly name: string
    readonly scopes: readonly string[]
    readonly expires_at: string | null
  }
  readonly version: string
  readonly features: readonly string[]
}

export type Session = {
  readonly id: string
  readonly title: string | null
  readonly source: string
  readonly status: 'idle' | 'running' | 'waiting'
  readonly model: string | null
  readonly created_at: string
  readonly updated_at: string
  readonly usage: Usage
  readonly pinned?: boolean
  readonly archived?: boolean
  /** Only of a single session. */
  readonly event_seq?: number
  readonly run?: { readonly run_id: string; readonly status: string; readonly started_at: string | null } | null
  readonly queued?: readonly { readonly run_id: string; readonly input?: string }[]
  readonly context?: { readonly tokens: number; readonly window: number } | null
}

export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }

export type Message = {
  readonly id: string
  readonly seq: number
  readonly run_id: string
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: string | readonly Part[] | null
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
  readonly tool_call_id?: string
  readonly name?: string
  readonly reasoning?: string
  readonly source?: string
  readonly created_at: string
  readonly compacted: boolean
}

export type Approval = {
  readonly id: string
  readonly session_id: string
  readonly run_id: string
  readonly call_id: string
  readonly tool: string
  readonly input: unknown
  readonly risk: 'none' | 'read' | 'write' | 'net' | 'exec' | 'send' | 'spend'
  readonly reasons: readonly string[]
  readonly choices: readonly Decision[]
  /** The scope of "session" and "always". Absent: neither is offered. */
  readonly rule?: string
  readonly created_at: string
}
export type Decision = 'once' | 'session' | 'always' | 'deny'

export type Question = {
  readonly id: string
  readonly session_id: string
  readonly run_id: string
  readonly question: string
  readonly choices: readonly string[]
  readonly multi_select: boolean
}

type Common = { readonly seq: number; readonly at: string; readonly run_id: string; readonly session_id: string }
type End = { readonly output: string; readonly exit_reason: string; readonly error?: string; readonly usage: Usage }
type Call = {
  readonly call_id: string
  readonly tool: string
  readonly step?: number
  readonly parent_call_id?: string
}

/** Events of other types are ignored. */
export type SessionEvent = Common &
  (
    | { readonly type: 'run.started' | 'run.queued'; readonly input?: string }
    | { readonly type: 'run.dequeued' | 'run.waiting' }
    | { readonly type: 'message.delta' | 'reasoning.delta'; readonly delta: string; readonly step?: number }
    | ({ readonly type: 'tool.started'; readonly input: unknown } & Call)
    | ({ readonly type: 'tool.progress'; readonly delta: string } & Call)
    | ({
        readonly type: 'tool.completed'
        readonly failed: boolean
        readonly duration_ms: number
        readonly preview: string
      } & Call)
    | ({ readonly type: 'approval.request'; readonly approval_id: string } & Omit<Approval, 'id' | 'session_id'>)
    | { readonly type: 'approval.responded'; readonly approval_id: string; readonly decision: 'allow' | 'deny' }
    | ({ readonly type: 'question.request'; readonly question_id: string } & Omit<Question, 'id' | 'session_id'>)
    | { readonly type: 'question.answered'; readonly question_id: string; readonly request_id?: string }
    | {
        readonly type: 'subagent.start'
        readonly subagent_id: string
        readonly goal: string
        readonly task_index: number
      }
    | {
        readonly type: 'subagent.complete'
        readonly subagent_id: string
        readonly status: string
        readonly summary: string
      }
    | { readonly type: 'status'; readonly state: string; readonly detail?: string }
    | { readonly type: 'provider.fallback'; readonly from: string; readonly to: string; readonly reason: string }
    | { readonly type: 'context.compressed' }
    | { readonly type: 'turn.restarted'; readonly from_seq: number; readonly reason: string }
    | { readonly type: 'run.steered'; readonly input: string; readonly request_id?: string }
    | ({ readonly type: 'run.completed' | 'run.failed' | 'run.cancelled' } & End)
  )

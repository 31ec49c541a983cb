/** Defines the events of a session by their names in the public API (docs/design/events.md). */

import type { ElicitationFields } from './pending-request.ts'
import type { ApprovalChoice, Risk } from './permission/approval.ts'
import type { CallerRequestKind } from './pending-request.ts'
import type { SubagentRole, SubagentStatus } from './subagent.ts'
import type { Usage } from './usage.ts'

/**
 * Events as the loop creates them: times are milliseconds since 1970. `step` is the seq of the reply that the delta or
 * the call belongs to. The log adds it; calls of a program have none.
 */
export type Event =
  | { readonly type: 'run.started'; readonly input: string }
  | { readonly type: 'message.delta' | 'reasoning.delta'; readonly delta: string; readonly step?: number }
  | {
      readonly type: 'tool.started'
      readonly call_id: string
      readonly tool: string
      readonly input: unknown
      readonly step?: number
      /** The call of the program that made this call. */
      readonly parent_call_id?: string
    }
  /** The next piece of the arguments of a long call, while the model writes them. It is sent, but not stored. */
  | { readonly type: 'tool.generating'; readonly tool: string; readonly delta: string; readonly chars: number }
  /** The end of what a running call prints. It is sent, but not stored. */
  | {
      readonly type: 'tool.progress'
      readonly call_id: string
      readonly tool: string
      readonly delta: string
      readonly parent_call_id?: string
    }
  | {
      readonly type: 'tool.completed'
      readonly call_id: string
      readonly tool: string
      readonly failed: boolean
      readonly duration_ms: number
      readonly preview: string
      readonly step?: number
      readonly parent_call_id?: string
    }
  | {
      readonly type: 'approval.request'
      readonly approval_id: string
      readonly call_id: string
      readonly tool: string
      /** The input with secrets masked. */
      readonly input: unknown
      readonly risk: Risk
      readonly reasons: readonly string[]
      readonly choices: readonly ApprovalChoice[]
      /** The scope of "for this session" and "always". Absent: neither is offered. */
      readonly rule?: string
      readonly created_at: number
    }
  | { readonly type: 'approval.responded'; readonly approval_id: string; readonly decision: 'allow' | 'deny' }
  | ({
      readonly type: 'question.request'
      readonly question_id: string
      readonly question: string
      readonly choices: readonly string[]
      readonly multi_select: boolean
    } & ElicitationFields)
  /** A call of a tool that the caller of the run has offered. `input` is the JSON of the arguments. */
  | {
      readonly type: 'client_call.request'
      readonly call_id: string
      readonly tool: string
      readonly input: string
      readonly step?: number
    }
  | {
      readonly type: 'client_call.completed'
      readonly call_id: string
      readonly tool: string
      readonly failed: boolean
      readonly preview: string
    }
  /** The run waits for its caller: the part number `segment` of the run has ended. `usage` is that of the run so far. */
  | {
      readonly type: 'run.waiting'
      readonly segment: number
      readonly waits_for: readonly CallerRequestKind[]
      readonly usage: Usage
    }
  | {
      readonly type: 'subagent.start'
      /** The id of its session. */
      readonly subagent_id: string
      readonly delegation_id: string
      readonly task_index: number
      readonly goal: string
      readonly role: SubagentRole
      readonly depth: number
    }
  | {
      readonly type: 'subagent.complete'
      readonly subagent_id: string
      readonly delegation_id: string
      readonly task_index: number
      readonly status: SubagentStatus
      readonly summary: string
      readonly duration_ms: number
      readonly cost_usd: number
    }
  | { readonly type: 'question.answered'; readonly question_id: string; readonly request_id?: string }
  | {
      readonly type: 'status'
      readonly state: 'waiting' | 'compressing' | 'resumed' | 'recovering' | 'warning' | 'goal'
      readonly detail?: string
      /** The end of the pause in the state `waiting`. */
      readonly until?: number
      /** The model call after the pause, and how many there are at most. */
      readonly attempt?: number
      readonly attempts?: number
    }
  /** `from`, `to`: `provider/model`. */
  | { readonly type: 'provider.fallback'; readonly from: string; readonly to: string; readonly reason: string }
  | { readonly type: 'context.compressed' }
  /** Deltas between `from_seq` and this event belong to a discarded answer. */
  | { readonly type: 'turn.restarted'; readonly from_seq: number; readonly reason: string }
  /** A run waits behind the open one. `run_id` is its own, not that of the open run. */
  | { readonly type: 'run.queued'; readonly run_id: string; readonly input: string }
  /** A queued run was taken back: it never begins. */
  | { readonly type: 'run.dequeued'; readonly run_id: string }
  | {
      readonly type: 'run.steered'
      readonly input: string
      readonly mode: 'steer' | 'redirect'
      readonly request_id?: string
    }
  | RunEnded

export type RunEnded = {
  readonly type: 'run.completed' | 'run.failed' | 'run.cancelled'
  readonly output: string
  readonly usage: Usage
  readonly exit_reason: string
  readonly completed: boolean
  readonly error?: string
  /** Seconds after which the provider or the limit allows another try. */
  readonly retry_after?: number
}

/** Events as clients get them: times are ISO 8601, UTC. */
type Dated<E> = E extends Event
  ? { readonly [Field in keyof E]: Field extends 'until' | 'created_at' ? string : E[Field] }
  : never

export type PublicEvent = Dated<Event>

/** An event with its position. `seq` counts the events of a session. */
export type SessionEvent = PublicEvent & {
  readonly seq: number
  readonly at: string
  readonly run_id: string
  readonly session_id: string
}

export const isRunEnd = <E extends Event | SessionEvent>(event: E): event is Extract<E, { type: RunEnded['type'] }> =>
  event.type === 'run.completed' || event.type === 'run.failed' || event.type === 'run.cancelled'

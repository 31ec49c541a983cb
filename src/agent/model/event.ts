/** What the outside gets to hear of a session, by the names of the public API (docs/design/events.md). */

import type { ApprovalChoice, Risk } from './approval.ts'
import type { Usage } from './usage.ts'

/** As the loop makes them: times are milliseconds since 1970. */
export type Event =
  | { readonly type: 'run.started'; readonly input: string }
  | { readonly type: 'message.delta' | 'reasoning.delta'; readonly delta: string }
  | {
      readonly type: 'tool.started'
      readonly call_id: string
      readonly tool: string
      readonly input: unknown
      /** The call of the program that made this one. */
      readonly parent_call_id?: string
    }
  | { readonly type: 'tool.progress'; readonly call_id: string; readonly tool: string; readonly delta: string }
  | {
      readonly type: 'tool.completed'
      readonly call_id: string
      readonly tool: string
      readonly failed: boolean
      readonly duration_ms: number
      readonly preview: string
      readonly parent_call_id?: string
    }
  | {
      readonly type: 'approval.request'
      readonly approval_id: string
      readonly call_id: string
      readonly tool: string
      /** Secrets masked. */
      readonly input: unknown
      readonly risk: Risk
      readonly reasons: readonly string[]
      readonly choices: readonly ApprovalChoice[]
      readonly created_at: number
    }
  | { readonly type: 'approval.responded'; readonly approval_id: string; readonly decision: 'allow' | 'deny' }
  | {
      readonly type: 'question.request'
      readonly question_id: string
      readonly question: string
      readonly choices: readonly string[]
      readonly multi_select: boolean
    }
  | { readonly type: 'question.answered'; readonly question_id: string; readonly request_id?: string }
  | {
      readonly type: 'status'
      readonly state: 'waiting' | 'compressing' | 'resumed' | 'recovering'
      readonly detail?: string
      /** Of `waiting`. */
      readonly until?: number
    }
  /** `from`, `to`: places in the turn's chain of models. */
  | { readonly type: 'provider.fallback'; readonly from: number; readonly to: number; readonly reason: string }
  | { readonly type: 'context.compressed' }
  /** Deltas with a seq above `from_seq` and below this event's belong to an answer that was given up. */
  | { readonly type: 'turn.restarted'; readonly from_seq: number; readonly reason: string }
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
}

/** The event as clients get it: times are ISO 8601, UTC. */
type Dated<E> = E extends Event
  ? { readonly [Field in keyof E]: Field extends 'until' | 'created_at' ? string : E[Field] }
  : never

export type PublicEvent = Dated<Event>

/** An event in its place. `seq` counts the events of a session. */
export type SessionEvent = PublicEvent & {
  readonly seq: number
  readonly at: string
  readonly run_id: string
  readonly session_id: string
}

export const isRunEnd = <E extends Event | SessionEvent>(event: E): event is Extract<E, { type: RunEnded['type'] }> =>
  event.type === 'run.completed' || event.type === 'run.failed' || event.type === 'run.cancelled'

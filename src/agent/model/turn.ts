/**
 * Where a turn stands. A Turn is plain JSON and it is total: everything needed to go on after an
 * eviction is in here or in the transcript, never in a variable.
 */

import type { Failure } from './failure.ts'
import type { AssistantMessage, Message, ToolMessage } from './message.ts'
import type { TurnOptions } from './options.ts'
import type { Awaited, Effect } from './tool.ts'
import type { Usage } from './usage.ts'
import { noUsage } from './usage.ts'

export type ToolCall = {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly effect: Effect
} & (
  | { readonly state: 'asking' } // waits for a person's approval
  | { readonly state: 'planned' }
  | { readonly state: 'running'; readonly since: number }
  | { readonly state: 'away'; readonly awaits: Awaited } // a person, a child session or a process will deliver the result
  | { readonly state: 'settled'; readonly result: ToolMessage }
)

/** The program counter. The stages named in -ing say that an effect may be in flight. */
export type Stage =
  | { readonly at: 'ready' }
  | { readonly at: 'calling-model'; readonly since: number; readonly tools: boolean; readonly say?: string }
  | { readonly at: 'compressing'; readonly since: number }
  | { readonly at: 'tools'; readonly calls: readonly ToolCall[] }
  | { readonly at: 'waiting'; readonly until: number; readonly why: Failure['kind'] }
  | { readonly at: 'done'; readonly outcome: Outcome; readonly endedAt: number; readonly failure?: Failure }

export type Outcome = 'answered' | 'stopped' | 'out-of-budget' | 'failed'

export type Turn = {
  /** The run id: what clients know this turn by. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly options: TurnOptions
  readonly stage: Stage
  /** Replies paid for, how many there may be, and how far the winding up has come once they are spent. */
  readonly budget: { readonly spent: number; readonly limit: number; readonly closing: 'no' | 'grace' | 'summary' }
  /** Which model and key serve the next call, and how often it has been tried since the last success. */
  readonly route: { readonly model: number; readonly key: number; readonly attempt: number }
  /** Remedies that may run only so often in one turn. */
  readonly used: { readonly nudges: number; readonly compressions: number }
  /** Times the object died with this turn in flight: since the last progress, and in all. */
  readonly deaths: { readonly here: number; readonly total: number }
  /** How often the same call failed in a row, by name and input. */
  readonly guard: { readonly key: string; readonly failures: number }
  /** Tools that ran to an end, and how often. */
  readonly ran: Readonly<Record<string, number>>
  /** A word to the model for its next call only; never stored in the transcript. */
  readonly say?: string
  /** How often an answer that people had begun to see was given up, and why the last time. */
  readonly restarts: { readonly count: number; readonly reason: string }
  readonly usage: Usage
  /** Usage of the session when this turn began. */
  readonly usageBefore: Usage
  readonly stopRequested: boolean
}

/** What an effect brought back. Data, even when it went wrong. */
export type Result =
  | { readonly of: 'model'; readonly reply: AssistantMessage; readonly usage: Usage }
  | { readonly of: 'tool'; readonly message: ToolMessage }
  | { readonly of: 'later'; readonly callId: string; readonly awaits: Awaited }
  | { readonly of: 'summary'; readonly text: string; readonly usage: Usage }
  /** `partial` is what people already saw of an answer that did not finish. */
  | { readonly of: 'failure'; readonly failure: Failure; readonly partial?: string; readonly usage?: Usage }

/** What the machine wants remembered: the next turn, and what is added to the transcript with it. */
export type Commit = {
  readonly turn: Turn
  readonly append?: readonly Message[]
  /** Ids of what was said meanwhile and is now part of `append`. */
  readonly drain?: readonly number[]
  /** Replace all but the recent transcript by this text. */
  readonly summary?: string
}

export const newTurn = (id: string, startedAt: number, limit: number, options: TurnOptions = {}): Turn => ({
  id,
  startedAt,
  options,
  stage: { at: 'ready' },
  budget: { spent: 0, limit, closing: 'no' },
  route: { model: 0, key: 0, attempt: 0 },
  used: { nudges: 0, compressions: 0 },
  deaths: { here: 0, total: 0 },
  guard: { key: '', failures: 0 },
  ran: {},
  restarts: { count: 0, reason: '' },
  usage: noUsage,
  usageBefore: noUsage,
  stopRequested: false,
})

export const isOver = (turn: Turn | undefined): boolean => turn === undefined || turn.stage.at === 'done'

export function mapCalls(turn: Turn, change: (call: ToolCall) => ToolCall): Turn {
  return turn.stage.at === 'tools' ? { ...turn, stage: { at: 'tools', calls: turn.stage.calls.map(change) } } : turn
}

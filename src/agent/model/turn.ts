/**
 * Where a turn stands. A Turn is plain JSON and it is total: everything needed to go on after an
 * eviction is in here or in the transcript, never in a variable.
 */

import type { ApprovalDecision } from './approval.ts'
import type { Failure } from './failure.ts'
import type { AssistantMessage, Message, ToolMessage } from './message.ts'
import type { TurnOptions } from './turn-options.ts'
import type { PendingRequest } from './pending-request.ts'
import type { Effect } from './tool.ts'
import type { Usage } from './usage.ts'
import { addUsage, noUsage } from './usage.ts'

/** A call that a running program made. Its result stays with the program. */
export type NestedCall = {
  readonly id: string
  readonly name: string
  /** Long texts cut, secrets masked. */
  readonly input: unknown
  readonly since: number
  readonly ended?: { readonly failed: boolean; readonly preview: string }
}

export type ToolCall = {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly effect: Effect
  /** The hash of what a person has allowed. */
  readonly granted?: string
} & (
  | { readonly state: 'planned' }
  | { readonly state: 'running'; readonly since: number; readonly nested?: readonly NestedCall[] }
  | { readonly state: 'away'; readonly awaits: PendingRequest }
  | { readonly state: 'settled'; readonly result: ToolMessage }
)

/** The program counter. The stages named in -ing say that an effect may be in flight. */
export type Stage =
  | { readonly at: 'ready' }
  | { readonly at: 'calling-model'; readonly since: number; readonly tools: boolean; readonly say?: string }
  | { readonly at: 'compressing'; readonly since: number; readonly focus?: string }
  | { readonly at: 'tools'; readonly calls: readonly ToolCall[] }
  | { readonly at: 'waiting'; readonly since: number; readonly until: number; readonly why: Failure['kind'] }
  | { readonly at: 'done'; readonly outcome: Outcome; readonly endedAt: number; readonly failure?: Failure }

/** `partial`: an answer that was cut off and could not be completed. */
export type Outcome = 'answered' | 'partial' | 'stopped' | 'out-of-budget' | 'failed'

/** One-shot changes to how requests of this turn are made, because a provider could not take them as they were. */
export type Repairs = {
  readonly images?: 'left-out'
  /** Images go out smaller than they were sent. */
  readonly imageSize?: 'small'
  readonly thinking?: 'left-out'
  readonly schemas?: 'plain'
  readonly toolContent?: 'text'
  readonly longContext?: 'off'
  readonly maxTokens?: number
}

/** What was done about a trouble, and why: the turn's diary. */
export type Note = { readonly at: number; readonly did: string; readonly why: string }

/** What the tool guard counts: the same call failing, one tool failing, the same result again. */
export type GuardState = {
  readonly exact: { readonly key: string; readonly count: number }
  readonly tool: { readonly name: string; readonly count: number }
  readonly same: { readonly key: string; readonly count: number }
  /** Set when the guard has ended the turn's tools: the reason. */
  readonly halted?: string
}

const initialGuard: GuardState = {
  exact: { key: '', count: 0 },
  tool: { name: '', count: 0 },
  same: { key: '', count: 0 },
}

export type Turn = {
  /** The run id: what clients know this turn by. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly options: TurnOptions
  readonly stage: Stage
  /** Replies paid for, how many there may be, and how far the winding up has come once they are spent. */
  readonly budget: { readonly spent: number; readonly limit: number; readonly closing: 'no' | 'grace' | 'summary' }
  /** Which model serves the next call, keys that are not to be used any more, tries since the last success. */
  readonly route: { readonly model: number; readonly avoid: readonly string[]; readonly attempt: number }
  /** How often each remedy ran in this turn; every one has a ceiling. */
  readonly used: Readonly<Record<string, number>>
  readonly repairs: Repairs
  /** Milliseconds spent waiting for providers. */
  readonly waited: number
  /** Milliseconds in which nothing but people was waited for, and since when that is so again. */
  readonly people?: { readonly ms: number; readonly since?: number }
  /** What was said so far of an answer that is being continued. */
  readonly draft?: string
  /** Text beside calls that only kept house: the answer, if nothing more comes. */
  readonly said?: string
  readonly notes: readonly Note[]
  /** Times the object died with this turn in flight: since the last progress, and in all. */
  readonly deaths: { readonly here: number; readonly total: number }
  readonly guard: GuardState
  /** What was decided about calls that were not simply allowed, oldest first. */
  readonly decisions?: readonly ApprovalDecision[]
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
  /** A person wants the context shortened before the next model call. */
  readonly compress?: CompressionRequest
}

/** `focus`: what is to be kept above all. */
export type CompressionRequest = { readonly focus?: string }

/** `replaces`: how many messages of the transcript, from its beginning, the text stands for. */
export type Summary = { readonly text: string; readonly replaces: number }

/** What an effect brought back. Data, even when it went wrong. */
export type Result =
  | { readonly of: 'model'; readonly reply: AssistantMessage; readonly usage: Usage }
  | { readonly of: 'tool'; readonly message: ToolMessage; readonly decision?: ApprovalDecision }
  | {
      readonly of: 'later'
      readonly callId: string
      readonly awaits: PendingRequest
      readonly decision?: ApprovalDecision
    }
  | ({ readonly of: 'summary'; readonly usage: Usage } & Summary)
  /** `partial`: what people already saw of an answer that did not finish. `inCall`: it broke off inside a tool call. */
  | {
      readonly of: 'failure'
      readonly failure: Failure
      readonly partial?: string
      readonly inCall?: boolean
      readonly usage?: Usage
      /** The key that was used. */
      readonly key?: string
    }

/** What the machine wants remembered: the next turn, and what is added to the transcript with it. */
export type Commit = {
  readonly turn: Turn
  readonly append?: readonly Message[]
  /** Ids of what was said meanwhile and is now part of `append`. */
  readonly drain?: readonly number[]
  /** Names the request that brought the answer to a question. */
  readonly requestId?: string
  /** Replace all but the recent transcript by this text. */
  readonly summary?: Summary
}

export const newTurn = (id: string, startedAt: number, limit: number, options: TurnOptions = {}): Turn => ({
  id,
  startedAt,
  options,
  stage: { at: 'ready' },
  budget: { spent: 0, limit, closing: 'no' },
  route: { model: 0, avoid: [], attempt: 0 },
  used: {},
  repairs: {},
  waited: 0,
  notes: [],
  deaths: { here: 0, total: 0 },
  guard: initialGuard,
  ran: {},
  restarts: { count: 0, reason: '' },
  usage: noUsage,
  usageBefore: noUsage,
  stopRequested: false,
})

const maxNotes = 50

export const addNote = (turn: Turn, at: number, did: string, why: string): Turn => ({
  ...turn,
  notes: [...turn.notes, { at, did, why }].slice(-maxNotes),
})

const maxDecisions = 200

export const addDecision = (turn: Turn, decision: ApprovalDecision | undefined): Turn =>
  decision ? { ...turn, decisions: [...(turn.decisions ?? []), decision].slice(-maxDecisions) } : turn

/** Counts one use of a remedy. */
export const countUse = (turn: Turn, remedy: string): Turn => ({
  ...turn,
  used: { ...turn.used, [remedy]: (turn.used[remedy] ?? 0) + 1 },
})

/** Counted like a remedy: requests to a model. */
export const modelCallUse = 'model call'

export const timesUsed = (turn: Turn, remedy: string): number => turn.used[remedy] ?? 0

/** Adds the usage of a successful call, and starts the counts of deaths and attempts anew. */
export const countProgress = (turn: Turn, usage: Usage): Turn => ({
  ...turn,
  deaths: { ...turn.deaths, here: 0 },
  route: { ...turn.route, attempt: 0 },
  usage: addUsage(turn.usage, usage),
})

/** Moves the turn to its last stage, without what was meant for a next model call. */
export function endTurn(turn: Turn, outcome: Outcome, now: number, failure?: Failure): Turn {
  const { draft: _draft, say: _say, ...rest } = turn
  return { ...rest, stage: { at: 'done', outcome, endedAt: now, ...(failure && { failure }) } }
}

/** Names the effects that are in flight, for notes and events; undefined when there are none. */
export function describeInFlight({ stage }: Turn): string | undefined {
  if (stage.at === 'calling-model') return 'the model answered'
  if (stage.at === 'compressing') return 'the context was shortened'
  const running = stage.at === 'tools' ? stage.calls.filter(({ state }) => state === 'running') : []
  return running.length ? `this ran: ${running.map(({ name }) => name).join(', ')}` : undefined
}

export const describeRestart = (turn: Turn): string =>
  `the system restarted while ${describeInFlight(turn) ?? 'the turn waited'}`

export const isOver = (turn: Turn | undefined): boolean => turn === undefined || turn.stage.at === 'done'

export function mapCalls(turn: Turn, change: (call: ToolCall) => ToolCall): Turn {
  return turn.stage.at === 'tools' ? { ...turn, stage: { at: 'tools', calls: turn.stage.calls.map(change) } } : turn
}

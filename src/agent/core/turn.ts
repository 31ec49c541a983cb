/**
 * Defines the state of a turn. It is plain JSON and complete: after an eviction, the turn goes on from this state and the
 * transcript alone.
 */

import type { AccessRefusal } from './permission/access.ts'
import type { ApprovalDecision } from './permission/approval.ts'
import type { CompressionState, Summary } from './compression.ts'
import type { Facets } from './facets.ts'
import type { Failure, FailureKind } from './failure.ts'
import type { HookRuling } from './hook.ts'
import type { AssistantMessage, Message, ToolMessage } from './message.ts'
import type { ResponseRequest } from './request/response-request.ts'
import type { TurnOptions } from './turn-options.ts'
import { type CallerRequestKind, type Continuation, type PendingRequest, waitsForCaller } from './pending-request.ts'
import type { Effect } from './tool.ts'
import type { Usage } from './usage.ts'
import { addUsage, noUsage } from './usage.ts'

/** A tool call of a running program. Its result goes to the program only. */
export type NestedCall = {
  readonly id: string
  readonly name: string
  /** The input with long texts truncated and secrets masked. */
  readonly input: unknown
  readonly since: number
  /** The delegation whose results it waits for, or has handed to the program. */
  readonly delegation?: string
  readonly ended?: { readonly failed: boolean; readonly preview: string }
}

export type ToolCall = {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly effect: Effect
  /** The hash of the call that a person has allowed. */
  readonly granted?: string
  /** The decision of hooks about it. Absent: none was asked yet, or none decided anything. */
  readonly hooked?: HookRuling
  /** The call has run before and waited. It runs again from there, with the permission that it had. */
  readonly continues?: Continuation
} & (
  | { readonly state: 'planned' }
  | { readonly state: 'running'; readonly since: number; readonly nested?: readonly NestedCall[] }
  | { readonly state: 'away'; readonly awaits: PendingRequest }
  | { readonly state: 'settled'; readonly result: ToolMessage }
)

/** The position of the turn. In the stages that end in -ing an effect may be in flight. */
export type Stage =
  | { readonly at: 'ready' }
  | { readonly at: 'calling-model'; readonly since: number; readonly tools: boolean; readonly instruction?: string }
  | { readonly at: 'compressing'; readonly since: number; readonly focus?: string }
  | { readonly at: 'tools'; readonly calls: readonly ToolCall[] }
  | {
      readonly at: 'waiting'
      readonly since: number
      readonly until: number
      readonly why: Failure['kind']
      /** The number of the next call, and how many there are at most. Absent when that depends on something else. */
      readonly next?: readonly [attempt: number, of: number]
    }
  | { readonly at: 'done'; readonly outcome: Outcome; readonly endedAt: number; readonly failure?: Failure }

/**
 * `partial`: the answer was cut off and could not be completed. `delivered`: a message was delivered that needs no
 * answer.
 */
export type Outcome = 'answered' | 'delivered' | 'partial' | 'stopped' | 'out-of-budget' | 'failed' | AccessRefusal

/** Changes to the requests of this turn, because a provider rejected them. */
export type Repairs = {
  /** `unseen`: the model cannot see them. */
  readonly images?: 'left-out' | 'unseen'
  /** PDF files are sent as their text. */
  readonly pdfs?: 'text'
  /** Images are sent in a smaller size. */
  readonly imageSize?: 'small'
  readonly thinking?: 'left-out'
  readonly schemas?: 'plain'
  readonly toolContent?: 'text'
  readonly longContext?: 'off'
  readonly maxTokens?: number
  /** The provider is asked for the whole answer at once. */
  readonly stream?: 'off'
  /** The temperature and all other parameters of sampling. */
  readonly parameters?: 'left-out'
  /** The system text alone asks for the format of the answer. */
  readonly answerFormat?: 'told'
}

/** An entry in the record of the turn: a remedy and its reason. */
export type Note = { readonly at: number; readonly did: string; readonly why: string }

/** The counts of the tool loop guard: failures of the same call, failures of one tool, and equal results. */
export type GuardState = {
  readonly exact: { readonly key: string; readonly count: number }
  readonly tool: { readonly name: string; readonly count: number }
  readonly same: { readonly key: string; readonly count: number }
  /** The reason why the tools are switched off for the rest of the turn. */
  readonly halted?: string
}

export const initialGuard: GuardState = {
  exact: { key: '', count: 0 },
  tool: { name: '', count: 0 },
  same: { key: '', count: 0 },
}

/**
 * The part of a run between two requests of its caller. It has ended because every open call is settled or waits, at least
 * one for the caller. The last part of a run ends with the run and is not listed.
 */
export type Segment = {
  readonly endedAt: number
  /** The seq of its last message, which has the calls that wait. */
  readonly messageSeq: number
  /** The calls that wait for the caller. */
  readonly callIds: readonly string[]
  /** The kinds of requests that these calls wait for, each once. */
  readonly waitsFor: readonly CallerRequestKind[]
  /** The usage of the run so far. */
  readonly usage: Usage
  /** The request that this part has answered. */
  readonly response?: ResponseRequest
}

export type Turn = {
  /** The run id of the API. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly options: TurnOptions
  readonly stage: Stage
  /** Counted replies, their limit, and the progress of the final calls after the limit. */
  readonly budget: { readonly spent: number; readonly limit: number; readonly closing: 'no' | 'grace' | 'summary' }
  /** The model of the next call, keys to avoid, and attempts since the last success. */
  readonly route: {
    readonly model: number
    readonly avoid: readonly string[]
    readonly attempt: number
    /** The last change of the model, by model ids. */
    readonly fallback?: { readonly from: string; readonly to: string; readonly reason: string }
  }
  /** Uses of each remedy in this turn. Each has a maximum. */
  readonly used: Readonly<Record<string, number>>
  readonly repairs: Repairs
  /** Milliseconds of waiting for providers. */
  readonly waited: number
  /** Milliseconds of waiting only for persons, and the start of the current wait. */
  readonly people?: { readonly ms: number; readonly since?: number }
  /** The object `state` of its programs, as JSON. */
  readonly programState?: string
  /** The text so far of an answer that the next call continues. */
  readonly draft?: string
  /** The text of a reply that only updated the todo list or the like. It is the answer if an empty reply follows. */
  readonly fallbackAnswer?: string
  readonly notes: readonly Note[]
  /** Crashes of the object during an effect of this turn: since the last progress, and in total. */
  readonly crashes: { readonly here: number; readonly total: number }
  readonly guard: GuardState
  /** Approval decisions about calls, oldest first. */
  readonly decisions?: readonly ApprovalDecision[]
  /** The number of completed calls by tool. */
  readonly ran: Readonly<Record<string, number>>
  /** An instruction to the model for its next call only; never stored in the transcript. */
  readonly nextInstruction?: string
  /** The number of partly streamed answers that were discarded, and the last reason. */
  readonly restarts: { readonly count: number; readonly reason: string }
  readonly usage: Usage
  /** The usage of its ended subagents: their sessions are billed for it. */
  readonly delegated?: Usage
  /** The usage of the session at the start of this turn. */
  readonly usageBefore: Usage
  /** The facets of the session at the start of this turn. Absent in turns that are older than facets. */
  readonly facetsBefore?: Facets
  /** The ended parts of the run, oldest first. */
  readonly segments?: readonly Segment[]
  readonly stopRequested: boolean
  /** Why it is stopped. Absent: a person stopped it. */
  readonly stopReason?: AccessRefusal
  /** A person's request to compress the context before the next model call. */
  readonly compress?: CompressionRequest
  /** Comes from the turn before. */
  readonly compression?: CompressionState
}

/** `focus`: the subject that the summary must preserve. */
export type CompressionRequest = { readonly focus?: string }

/** The text of an answer without what surrounds the requested format, and what does not match the format. */
export type CheckedAnswer = { readonly text: string; readonly problems: readonly string[] }

/** The result of an effect. A failure is a result too. */
export type Result =
  /** `checked`: present for a whole answer when the request names a format. */
  | {
      readonly of: 'model'
      readonly reply: AssistantMessage
      readonly usage: Usage
      /** The tokens of the prompt as the provider counted them. */
      readonly promptTokens?: number
      readonly checked?: CheckedAnswer
    }
  | { readonly of: 'tool'; readonly message: ToolMessage; readonly decision?: ApprovalDecision }
  /** The decision of hooks about a call, stored before it runs. `input`: they changed it. */
  | { readonly of: 'hooked'; readonly callId: string; readonly ruling: HookRuling; readonly input?: unknown }
  /** Replaces a text in a result of the open batch, for which a later result leaves less room. */
  | { readonly of: 'shortened'; readonly callId: string; readonly part: number; readonly text: string }
  | {
      readonly of: 'later'
      readonly callId: string
      readonly awaits: PendingRequest
      readonly decision?: ApprovalDecision
    }
  /** `savedTokens`: by how much the context becomes shorter. `fallback`: why no model has written the summary. */
  | {
      readonly of: 'summary'
      readonly summary: Summary
      readonly savedTokens: number
      readonly fallback?: FailureKind
      readonly usage: Usage
    }
  /** `partial`: the streamed text of an unfinished answer. `inCall`: the stream ended inside a tool call. */
  | {
      readonly of: 'failure'
      readonly failure: Failure
      readonly partial?: string
      readonly inCall?: boolean
      readonly usage?: Usage
      /** The key that was used. */
      readonly key?: string
    }

/** A change to store: the next state of the turn, and the messages to append. */
export type Commit = {
  readonly turn: Turn
  readonly append?: readonly Message[]
  /** Ids of inbox messages that are now part of `append`. */
  readonly drain?: readonly number[]
  /** Identifies the request that answered a question. */
  readonly requestId?: string
  /** Replaces the older part of the transcript. */
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
  crashes: { here: 0, total: 0 },
  guard: initialGuard,
  ran: {},
  restarts: { count: 0, reason: '' },
  usage: noUsage,
  usageBefore: noUsage,
  stopRequested: false,
})

const maxNotes = 50

/** `did` of the note that the model was warned of a nearly exhausted limit. */
export const warningNote = 'warn'

export const addNote = (turn: Turn, at: number, did: string, why: string): Turn => ({
  ...turn,
  notes: [...turn.notes, { at, did, why }].slice(-maxNotes),
})

const maxDecisions = 200

export const addDecision = (turn: Turn, decision: ApprovalDecision | undefined): Turn =>
  decision ? { ...turn, decisions: [...(turn.decisions ?? []), decision].slice(-maxDecisions) } : turn

/** Lists the decisions that `after` has and `before` does not. Old ones may have been dropped. */
export function newDecisions(before: Turn | undefined, after: Turn): readonly ApprovalDecision[] {
  const last = before?.decisions?.at(-1)
  const { decisions = [] } = after
  return last && before?.id === after.id ? decisions.slice(decisions.indexOf(last) + 1) : decisions
}

/** Counts one use of a remedy or another bounded action. */
export const countUse = (turn: Turn, remedy: string): Turn => ({
  ...turn,
  used: { ...turn.used, [remedy]: (turn.used[remedy] ?? 0) + 1 },
})

/** The name under which requests to models are counted. */
export const modelCallUse = 'model call'

export const timesUsed = (turn: Turn, remedy: string): number => turn.used[remedy] ?? 0

/** Adds the usage of a successful call, and starts the counts of crashes and attempts anew. */
export const countProgress = (turn: Turn, usage: Usage): Turn => ({
  ...turn,
  crashes: { ...turn.crashes, here: 0 },
  route: { ...turn.route, attempt: 0 },
  usage: addUsage(turn.usage, usage),
})

/** The cost of the turn, with its subagents. */
export const totalUsage = ({ usage, delegated }: Pick<Turn, 'usage' | 'delegated'>): Usage =>
  delegated ? addUsage(usage, delegated) : usage

/** Moves the turn to its last stage, without what was meant for a next model call. */
export function endTurn(turn: Turn, outcome: Outcome, now: number, failure?: Failure): Turn {
  const { draft: _draft, nextInstruction: _instruction, ...rest } = turn
  return { ...rest, stage: { at: 'done', outcome, endedAt: now, ...(failure && { failure }) } }
}

/** The outcome of a turn that is stopped now. */
export const stopOutcome = ({ stopReason }: Turn): Outcome => stopReason ?? 'stopped'

const cancelled: ReadonlySet<Outcome> = new Set([
  'stopped',
  'tenant-suspended',
  'tenant-deleted',
  'key-revoked',
  'role-changed',
])

/** Whether the turn was stopped before its end. */
export const isCancelled = (outcome: Outcome): boolean => cancelled.has(outcome)

/** Names the effects that are in flight, for notes and events; undefined when there are none. */
export function describeInFlight({ stage }: Turn): string | undefined {
  if (stage.at === 'calling-model') return 'the model answered'
  if (stage.at === 'compressing') return 'the context was shortened'
  const running = stage.at === 'tools' ? stage.calls.filter(({ state }) => state === 'running') : []
  return running.length ? `this ran: ${running.map(({ name }) => name).join(', ')}` : undefined
}

export const describeRestart = (turn: Turn): string =>
  `the system restarted while ${describeInFlight(turn) ?? 'the turn waited'}`

/** A call that waits for the caller of the run. */
type CallerCall = Extract<ToolCall, { state: 'away' }> & {
  readonly awaits: Extract<PendingRequest, { readonly kind: CallerRequestKind }>
}

/** Whether every open call waits: nothing is left to do until a result is delivered. */
export const isSuspended = (stage: Stage): boolean =>
  stage.at === 'tools' && stage.calls.every(({ state }) => state === 'away' || state === 'settled')

/** Lists the calls that wait for the caller of a suspended turn. Empty: the caller has nothing to answer now. */
export const callerCalls = (stage: Stage): readonly CallerCall[] =>
  stage.at === 'tools' && isSuspended(stage)
    ? stage.calls.filter((call): call is CallerCall => call.state === 'away' && waitsForCaller(call.awaits))
    : []

/** Whether nothing is left to do until subagents have ended. */
export const isWaitingForSubagents = (stage: Stage): boolean =>
  stage.at === 'tools' &&
  isSuspended(stage) &&
  stage.calls.some((call) => call.state === 'away' && call.awaits.kind === 'child')

export const isOver = (turn: Turn | undefined): boolean => turn === undefined || turn.stage.at === 'done'

/** The fields of a call that stay the same in all of its states. */
export const fieldsOf = ({ id, name, input, effect, hooked, continues }: ToolCall) => ({
  id,
  name,
  input,
  effect,
  ...(hooked && { hooked }),
  ...(continues && { continues }),
})

export function mapCalls(turn: Turn, change: (call: ToolCall) => ToolCall): Turn {
  return turn.stage.at === 'tools' ? { ...turn, stage: { at: 'tools', calls: turn.stage.calls.map(change) } } : turn
}

/** The state of a call that waits for a server. Undefined: its request is settled by a result. */
function continuationOf(call: ToolCall): Continuation['state'] | undefined {
  const awaits = call.state === 'away' ? call.awaits : undefined
  return awaits?.kind === 'task' || awaits?.kind === 'question' ? awaits.state : undefined
}

/**
 * Plans a call again that waits for a server. Other calls stay. A call that has become a task of the server can be
 * repeated from then on: looking at the task again, and answering its questions again, changes nothing.
 */
export function planAgain(call: ToolCall, answer?: Continuation['answer']): ToolCall {
  const state = continuationOf(call)
  if (!state) return call
  const isTask = call.state === 'away' && call.awaits.kind === 'task'
  const fields = { ...fieldsOf(call), ...(isTask && call.effect === 'effect' && { effect: 'keyed' as const }) }
  return { ...fields, state: 'planned', continues: { state, ...(answer && { answer }) } }
}

/**
 * Ends the current part of a run when the turn comes to wait for its caller, and goes on with the caller's answers. A
 * part may end several times with nothing in between, for example when the caller answers one of two requests.
 */

import type { ApprovalDecision } from '#agent/core/permission/approval.ts'
import { errorResult, type ToolMessage } from '#agent/core/message.ts'
import type { View } from '#agent/core/ports.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import {
  addDecision,
  callerCalls,
  type Commit,
  initialGuard,
  mapCalls,
  planAgain,
  modelCallUse,
  type Segment,
  totalUsage,
  type ToolCall,
  type Turn,
  fieldsOf,
} from '#agent/core/turn.ts'
import { closeBatch } from './settle-calls.ts'

/** Ends the part when the commit leaves the turn waiting for its caller, and it did not wait for the same before. */
export function endSegment(before: Turn, commit: Commit, view: View): Commit {
  const waiting = callerCalls(commit.turn.stage)
  if (!waiting.length) return commit
  const earlier = new Set(callerCalls(before.stage).map(({ id }) => id))
  const isSame = waiting.length === earlier.size && waiting.every(({ id }) => earlier.has(id))
  return isSame ? commit : addSegment(commit, view)
}

function addSegment(commit: Commit, view: View): Commit {
  const { turn, append = [] } = commit
  const calls = callerCalls(turn.stage)
  const { by: _by, ...usage } = totalUsage(turn)
  const segment: Segment = {
    endedAt: view.now,
    messageSeq: view.lastSeq + append.length,
    callIds: calls.map(({ id }) => id),
    waitsFor: [...new Set(calls.map(({ awaits }) => awaits.kind))],
    usage,
    ...(turn.options.response && { response: turn.options.response }),
  }
  return { ...commit, turn: { ...turn, segments: [...(turn.segments ?? []), segment] } }
}

/** The answers of the caller. With `givesUp` a call of the client without one gets an error result. */
export type CallerAnswers = {
  readonly results: readonly ToolMessage[]
  /** Approved calls, with the hash of what was approved. */
  readonly allowed: ReadonlyMap<string, string>
  /** The answers of people to questions of servers. */
  readonly continued?: ReadonlyMap<string, string>
  readonly decisions: readonly ApprovalDecision[]
  readonly givesUp: boolean
  /** Replace those of the request before. */
  readonly options: TurnOptions
  /** The number of replies until the next request. */
  readonly limit: number
}

const notRun = 'The client did not run this call.'

/**
 * Goes on with the answers of the caller. The next part of the run begins with limits of its own, as every other request
 * does. When some requests stay unanswered, it ends at once.
 */
export function continueTurn(turn: Turn, answers: CallerAnswers, view: View): Commit {
  const { results, allowed, continued, decisions, givesUp, options, limit } = answers
  const resultOf = new Map(results.map((message) => [message.callId, message]))
  const find = (call: ToolCall) => resultOf.get(call.id) ?? (givesUp ? giveUpCall(call) : undefined)
  const renewed = decisions.reduce<Turn>(addDecision, renewLimits(turn, options, limit))
  const answered = mapCalls(renewed, (call) => {
    const text = continued?.get(call.id)
    return text === undefined ? answerCall(call, find(call), allowed.get(call.id)) : planAgain(call, { text })
  })
  const commit = closeBatch({ turn: answered }, view)
  return callerCalls(commit.turn.stage).length ? addSegment(commit, view) : commit
}

function renewLimits(turn: Turn, options: TurnOptions, limit: number): Turn {
  const { budget, used, ...rest } = turn
  return {
    ...rest,
    options,
    budget: { spent: budget.spent, limit: budget.spent + limit, closing: 'no' },
    used: { [modelCallUse]: used[modelCallUse] ?? 0 },
    waited: 0,
    guard: initialGuard,
    ran: {},
  }
}

function answerCall(call: ToolCall, result: ToolMessage | undefined, granted: string | undefined): ToolCall {
  if (call.state !== 'away') return call
  const fields = fieldsOf(call)
  if (call.awaits.kind === 'approval' && granted !== undefined) return { ...fields, granted, state: 'planned' }
  return result ? { ...fields, state: 'settled', result } : call
}

const giveUpCall = (call: ToolCall): ToolMessage | undefined =>
  call.state === 'away' && call.awaits.kind === 'client' ? errorResult(call, notRun) : undefined

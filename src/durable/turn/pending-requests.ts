/** Finds what calls of the open turn wait for, and delivers results to them. */

import { continueCall, narrowByContributors, narrowTurn, settlePendingCall } from '#agent/loop/turn-changes.ts'
import type { Authority, ContributedRights } from '#agent/core/permission/authority.ts'
import type { Marks } from '#agent/core/marks.ts'
import type { ToolMessage } from '#agent/core/message.ts'
import {
  type ApprovalRequest,
  type ElicitationAnswer,
  type PendingRequest,
  type QuestionRequest,
  type TaskRequest,
  waitsForPerson,
} from '#agent/core/pending-request.ts'
import { callerCalls, type Stage } from '#agent/core/turn.ts'
import { splitAtDot } from '#agent/core/session-name.ts'
import { pendingRequestId, withStep } from '#durable/storage/event-log.ts'
import type { Journal } from '#durable/storage/journal.ts'
import type { SessionStore } from '#durable/storage/store.ts'
import type { PendingItem } from '#durable/tenant/events/pending-item.ts'
import type { TurnSession } from './turn-session.ts'

/** A pending request with the ids by which API, channels and jobs refer to it. */
type Identified<Request> = Request & {
  readonly id: string
  readonly session_id: string
  readonly run_id: string
  readonly call_id: string
}

export type PendingPersonRequest = Identified<PendingRequest>
export type Question = Identified<QuestionRequest>
export type Approval = Identified<ApprovalRequest>

export const isQuestion = (item: PendingPersonRequest): item is Question => item.kind === 'question'
export const isApproval = (item: PendingPersonRequest): item is Approval => item.kind === 'approval'

/** Everything the open turn waits for. Ids begin with the session's, so that one id finds both. */
export function pendingRequests({ sessionId, store }: TurnSession): readonly PendingPersonRequest[] {
  const turn = store.current()
  if (turn?.stage.at !== 'tools') return []
  const step = store.lastMessageSeq()
  return turn.stage.calls.flatMap((call) => {
    if (call.state !== 'away') return []
    const id = pendingRequestId(sessionId, turn.id, withStep(step, call.id))
    return [{ ...call.awaits, id, session_id: sessionId, run_id: turn.id, call_id: call.id }]
  })
}

/** The pending requests that a person answers: the API, the tenant's list and the channels show these. */
export const personRequests = (session: TurnSession): readonly PendingItem[] =>
  pendingRequests(session).filter(waitsForPerson)

/** Finds a pending request by its id without the session's prefix. */
export const findPending = (session: TurnSession, request: string): PendingPersonRequest | undefined =>
  pendingRequests(session).find(({ id }) => id === `${session.sessionId}.${request}`)

/** Whether a suspended turn waits for its caller: only then does its session count as waiting. */
export const isWaitingForCaller = (stage: Stage): boolean => callerCalls(stage).length > 0

/** Whether a model ever made the call that this id names. Tells an answered request from an unknown one. */
export function wasCalled(journal: Journal, request: string): boolean {
  // The id of a run contains the name of its session, which may contain dots.
  return splitAtDot(request, (run, call) => wasCalledIn(journal, run, call)) !== undefined
}

function wasCalledIn(journal: Journal, run: string, call: string): boolean {
  const [, step, callId] = /^(\d+)\.(.*)$/s.exec(call) ?? []
  if (step === undefined) return false
  const [row] = journal.entriesNewestFirst(Number(step) + 1)
  const reply = row?.entries.find(({ seq }) => seq === Number(step))
  const calls = reply?.message.role === 'assistant' ? reply.message.content : []
  return reply?.runId === run && calls.some((part) => part.type === 'call' && part.id === callId)
}

/** The source of a result: from somebody, or from a child that hands back who has contributed to it. */
export type ResultSource = { readonly by: Authority } | { readonly contributors: readonly ContributedRights[] }

/** Stores the result of a pending call and resumes the turn, which may do only what everybody may who contributed to it. */
export function deliverResult(session: TurnSession, message: ToolMessage, source: ResultSource): void {
  const turn = session.store.turn()
  const narrowed = 'by' in source ? narrowTurn(turn, source.by) : narrowByContributors(turn, source.contributors)
  session.store.save(settlePendingCall(narrowed, message, session.driver.view()))
  session.store.write()
  session.turns.resume()
}

/** Delivers a person's answer to a question of the model. */
export const deliverAnswer = (session: TurnSession, item: Question, answer: string, by: Authority): void =>
  deliverResult(session, createAnswer(item, answer), { by })

/** Continues a call that waits for a server. `by`: who has answered its question; absent, nobody has. */
export function continueWaitingCall(
  session: TurnSession,
  callId: string,
  answer?: { readonly by: Authority; readonly given: ElicitationAnswer },
): void {
  const turn = session.store.turn()
  session.store.save(continueCall(answer ? narrowTurn(turn, answer.by) : turn, callId, answer?.given))
  session.store.write()
  session.turns.resume()
}

/** The calls that wait for a server, and until when. */
const waitingForServers = (session: TurnSession) =>
  pendingRequests(session).filter((one) => (one.kind === 'task' || one.kind === 'question') && one.until !== undefined)

const untilOf = (one: PendingPersonRequest): number => ('until' in one && one.until) || Infinity

/** The tasks of servers that calls wait for. */
export const pendingTasks = (session: TurnSession): readonly TaskRequest[] =>
  pendingRequests(session).filter((one) => one.kind === 'task')

/** The time at which the next call that waits for a server goes on by itself. */
export function nextServerWake(session: TurnSession): number | undefined {
  if (!session.store.hasOpenTurn) return undefined
  const waiting = waitingForServers(session)
  return waiting.length ? Math.min(...waiting.map(untilOf)) : undefined
}

/** Polls the tasks that are due, and cancels questions of servers that nobody has answered in time. */
export function continueDueCalls(session: TurnSession, now: number): void {
  for (const item of waitingForServers(session).filter((one) => untilOf(one) <= now)) {
    session.store.save(
      continueCall(session.store.turn(), item.call_id, item.kind === 'question' ? { action: 'cancel' } : undefined),
    )
    session.store.write()
    session.turns.resume()
  }
}

/** Creates the result of a question of the model. */
export function createAnswer(item: Question, answer: string, marks?: Marks): ToolMessage {
  const result = { question: item.question, choices_offered: item.choices, user_response: answer }
  const content = [{ type: 'text' as const, text: JSON.stringify(result) }]
  return { role: 'tool', callId: item.call_id, name: 'clarify', content, failed: false, ...(marks && { marks }) }
}

export type SessionStatus = 'idle' | 'running' | 'waiting'

/** `waiting`: for a person. A turn that waits for a child session or a job counts as running. */
export function getStatus({ store }: { readonly store: SessionStore }): SessionStatus {
  if (!store.hasOpenTurn) return 'idle'
  return isWaitingForCaller(store.turn().stage) ? 'waiting' : 'running'
}

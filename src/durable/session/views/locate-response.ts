/** Finds the place in a session from which a response continues, and the calls that ids of the API name. */

import { callsIn, type Message } from '#agent/core/message.ts'
import { callerCalls, isOver, type Turn } from '#agent/core/turn.ts'
import { callPart, parseItemId } from '#agent/public-api/responses/item-ids.ts'
import { withStep } from '#durable/storage/event-log.ts'
import { isLastRun, queuedRunOf } from './read-session.ts'
import { turnOf } from './segments.ts'
import type { Session } from '../session.ts'

/** `runId`: absent for the last run of the session. `callIds`, `approvalIds`: ids of the API. */
export type LocateRequest = {
  readonly runId?: string | undefined
  readonly callIds: readonly string[]
  readonly approvalIds: readonly string[]
}

export type Location = {
  readonly runId: string
  readonly state: 'open' | 'waiting' | 'ended'
  /** No other run follows it. */
  readonly isLast: boolean
  /** The number of parts that have ended. */
  readonly segments: number
  /** The seq of the reply that waits for the caller. */
  readonly waitsAt?: number
  /** The ids of the model, by the ids of the API. */
  readonly calls: Readonly<Record<string, string>>
  /** The ids of approvals without the session's prefix, by the ids of the API. */
  readonly approvals: Readonly<Record<string, string>>
}

/** Undefined when there is no such run, or it was undone. */
export function locate(session: Session, request: LocateRequest): Location | undefined {
  const turn = request.runId === undefined ? session.store.current() : turnOf(session, request.runId)
  if (!turn) return locateQueued(session, request.runId)
  if (session.journal.isUndone(turn.id)) return undefined
  const { segments = [] } = turn
  const isWaiting = callerCalls(turn.stage).length > 0
  return {
    runId: turn.id,
    state: isOver(turn) ? 'ended' : isWaiting ? 'waiting' : 'open',
    isLast: isLastRun(session, turn.id),
    segments: segments.length,
    ...(isWaiting && { waitsAt: segments.at(-1)?.messageSeq ?? 0 }),
    calls: mapIds(session, turn, request.callIds, ({ callId }) => callId),
    approvals: mapIds(session, turn, request.approvalIds, ({ seq, callId }) => `${turn.id}.${withStep(seq, callId)}`),
  }
}

function locateQueued(session: Session, runId: string | undefined): Location | undefined {
  if (runId === undefined || queuedRunOf(session, runId)?.status !== 'queued') return undefined
  return { runId, state: 'open', isLast: isLastRun(session, runId), segments: 0, calls: {}, approvals: {} }
}

type FoundCall = { readonly seq: number; readonly callId: string }

function mapIds(session: Session, turn: Turn, ids: readonly string[], map: (call: FoundCall) => string) {
  const found: Record<string, string> = {}
  for (const id of ids) {
    const call = findCall(session, turn, id)
    if (call) found[id] = map(call)
  }
  return found
}

function findCall({ journal }: Session, turn: Turn, id: string): FoundCall | undefined {
  const parsed = parseItemId(id)
  if (!parsed) return undefined
  const { seq, part } = parsed
  for (const { entries } of journal.rowsOfRun(turn.id, seq)) {
    const message: Message | undefined = entries.find((entry) => entry.seq === seq)?.message
    const call = message?.role === 'assistant' ? callsIn(message).find((one) => callPart(one.id) === part) : undefined
    if (call) return { seq, callId: call.id }
  }
  return undefined
}

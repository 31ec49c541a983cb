/** Reads a part of a run as a response of OpenAI's Responses API, whole or as the source of its stream. */

import type { TurnOptions } from '#agent/core/turn-options.ts'
import type { Entry } from '#agent/core/history.ts'
import type { ToolMessage } from '#agent/core/message.ts'
import { isCancelled, type Turn } from '#agent/core/turn.ts'
import { usageSince } from '#agent/core/usage.ts'
import { parseItemId } from '#agent/public-api/responses/item-ids.ts'
import { createResponseId, type ResponsePart } from '#agent/public-api/responses/response-ids.ts'
import {
  renderResponse,
  type ResponseHead,
  type ResponseObject,
  type ResponseState,
  type ResponseStatus,
} from '#agent/public-api/responses/response.ts'
import {
  type ConversationItem,
  renderConversation,
  renderInput,
  renderOutput,
  resultOf,
  type StoredMessage,
  type StoredPart,
} from '#agent/public-api/responses/stored-items.ts'
import type { ResponseSource } from '#agent/public-api/responses/stream.ts'
import { sessionOfRun } from '#durable/platform/ids.ts'
import { clock } from '#durable/platform/clock.ts'
import { importRunId } from '#durable/storage/journal.ts'
import { runUsage } from '#durable/storage/session-record.ts'
import { endOf, queuedRunOf } from './read-session.ts'
import { turnOf } from './segments.ts'
import type { Session } from '../session.ts'

/** Undefined when the run has no such part, or was undone. */
export function readResponse(session: Session, part: ResponsePart, mayApprove: boolean): ResponseObject | undefined {
  const turn = turnOf(session, part.runId)
  if (!turn) return readQueued(session, part)
  if (part.segment > (turn.segments?.length ?? 0) || session.journal.isUndone(part.runId)) return undefined
  const state = stateOf(session, turn, part)
  const output = renderOutput(storedPart(session, turn, part, mayApprove))
  return renderResponse(headOf(session, turn, part), { ...state, output })
}

/** A run that is queued, or was taken back before it began. */
function readQueued(session: Session, part: ResponsePart): ResponseObject | undefined {
  const view = queuedRunOf(session, part.runId)
  if (!view || part.segment) return undefined
  const queued = session.store.queued().find(({ item }) => item.runId === part.runId)
  const options: TurnOptions = queued?.item.options ?? {}
  const createdAt = Math.floor((options.response?.createdAt ?? clock.now()) / 1_000)
  const status = view.status === 'queued' ? 'queued' : 'cancelled'
  return renderResponse({ id: idOf(session, part, options), createdAt, options }, { status, output: [] })
}

const idOf = ({ sessionId }: Session, part: ResponsePart, { response }: Turn['options']): string =>
  createResponseId(part, response?.isUnstored ? undefined : sessionId)

/** The request of an earlier part is kept with it. Without one, the run was started through another API. */
function headOf(session: Session, turn: Turn, part: ResponsePart): ResponseHead {
  const response = turn.segments?.[part.segment]?.response ?? turn.options.response
  const options = { ...turn.options, ...(response && { response }) }
  const startedAt = turn.segments?.[part.segment - 1]?.endedAt ?? turn.startedAt
  return {
    id: idOf(session, part, options),
    createdAt: Math.floor((response?.createdAt ?? startedAt) / 1_000),
    options,
  }
}

function stateOf(session: Session, turn: Turn, { runId, segment: index }: ResponsePart): Omit<ResponseState, 'output'> {
  const { segments = [], stage } = turn
  const segment = segments[index]
  const before = segments[index - 1]?.usage
  if (segment) return { status: 'completed', usage: usageSince(segment.usage, before), endedAt: segment.endedAt }
  if (stage.at !== 'done') return { status: 'in_progress' }
  const end = endOf(session, runId)
  return {
    status: statusOf(turn),
    usage: usageSince(runUsage(session.meta, turn), before),
    error: end?.error,
    exitReason: end?.exit_reason,
    endedAt: stage.endedAt,
  }
}

function statusOf({ stage }: Turn): ResponseStatus {
  if (stage.at !== 'done') return 'in_progress'
  if (stage.outcome === 'failed') return 'failed'
  if (isCancelled(stage.outcome)) return 'cancelled'
  return stage.outcome === 'answered' ? 'completed' : 'incomplete'
}

function storedPart(session: Session, turn: Turn, part: ResponsePart, mayApprove: boolean): StoredPart {
  const { segments = [] } = turn
  return {
    messages: messagesOf(session, turn),
    segments,
    index: part.segment,
    settled: settledResults(session, turn.id),
    mayApprove,
  }
}

/** The text of a failed run says why it failed, and so does the error of the response. */
function messagesOf(session: Session, turn: Turn): readonly StoredMessage[] {
  const { stage } = turn
  const hasFailed = stage.at === 'done' && stage.outcome === 'failed' && stage.failure?.kind !== 'refused'
  return session.journal
    .entriesOfRun(turn.id)
    .filter(({ message }) => !(hasFailed && message.role === 'assistant' && message.source !== undefined))
    .map((entry) => toStored(session, entry))
}

/** A copied message keeps the ids that it had in the session in which it was written. */
export const toStored = ({ sessionId }: Session, { seq, runId, message }: Entry): StoredMessage => ({
  sessionId: (runId === importRunId ? undefined : sessionOfRun(runId)) ?? sessionId,
  seq,
  message,
  isGiven: runId === importRunId,
})

/** Results that become messages when the last call of their batch has ended. */
function settledResults({ store }: Session, runId: string): readonly ToolMessage[] {
  const turn = store.current()
  if (turn?.id !== runId || turn.stage.at !== 'tools') return []
  return turn.stage.calls.flatMap((call) => (call.state === 'settled' ? [call.result] : []))
}

/** The items that the part began with. The first run of a session also has the history that its client sent. */
export function readInputItems(session: Session, part: ResponsePart) {
  const turn = turnOf(session, part.runId)
  if (!turn || part.segment > (turn.segments?.length ?? 0) || session.journal.isUndone(part.runId)) return undefined
  return renderInput(storedPart(session, turn, part, true), part.segment ? [] : sentHistory(session, part.runId))
}

/** The messages that the request of a session's first run carried before its own. */
function sentHistory(session: Session, runId: string): readonly StoredMessage[] {
  const through = session.meta.repeatedThrough ?? 0
  const [first] = session.journal.entriesOfRun(runId)
  if (!through || first?.seq !== through + 1) return []
  return session.journal
    .entriesOfRun(importRunId)
    .flatMap((entry) => (entry.seq <= through ? [toStored(session, entry)] : []))
}

/** Undefined for an id that no message of this session has. */
export function readItem(session: Session, id: string): ConversationItem | undefined {
  const { seq } = parseItemId(id) ?? {}
  const [row] = seq === undefined ? [] : session.journal.entriesNewestFirst(seq + 1)
  const entry = row?.entries.find((one) => one.seq === seq)
  if (!entry) return undefined
  // The results of its calls follow a message, and the calls of a result precede it.
  const rows = session.journal.rowsOfRun(entry.runId, entry.message.role === 'tool' ? 0 : entry.seq)
  const messages = rows.flatMap(({ entries }) => entries).map((one) => toStored(session, one))
  return renderConversation(messages, settledResults(session, entry.runId)).find((item) => item.id === id)
}

function endedAt(turn: Turn | undefined, index: number): number | undefined {
  const segment = turn?.segments?.[index]
  return segment ? segment.endedAt : turn?.stage.at === 'done' ? turn.stage.endedAt : undefined
}

export function responseSource(session: Session, part: ResponsePart, mayApprove: () => boolean): ResponseSource {
  const turn = () => turnOf(session, part.runId)
  return {
    sessionId: sessionOfRun(part.runId) ?? session.sessionId,
    head: () => {
      const current = turn()
      return current && headOf(session, current, part)
    },
    resultOf: (step, callId) => {
      const message = findResult(session, part.runId, { step, callId })
      return message && resultOf(message)
    },
    wasApproved: (step, callId) =>
      turn()?.segments?.some(({ messageSeq, callIds }) => messageSeq === step && callIds.includes(callId)) ?? false,
    endedAt: () => endedAt(turn(), part.segment),
    usageBefore: () => turn()?.segments?.[part.segment - 1]?.usage,
    mayApprove,
  }
}

type CallPosition = { readonly step: number; readonly callId: string }

function findResult(session: Session, runId: string, { step, callId }: CallPosition): ToolMessage | undefined {
  if (session.store.lastMessageSeq() === step)
    return settledResults(session, runId).find((message) => message.callId === callId)
  for (const { entries } of session.journal.rowsOfRun(runId, step))
    for (const { seq, message } of entries) {
      if (seq <= step) continue
      if (message.role === 'assistant') return undefined
      if (message.role === 'tool' && message.callId === callId) return message
    }
  return undefined
}

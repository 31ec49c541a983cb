/**
 * Encodes the event log of a row and replays it. A delta is stored as its length, because its text is a part of the
 * message; every other event is stored as it was sent. A replay has the same events with the same numbers.
 */

import type { Entry } from '#agent/core/history.ts'
import type { Event, SessionEvent, PublicEvent } from '#agent/core/event.ts'
import { callsIn, type Message, textIn, thinkingIn } from '#agent/core/message.ts'

/** [seq, milliseconds, event] or [seq, milliseconds, kind, characters, seq of the message or 0 while it is open]. */
export type LoggedEvent =
  | readonly [seq: number, at: number, event: Event]
  | [seq: number, at: number, kind: 'm' | 'r', length: number, message: number]

export const isDelta = (logged: LoggedEvent): logged is Extract<LoggedEvent, { length: 5 }> => logged.length === 5

let lastSecond = { second: -1, text: '' }

/** Formats a time as ISO 8601. The text of the second is cached: formatting a date costs more than the rest of an event. */
function toIso(ms: number): string {
  const second = Math.floor(ms / 1_000)
  if (lastSecond.second !== second) lastSecond = { second, text: new Date(second * 1_000).toISOString().slice(0, -4) }
  return `${lastSecond.text}${String(ms - second * 1_000).padStart(3, '0')}Z`
}

/** `at` is milliseconds since 1970. */
export type EventPosition = {
  readonly seq: number
  readonly at: number
  readonly runId: string
  readonly sessionId: string
}

/** Returns the event as subscribers get it. */
export function toPlacedEvent(event: Event, position: EventPosition): SessionEvent {
  const { seq, at, runId, sessionId } = position
  return { run_id: runId, ...toPublicEvent(event, position), seq, at: toIso(at), session_id: sessionId }
}

/** Formats times as text, and ids as the API takes them for an answer. */
function toPublicEvent(event: Event, { sessionId, runId }: EventPosition): PublicEvent {
  switch (event.type) {
    case 'question.request':
    case 'question.answered':
      return { ...event, question_id: pendingRequestId(sessionId, runId, event.question_id) }
    case 'approval.request': {
      const created = new Date(event.created_at).toISOString()
      return { ...event, approval_id: pendingRequestId(sessionId, runId, event.approval_id), created_at: created }
    }
    case 'approval.responded':
      return { ...event, approval_id: pendingRequestId(sessionId, runId, event.approval_id) }
    case 'status': {
      const { until, ...status } = event
      return until === undefined ? status : { ...status, until: new Date(until).toISOString() }
    }
    default:
      return event
  }
}

/** A part of an answer (`m`) or of its reasoning (`r`). `step`: the seq of the message. */
export type StoredDelta = { readonly kind: 'm' | 'r'; readonly text: string; readonly step: number }

/** Creates a delta of the answer (`m`) or of the reasoning (`r`). */
export const createDelta = (kind: 'm' | 'r', delta: string, step: number): Event => ({
  type: kind === 'm' ? 'message.delta' : 'reasoning.delta',
  delta,
  step,
})

/** Prefixes a call id with its reply's number: providers repeat call ids in later replies. */
export const withStep = (step: number, callId: string): string => `${step}.${callId}`

/**
 * Returns the seq of the message with the calls. A call of the client waits as soon as its reply arrives, so that reply
 * may still have to be appended.
 */
export const stepOf = (append: readonly Message[] = [], lastSeq: number): number =>
  lastSeq + 1 + append.findLastIndex((one) => one.role === 'assistant' && callsIn(one).length > 0)

/** Returns the event as it is stored. `step`: the seq of the message with the call. */
export function withStepIds(event: Event, step: number): Event {
  if (isCallEvent(event)) return 'parent_call_id' in event ? event : { ...event, step }
  if ('question_id' in event) return { ...event, question_id: withStep(step, event.question_id) }
  if ('approval_id' in event) return { ...event, approval_id: withStep(step, event.approval_id) }
  return event
}

type StoredCallEvent = Extract<Event, { type: 'tool.started' | 'tool.completed' | 'client_call.request' }>
const isCallEvent = (event: Event): event is StoredCallEvent =>
  event.type === 'tool.started' || event.type === 'tool.completed' || event.type === 'client_call.request'

/** Builds the id of a question or approval. It names the session, so that an answer needs no other id. */
export const pendingRequestId = (sessionId: string, runId: string, stepId: string): string =>
  `${sessionId}.${runId}.${stepId}`

/** Replays the events of one row. `open` is the text of an answer that is still streamed, and the seq it will have. */
export function replay(
  row: { readonly runId: string; readonly events: readonly LoggedEvent[]; readonly entries: readonly Entry[] },
  sessionId: string,
  open: { readonly text: string; readonly thinking: string; readonly step: number },
): SessionEvent[] {
  const sources = new Map<string, string>([
    ['m0', open.text],
    ['r0', open.thinking],
  ])
  for (const { seq, message } of row.entries) {
    if (message.role !== 'assistant') continue
    sources.set(`m${seq}`, textIn(message))
    sources.set(`r${seq}`, thinkingIn(message))
  }
  const offsets = new Map<string, number>()
  return row.events.map((logged) => {
    const position = { seq: logged[0], at: logged[1], runId: row.runId, sessionId }
    if (!isDelta(logged)) return toPlacedEvent(logged[2], position)
    const key = `${logged[2]}${logged[4]}`
    const from = offsets.get(key) ?? 0
    offsets.set(key, from + logged[3])
    const delta = (sources.get(key) ?? '').slice(from, from + logged[3])
    return toPlacedEvent(createDelta(logged[2], delta, logged[4] || open.step), position)
  })
}

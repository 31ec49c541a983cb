/** Reads messages, runs, events and the status of a session for the API. */

import { createRunEnded } from '#agent/loop/announce.ts'
import type { Event, RunEnded, SessionEvent } from '#agent/core/event.ts'
import { isOver, type Segment } from '#agent/core/turn.ts'
import { renderServerSentEvent } from '#agent/public-api/server-sent-events.ts'
import { toPlacedEvent } from '#durable/storage/event-log.ts'
import type { Session } from '../session.ts'
import type { Submitted } from '../intake/intake.ts'
import { runUsage } from '#durable/storage/session-record.ts'
import { queuedRun, type RunView, runView } from './api-views.ts'
import { clock } from '#durable/platform/clock.ts'
import { takenBackEnd } from '../core/queued-runs.ts'
import type { Entry } from '#agent/core/history.ts'
import { argumentsOf, type AssistantMessage, callsIn, textIn, type ToolMessage } from '#agent/core/message.ts'

export function runOf(session: Session, runId: string): RunView | undefined {
  const current = session.store.current()
  const turn = current?.id === runId ? current : session.journal.turnOfRun(runId)
  const usage = turn && runUsage(session.meta, turn)
  if (usage) {
    const view = runView({ ...turn, usage }, session.sessionId, isOver(turn) ? session.journal.entriesOfRun(runId) : [])
    const error = session.chatOutbox.getDeliveryError(runId)
    return error === undefined ? view : { ...view, delivery_error: error }
  }
  return queuedRunOf(session, runId)
}

/** A run that is queued, or was taken back from the queue. */
export function queuedRunOf({ queue, sessionId }: Session, runId: string): RunView | undefined {
  const item = queue.find(runId)
  const view = item && queuedRun(item, sessionId)
  if (!view || !queue.wasTakenBack(runId)) return view
  const { exit_reason } = takenBackEnd
  return { ...view, status: 'cancelled', exit_reason, activity: { doing: 'done', since: null } }
}

/** Whether no other run follows this one, not even a queued one. */
export function isLastRun(session: Session, runId: string): boolean {
  const queued = session.store.queued().at(-1)
  if (queued) return queued.item.runId === runId
  if (session.store.hasOpenTurn) return session.store.turn().id === runId
  const aside = session.journal.asides.find(runId)
  if (aside) return aside.after === session.store.lastMessageSeq()
  const [newest] = session.journal.entriesNewestFirst()
  return newest?.entries.at(-1)?.runId === runId
}

/** The end of a run; undefined while it is open. */
export function endOf(session: Session, runId: string): RunEnded | undefined {
  const current = session.store.current()
  const turn = current?.id === runId ? current : session.journal.turnOfRun(runId)
  if (session.queue.wasTakenBack(runId)) return takenBackEnd
  if (turn?.stage.at !== 'done') return undefined
  return createRunEnded(
    turn,
    session.journal.entriesOfRun(runId).map(({ message }) => message),
  )
}

/** The events of a run so far. When the log no longer has them, those of an ended run are restored from its messages. */
export function eventsOf(session: Session, runId: string): SessionEvent[] {
  const logged = session.store.eventsOfRun(runId)
  const end = logged.length ? undefined : endOf(session, runId)
  if (!end) return logged
  const position = { seq: session.store.lastEventSeq(), at: clock.now(), runId, sessionId: session.sessionId }
  const segments = session.journal.turnOfRun(runId)?.segments
  const events = [...replayMessages(session.journal.entriesOfRun(runId), segments), end]
  return events.map((event) => toPlacedEvent(event, position))
}

/** A page of the event log. */
export type EventPage = {
  /** Server-sent events. */
  readonly text: string
  /** The seq of the last event; the next page starts behind it. */
  readonly through: number
  readonly isLast: boolean
}

/** The last event of a page may exceed this. */
const maxEventPageChars = 512 * 1024

export function eventsAfter({ store }: Session, after: number): EventPage {
  let text = ''
  let through = after
  for (const event of store.eventsSince(after)) {
    if (text.length >= maxEventPageChars) return { text, through, isLast: false }
    text += renderServerSentEvent(event)
    through = event.seq
  }
  return { text, through, isLast: true }
}

/** The run that an earlier try of a request joined, found by the run id of the request. */
export function findJoinedRun(session: Session, requestId: string, eventsSince: number): Submitted | undefined {
  const event = firstWith(session.store.eventsSince(eventsSince), requestId)
  if (event) return { runId: event.run_id, status: 'joined' }
  const isWaiting = session.store.inbox().some((item) => item.requestId === requestId)
  return isWaiting ? { runId: session.store.turn().id, status: 'joined' } : undefined
}

function firstWith(events: Iterable<SessionEvent>, requestId: string): SessionEvent | undefined {
  for (const event of events) if ('request_id' in event && event.request_id === requestId) return event
  return undefined
}

// Restores the events of a run from its messages, for a run whose events are not in this object: it was copied, or
// its session was rebuilt.

/** Without the start and the end of the run. What a part waited for is known by its calls. */
export function replayMessages(entries: readonly Entry[], segments: readonly Segment[] = []): readonly Event[] {
  let step = 0
  let clientCalls: ReadonlySet<string> = new Set()
  return entries.flatMap(({ seq, message }): readonly Event[] => {
    if (message.role === 'user') return []
    if (message.role === 'tool') return [completed(message, step, clientCalls.has(message.callId))]
    step = seq
    clientCalls = new Set(callsIn(message).flatMap(({ id, owner }) => (owner === 'client' ? [id] : [])))
    const at = segments.findIndex(({ messageSeq }) => messageSeq === seq)
    const segment = segments[at]
    const waiting: readonly Event[] = segment
      ? [{ type: 'run.waiting', segment: at, waits_for: segment.waitsFor, usage: segment.usage }]
      : []
    return [...replyEvents(message, step), ...waiting]
  })
}

const replyEvents = ({ content }: AssistantMessage, step: number): readonly Event[] =>
  content.map((part): Event => {
    if (part.type === 'text') return { type: 'message.delta', delta: part.text, step }
    if (part.type === 'thinking') return { type: 'reasoning.delta', delta: part.text, step }
    const { id, name, input, owner } = part
    return owner === 'client'
      ? { type: 'client_call.request', call_id: id, tool: name, input: argumentsOf(part), step }
      : { type: 'tool.started', call_id: id, tool: name, input, step }
  })

function completed(message: ToolMessage, step: number, isOfClient: boolean): Event {
  const { callId: call_id, name: tool, failed } = message
  const fields = { call_id, tool, failed, preview: textIn(message).slice(0, 200), step }
  return isOfClient
    ? { type: 'client_call.completed', ...fields }
    : { type: 'tool.completed', ...fields, duration_ms: 0 }
}

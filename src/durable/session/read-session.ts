/** Reads messages, runs, events and the status of a session for the API. */

import { createRunEnded } from '../../agent/loop/announce.ts'
import type { SessionEvent, RunEnded } from '../../agent/model/event.ts'
import type { Entry } from '../../agent/model/history.ts'
import { isOver } from '../../agent/model/turn.ts'
import { renderServerSentEvent } from '../../agent/public-api/server-sent-events.ts'
import { toPlacedEvent } from '../storage/event-log.ts'
import { isWaitingForPerson } from '../turn/pending-requests.ts'
import type { Session } from './session.ts'
import type { Submitted } from './intake/intake.ts'
import { runUsage } from '../storage/session-record.ts'
import { messageView, type MessageView, queuedRun, type RunView, runView, type SessionStatus } from './api-views.ts'
import { clock } from '../platform/clock.ts'

/** Asks for the newest `limit` messages with a seq below `before`; long messages make a page shorter. Oldest first. */
export type MessagePage = { readonly limit: number; readonly before?: number | undefined }

/** Above this no further row is added: a page is one RPC message, of at most 32 MiB. */
const maxPageChars = 4_000_000

export function listMessages(
  { journal, sessionId }: Session,
  { limit, before = Number.MAX_SAFE_INTEGER }: MessagePage,
): { readonly data: MessageView[]; readonly next_cursor: string | null } {
  const newestFirst: Entry[] = []
  let compactedThrough = journal.coveredFrom(before)
  let [length, more] = [0, false]
  for (const row of journal.entriesNewestFirst(before)) {
    more = newestFirst.length > limit || length > maxPageChars
    if (more) break
    for (const entry of row.entries.toReversed()) {
      compactedThrough = Math.max(compactedThrough, entry.covers ?? 0)
      if (entry.seq < before) newestFirst.push(entry)
    }
    length += row.length
  }
  more ||= newestFirst.length > limit
  const page = newestFirst.slice(0, limit).toReversed()
  return {
    data: page.map((entry) => messageView(entry, { sessionId, compactedThrough })),
    next_cursor: more ? String(page[0]?.seq ?? 0) : null,
  }
}

/** `waiting`: for a person. A turn that waits for a child session or a job counts as running. */
export function statusOf({ store }: Session): SessionStatus {
  if (!store.hasOpenTurn) return 'idle'
  return isWaitingForPerson(store.turn().stage) ? 'waiting' : 'running'
}

export function runOf(session: Session, runId: string): RunView | undefined {
  const current = session.store.current()
  const turn = current?.id === runId ? current : session.journal.turnOfRun(runId)
  const usage = turn && runUsage(session.meta, turn)
  if (usage) {
    const view = runView({ ...turn, usage }, session.sessionId, isOver(turn) ? session.journal.entriesOfRun(runId) : [])
    const error = session.delivery.getDeliveryError(runId)
    return error === undefined ? view : { ...view, delivery_error: error }
  }
  const queued = session.store.queued().find(({ item }) => item.runId === runId)
  return queued && queuedRun(queued.item, session.sessionId)
}

/** Whether no other run follows this one, not even a queued one. */
export function isLastRun(session: Session, runId: string): boolean {
  const queued = session.store.queued().at(-1)
  if (queued) return queued.item.runId === runId
  if (session.store.hasOpenTurn) return session.store.turn().id === runId
  return listMessages(session, { limit: 1 }).data[0]?.run_id === runId
}

/** The end of a run; undefined while it is open. */
export function endOf(session: Session, runId: string): RunEnded | undefined {
  const current = session.store.current()
  const turn = current?.id === runId ? current : session.journal.turnOfRun(runId)
  if (turn?.stage.at !== 'done') return undefined
  return createRunEnded(
    turn,
    session.journal.entriesOfRun(runId).map(({ message }) => message),
  )
}

/** The events of a run so far. When the log no longer has them, an ended run is shown as its output and its end. */
export function eventsOf(session: Session, runId: string): SessionEvent[] {
  const logged = session.store.eventsOfRun(runId)
  const end = logged.length ? undefined : endOf(session, runId)
  if (!end) return logged
  const position = { seq: session.store.lastEventSeq(), at: clock.now(), runId, sessionId: session.sessionId }
  return [toPlacedEvent({ type: 'message.delta', delta: end.output }, position), toPlacedEvent(end, position)]
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

/** Reading a session: its messages page by page, its runs, its status. */

import { createRunEnded } from '../../agent/loop/announce.ts'
import type { SessionEvent, RunEnded } from '../../agent/model/event.ts'
import type { Entry } from '../../agent/model/history.ts'
import { isOver } from '../../agent/model/turn.ts'
import { renderServerSentEvent } from '../../agent/public-api/server-sent-events.ts'
import { toPlacedEvent } from '../storage/event-log.ts'
import { isWaitingForPerson } from '../turn/pending-requests.ts'
import type { Session } from './session.ts'
import type { Submitted } from './submit.ts'
import { runUsage } from '../storage/session-record.ts'
import { messageView, type MessageView, queuedRun, type RunView, runView, type SessionStatus } from './api-views.ts'
import { clock } from '../platform/clock.ts'

/** The newest `limit` messages with a seq below `before`, fewer where they are long; given back oldest first. */
export type MessagePage = { readonly limit: number; readonly before?: number | undefined }

/** Characters after which no further row is put into a page: it passes between objects in one message of 32 MiB. */
const longPage = 4_000_000

export function listMessages(
  { journal }: Session,
  { limit, before = Number.MAX_SAFE_INTEGER }: MessagePage,
): { readonly data: MessageView[]; readonly next_cursor: string | null } {
  const newestFirst: Entry[] = []
  let compactedThrough = journal.coveredFrom(before)
  let [length, more] = [0, false]
  for (const row of journal.entriesNewestFirst(before)) {
    more = newestFirst.length > limit || length > longPage
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
    data: page.map((entry) => messageView(entry, compactedThrough)),
    next_cursor: more ? String(page[0]?.seq ?? 0) : null,
  }
}

/** `waiting`: for a person. A turn that waits for a child session or a job counts as running. */
export function statusOf({ store }: Session): SessionStatus {
  if (!store.hasOpenTurn) return 'idle'
  return isWaitingForPerson(store.turn().stage) ? 'waiting' : 'running'
}

export function runOf(core: Session, runId: string): RunView | undefined {
  const current = core.store.current()
  const turn = current?.id === runId ? current : core.journal.turnOfRun(runId)
  const usage = turn && runUsage(core.meta, turn)
  if (usage) {
    const view = runView({ ...turn, usage }, core.sessionId, isOver(turn) ? core.journal.entriesOfRun(runId) : [])
    const error = core.delivery.getDeliveryError(runId)
    return error === undefined ? view : { ...view, delivery_error: error }
  }
  const queued = core.store.queued().find(({ item }) => item.runId === runId)
  return queued && queuedRun(queued.item, core.sessionId)
}

/** Nothing has come behind the run, and nothing waits to. */
export function isLastRun(core: Session, runId: string): boolean {
  const queued = core.store.queued().at(-1)
  if (queued) return queued.item.runId === runId
  if (core.store.hasOpenTurn) return core.store.turn().id === runId
  return listMessages(core, { limit: 1 }).data[0]?.run_id === runId
}

/** How a run ended; undefined while it has not. */
export function endOf(core: Session, runId: string): RunEnded | undefined {
  const current = core.store.current()
  const turn = current?.id === runId ? current : core.journal.turnOfRun(runId)
  if (turn?.stage.at !== 'done') return undefined
  return createRunEnded(
    turn,
    core.journal.entriesOfRun(runId).map(({ message }) => message),
  )
}

/** The events of a run so far. Where they are lost, what is known of a run that is over: its answer and its end. */
export function eventsOf(core: Session, runId: string): SessionEvent[] {
  const logged = core.store.eventsOfRun(runId)
  const end = logged.length ? undefined : endOf(core, runId)
  if (!end) return logged
  const where = { seq: core.store.lastEventSeq(), at: clock.now(), runId, sessionId: core.sessionId }
  return [toPlacedEvent({ type: 'message.delta', delta: end.output }, where), toPlacedEvent(end, where)]
}

/** What a listener has missed, or a piece of it. */
export type EventPage = {
  /** Server-sent events. */
  readonly text: string
  /** seq of the last event; the next page begins behind it. */
  readonly through: number
  readonly isLast: boolean
}

/** Characters of a page; its last event may go beyond them. */
const pageLength = 512 * 1024

export function eventsAfter({ store }: Session, after: number): EventPage {
  let text = ''
  let through = after
  for (const event of store.eventsSince(after)) {
    if (text.length >= pageLength) return { text, through, isLast: false }
    text += renderServerSentEvent(event)
    through = event.seq
  }
  return { text, through, isLast: true }
}

/** The run that an earlier try of a request joined, found by the run id that the request brings. */
export function joinedBefore(session: Session, requestId: string, eventsSince: number): Submitted | undefined {
  const event = firstWith(session.store.eventsSince(eventsSince), requestId)
  if (event) return { runId: event.run_id, status: 'joined' }
  const isWaiting = session.store.inbox().some((item) => item.requestId === requestId)
  return isWaiting ? { runId: session.store.turn().id, status: 'joined' } : undefined
}

function firstWith(events: Iterable<SessionEvent>, requestId: string): SessionEvent | undefined {
  for (const event of events) if ('request_id' in event && event.request_id === requestId) return event
  return undefined
}

/** Reads the parts of a run that its requests are answered with. */

import { argumentsOf, callsIn, textIn } from '#agent/core/message.ts'
import type { CallerRequestKind } from '#agent/core/pending-request.ts'
import type { RunEnded, SessionEvent } from '#agent/core/event.ts'
import type { Segment, Turn } from '#agent/core/turn.ts'
import { noUsage, type Usage, usageSince } from '#agent/core/usage.ts'
import { toPlacedEvent } from '#durable/storage/event-log.ts'
import type { RunPart } from '#durable/events/streams.ts'
import { renderWaitingText } from '#agent/public-api/waiting-text.ts'
import { isWaitingForCaller, personRequests } from '#durable/turn/pending-requests.ts'
import { endOf, eventsOf } from './read-session.ts'
import type { Session } from '../session.ts'

/** A call that the client has to run. `arguments` is JSON. */
export type ClientCall = { readonly id: string; readonly name: string; readonly arguments: string }

/** A part of a run that has ended. */
export type SegmentView = {
  readonly runId: string
  readonly index: number
  /** The text of its last message. */
  readonly output: string
  readonly calls: readonly ClientCall[]
  /** Empty when the part ended with the run. */
  readonly waitsFor: readonly CallerRequestKind[]
  /** The usage of this part alone. */
  readonly usage: Usage
  /** The end of the run, when the part ended with it. */
  readonly end?: RunEnded
  /** The text that says what the run waits for, and how to answer. */
  readonly notice?: string
}

export function turnOf(session: Session, runId: string): Turn | undefined {
  const current = session.store.current()
  return current?.id === runId ? current : session.journal.turnOfRun(runId)
}

/** Undefined while the part goes on, and when the run has no such part. */
export function segmentOf(session: Session, { runId, segment: index = 0 }: RunPart): SegmentView | undefined {
  const turn = turnOf(session, runId)
  const { segments = [] } = turn ?? {}
  const usage = (total: Usage) => usageSince(total, segments[index - 1]?.usage)
  const segment = segments[index]
  // A part may end where it began: the answer so far belongs to the part before it.
  if (segment?.messageSeq === segments[index - 1]?.messageSeq && segment)
    return { runId, index, output: '', calls: [], waitsFor: segment.waitsFor, usage: usage(segment.usage) }
  if (segment) return { ...viewOf(session, runId, segment), index, usage: usage(segment.usage) }
  const end = index === segments.length ? endOf(session, runId) : undefined
  return end && { runId, index, output: end.output, calls: [], waitsFor: [], usage: usage(end.usage), end }
}

function viewOf(session: Session, runId: string, { messageSeq, callIds, waitsFor }: Segment) {
  const entries = session.journal.rowsOfRun(runId, messageSeq).flatMap((row) => row.entries)
  const message = entries.find(({ seq }) => seq === messageSeq)?.message
  const calls = message?.role === 'assistant' ? callsIn(message) : []
  return {
    runId,
    output: message ? textIn(message) : '',
    calls: calls
      .filter(({ id, owner }) => owner === 'client' && callIds.includes(id))
      .map((call) => ({ id: call.id, name: call.name, arguments: argumentsOf(call) })),
    waitsFor,
  }
}

/** The last part of the open turn, when that waits for its caller and another run has to wait for it. */
export function blockingPart(session: Session, { runId }: RunPart): SegmentView | undefined {
  const turn = session.store.current()
  if (!turn || turn.id === runId || !isWaitingForCaller(turn.stage)) return undefined
  const last = segmentOf(session, { runId: turn.id, segment: (turn.segments?.length ?? 0) - 1 })
  return last && { ...last, output: '', calls: [], usage: noUsage }
}

/** The events of a part so far; without a number those of the whole run. */
export function eventsOfPart(session: Session, { runId, segment }: RunPart): SessionEvent[] {
  if (segment === undefined) return eventsOf(session, runId)
  const before = turnOf(session, runId)?.segments?.[segment - 1]
  const events = before ? session.store.eventsOfRun(runId, before.messageSeq) : eventsOf(session, runId)
  const isEndOf = (n: number) => (event: SessionEvent) => event.type === 'run.waiting' && event.segment === n
  const from = events.findIndex(isEndOf(segment - 1)) + 1
  const to = events.findIndex(isEndOf(segment)) + 1
  return events.slice(from, to || undefined)
}

/** Describes what the open turn waits for, and how its caller answers. */
export function describeWaiting(session: Session, { runId }: RunPart, mayApprove: boolean): string {
  const pending = personRequests(session)
  const isQueued = session.store.queued().some(({ item }) => item.runId === runId)
  if (isQueued && !pending.length) return `${queuedText} It waits for results of tools of its client.`
  const text = pending.length
    ? renderWaitingText(pending, mayApprove)
    : 'This waited for an answer, which was given since.'
  return isQueued ? `${queuedText}\n\n${text}` : text
}

const queuedText = 'Your message is queued behind a run that waits for something else.'

/** The event that ended the last part of the open turn, while it waits for its caller. */
export function waitingEvent(session: Session): SessionEvent | undefined {
  const { store, sessionId } = session
  const turn = store.current()
  const segment = (turn?.segments?.length ?? 0) - 1
  const last = turn?.segments?.[segment]
  if (!turn || !last) return undefined
  const position = { seq: store.lastEventSeq(), at: last.endedAt, runId: turn.id, sessionId }
  return toPlacedEvent({ type: 'run.waiting', segment, waits_for: last.waitsFor, usage: last.usage }, position)
}

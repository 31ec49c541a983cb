/**
 * The event log, as it is stored: deltas as lengths of the text they were cut from, everything else as
 * it was sent. A replay gives the same events with the same numbers, without a row of their own.
 */

import type { Entry } from '../../agent/model/history.ts'
import type { Event, PlacedEvent, PublicEvent } from '../../agent/model/event.ts'
import { textIn, thinkingIn } from '../../agent/model/message.ts'

/** [seq, milliseconds, event] or [seq, milliseconds, kind, characters, seq of the message or 0 while it is open]. */
export type LoggedEvent =
  | readonly [seq: number, at: number, event: Event]
  | [seq: number, at: number, kind: 'm' | 'r', length: number, message: number]

export const isDelta = (logged: LoggedEvent): logged is Extract<LoggedEvent, { length: 5 }> => logged.length === 5

let second = { of: -1, text: '' }

/** ISO 8601. Events come many to a second, and making the text from a date costs more than the rest of an event. */
function isoOf(ms: number): string {
  const of = Math.floor(ms / 1_000)
  if (second.of !== of) second = { of, text: new Date(of * 1_000).toISOString().slice(0, -4) }
  return `${second.text}${String(ms - of * 1_000).padStart(3, '0')}Z`
}

/** `at` is milliseconds since 1970. */
export type Place = {
  readonly seq: number
  readonly at: number
  readonly runId: string
  readonly sessionId: string
}

/** The event as listeners get it. */
export function place(event: Event, where: Place): PlacedEvent {
  const { seq, at, runId, sessionId } = where
  return { ...publicForm(event, where), seq, at: isoOf(at), run_id: runId, session_id: sessionId }
}

/** With times as text, and with the ids by which the API takes an answer. */
function publicForm(event: Event, { sessionId, runId }: Place): PublicEvent {
  switch (event.type) {
    case 'question.request':
    case 'question.answered':
      return { ...event, question_id: askedId(sessionId, runId, event.question_id) }
    case 'approval.request': {
      const created = new Date(event.created_at).toISOString()
      return { ...event, approval_id: askedId(sessionId, runId, event.approval_id), created_at: created }
    }
    case 'approval.responded':
      return { ...event, approval_id: askedId(sessionId, runId, event.approval_id) }
    case 'status': {
      const { until, ...status } = event
      return until === undefined ? status : { ...status, until: new Date(until).toISOString() }
    }
    default:
      return event
  }
}

/** A piece of the answer (`m`) or of the thinking (`r`). */
export const deltaOf = (kind: 'm' | 'r', delta: string): Event => ({
  type: kind === 'm' ? 'message.delta' : 'reasoning.delta',
  delta,
})

/** Ids of calls come again in later replies: what a person is asked is named by the reply, too, that asks it. */
export const stepped = (step: number, callId: string): string => `${step}.${callId}`

/** The event as it is kept, of the reply whose message has the number `step`. */
export function ofStep(event: Event, step: number): Event {
  if ('question_id' in event) return { ...event, question_id: stepped(step, event.question_id) }
  if ('approval_id' in event) return { ...event, approval_id: stepped(step, event.approval_id) }
  return event
}

/** Questions and approvals are answered by an id that names the session too: one request finds both. */
export const askedId = (sessionId: string, runId: string, asked: string): string => `${sessionId}.${runId}.${asked}`

/** The events of one row again. `open` is the text of an answer that is still being given. */
export function replay(
  row: { readonly runId: string; readonly events: readonly LoggedEvent[]; readonly entries: readonly Entry[] },
  sessionId: string,
  open: { readonly text: string; readonly thinking: string },
): PlacedEvent[] {
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
    const where = { seq: logged[0], at: logged[1], runId: row.runId, sessionId }
    if (!isDelta(logged)) return place(logged[2], where)
    const key = `${logged[2]}${logged[4]}`
    const from = offsets.get(key) ?? 0
    offsets.set(key, from + logged[3])
    return place(deltaOf(logged[2], (sources.get(key) ?? '').slice(from, from + logged[3])), where)
  })
}

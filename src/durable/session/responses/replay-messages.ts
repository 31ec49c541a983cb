/** Restores the events of a run from its messages, for a run whose events are not in this object: it was copied, or its session was rebuilt. */

import type { Event } from '#agent/core/event.ts'
import type { Entry } from '#agent/core/history.ts'
import { type AssistantMessage, callsIn, textIn, type ToolMessage } from '#agent/core/message.ts'
import type { Segment } from '#agent/core/turn.ts'

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
    const { id, name, input, raw, owner } = part
    return owner === 'client'
      ? { type: 'client_call.request', call_id: id, tool: name, input: raw ?? JSON.stringify(input), step }
      : { type: 'tool.started', call_id: id, tool: name, input, step }
  })

function completed(message: ToolMessage, step: number, isOfClient: boolean): Event {
  const { callId: call_id, name: tool, failed } = message
  const fields = { call_id, tool, failed, preview: textIn(message).slice(0, 200), step }
  return isOfClient
    ? { type: 'client_call.completed', ...fields }
    : { type: 'tool.completed', ...fields, duration_ms: 0 }
}

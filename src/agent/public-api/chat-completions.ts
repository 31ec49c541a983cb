/** Events of a run as an OpenAI chat completion, whole or in chunks; tools show as `hermes.tool.progress`. */

import { isEnd, type PlacedEvent, type RunEnded } from '../model/event.ts'
import { openaiUsage } from './usage.ts'

export type ChatHead = { readonly id: string; readonly created: number; readonly model: string }

/** What a client reads as the reason for the end. */
export function finishReason({ type, exit_reason }: RunEnded): string {
  if (exit_reason === 'out_of_budget') return 'length'
  if (exit_reason === 'failed_refused') return 'content_filter'
  return type === 'run.failed' ? 'error' : 'stop'
}

/** Renders one event as server-sent text, or nothing. The first chunk has the role: some clients go by it for all. */
export function chatChunks(head: ChatHead, withUsage: boolean): (event: PlacedEvent) => string {
  let started = false
  const chunk = (delta: object, finish: string | null, more: object = {}) =>
    `data: ${JSON.stringify({
      id: head.id,
      object: 'chat.completion.chunk',
      created: head.created,
      model: head.model,
      choices: [{ index: 0, delta, finish_reason: finish }],
      ...more,
    })}\n\n`
  const role = () => {
    if (started) return {}
    started = true
    return { role: 'assistant' }
  }
  const usageChunk = (event: RunEnded) =>
    withUsage
      ? `data: ${JSON.stringify({
          id: head.id,
          object: 'chat.completion.chunk',
          created: head.created,
          model: head.model,
          choices: [],
          usage: openaiUsage(event.usage),
        })}\n\n`
      : ''
  return (event) => {
    if (event.type === 'message.delta') return chunk({ ...role(), content: event.delta }, null)
    if (event.type === 'reasoning.delta') return chunk({ ...role(), reasoning_content: event.delta }, null)
    if (event.type === 'tool.started' || event.type === 'tool.completed')
      return `event: hermes.tool.progress\n${chunk(role(), null, progressOf(event))}`
    if (!isEnd(event)) return ''
    return `${chunk(role(), finishReason(event))}${usageChunk(event)}data: [DONE]\n\n`
  }
}

/** What a tool does, as an event of its own name that is still a chunk: SDKs take every event for one. */
function progressOf(event: Extract<PlacedEvent, { type: 'tool.started' | 'tool.completed' }>): object {
  const status = event.type === 'tool.started' ? 'running' : event.failed ? 'failed' : 'completed'
  return { tool: event.tool, call_id: event.call_id, status }
}

export const chatCompletion = (head: ChatHead, end: RunEnded): object => ({
  id: head.id,
  object: 'chat.completion',
  created: head.created,
  model: head.model,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: end.output, refusal: null },
      logprobs: null,
      finish_reason: finishReason(end),
    },
  ],
  usage: openaiUsage(end.usage),
})

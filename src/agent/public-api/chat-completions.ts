/** Renders the events of a run as an OpenAI chat completion, whole or in chunks. Tools appear as `hermes.tool.progress`. */

import { isRunEnd, type SessionEvent, type RunEnded } from '../model/event.ts'
import { toOpenAiUsage } from './usage.ts'

export type CompletionHead = { readonly id: string; readonly created: number; readonly model: string }

/** Maps the end of a run to OpenAI's `finish_reason`. */
export function resolveFinishReason({ type, exit_reason }: RunEnded): string {
  if (exit_reason === 'out_of_budget') return 'length'
  if (exit_reason === 'failed_refused') return 'content_filter'
  return type === 'run.failed' ? 'error' : 'stop'
}

/**
 * Creates a function that renders one event as server-sent text, or as an empty string. The first chunk carries the
 * role, because some clients take the role of all chunks from it.
 */
export function createChunkRenderer(head: CompletionHead, withUsage: boolean): (event: SessionEvent) => string {
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
          usage: toOpenAiUsage(event.usage),
        })}\n\n`
      : ''
  return (event) => {
    if (event.type === 'message.delta') return chunk({ ...role(), content: event.delta }, null)
    if (event.type === 'reasoning.delta') return chunk({ ...role(), reasoning_content: event.delta }, null)
    if (event.type === 'tool.started' || event.type === 'tool.progress' || event.type === 'tool.completed')
      return `event: hermes.tool.progress\n${chunk(role(), null, renderToolProgress(event))}`
    if (!isRunEnd(event)) return ''
    return `${chunk(role(), resolveFinishReason(event))}${usageChunk(event)}data: [DONE]\n\n`
  }
}

/** Renders the progress of a tool. It is added to a chunk, because SDKs parse every event as a chunk. */
function renderToolProgress(event: ToolEvent): object {
  const { tool, call_id } = event
  if (event.type === 'tool.completed') return { tool, call_id, status: event.failed ? 'failed' : 'completed' }
  return { tool, call_id, status: 'running', ...(event.type === 'tool.progress' && { output: event.delta }) }
}

type ToolEvent = Extract<SessionEvent, { type: 'tool.started' | 'tool.progress' | 'tool.completed' }>

export const renderChatCompletion = (head: CompletionHead, end: RunEnded): object => ({
  id: head.id,
  object: 'chat.completion',
  created: head.created,
  model: head.model,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: end.output, refusal: null },
      logprobs: null,
      finish_reason: resolveFinishReason(end),
    },
  ],
  usage: toOpenAiUsage(end.usage),
})

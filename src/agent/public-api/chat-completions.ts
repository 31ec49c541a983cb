/** Renders the events of a run as an OpenAI chat completion, whole or in chunks. Tools appear as `hermes.tool.progress`. */

import { isRunEnd, type SessionEvent, type RunEnded } from '#agent/core/event.ts'
import { type Usage, usageSince } from '#agent/core/usage.ts'
import { renderFailureBody, toRunFailure } from './run-failure.ts'
import { toOpenAiUsage } from './usage.ts'

export type CompletionHead = { readonly id: string; readonly created: number; readonly model: string }

/** Maps the end of a run that did not fail to OpenAI's `finish_reason`. */
export function resolveFinishReason({ exit_reason }: RunEnded): 'stop' | 'length' | 'content_filter' {
  if (exit_reason === 'out_of_budget' || exit_reason === 'partial') return 'length'
  return exit_reason === 'failed_refused' ? 'content_filter' : 'stop'
}

/** The parts of the session that the renderer reads. */
export type CompletionSource = {
  /** The usage of the run before this part of it. */
  readonly usageBefore: () => Usage | undefined
  /** The text that says what the run waits for, and how to answer. */
  readonly describeWaiting: () => string
}

/**
 * Creates a function that renders one event as server-sent text, or as an empty string. The first chunk carries the
 * role, because some clients take the role of all chunks from it.
 */
export function createChunkRenderer(
  head: CompletionHead,
  source: CompletionSource,
  withUsage: boolean,
): (event: SessionEvent) => string {
  let started = false
  let hasText = false
  let clientCalls = 0
  const render = (fields: object) => renderChunk(head, fields)
  const chunk = (delta: object, finish: string | null, more: object = {}) =>
    render({ choices: [{ index: 0, delta, finish_reason: finish }], ...more })
  const role = () => {
    if (started) return {}
    started = true
    return { role: 'assistant' }
  }
  const end = ({ usage }: { readonly usage: Usage }) => {
    const used = withUsage && { choices: [], usage: toOpenAiUsage(usageSince(usage, source.usageBefore())) }
    return `${used ? render(used) : ''}data: [DONE]\n\n`
  }
  const callChunks = ({ call_id: id, tool: name, input }: ClientCallEvent) => {
    const index = clientCalls++
    const begun = { index, id, type: 'function', function: { name, arguments: '' } }
    return (
      chunk({ ...role(), ...(index === 0 && { content: null }), tool_calls: [begun] }, null) +
      chunk({ tool_calls: [{ index, function: { arguments: input } }] }, null)
    )
  }
  const waitingChunks = (event: WaitingEvent) => {
    const content = clientCalls ? '' : source.describeWaiting()
    const text = content && chunk({ ...role(), content: hasText ? `\n\n${content}` : content }, null)
    return `${text}${chunk(role(), clientCalls ? 'tool_calls' : 'stop')}${end(event)}`
  }
  return (event) => {
    switch (event.type) {
      case 'message.delta':
        hasText = true
        return chunk({ ...role(), content: event.delta }, null)
      case 'reasoning.delta':
        return chunk({ ...role(), reasoning_content: event.delta }, null)
      case 'tool.started':
      case 'tool.progress':
      case 'tool.completed':
        return `event: hermes.tool.progress\n${chunk(role(), null, renderToolProgress(event))}`
      case 'client_call.request':
        return callChunks(event)
      case 'run.waiting':
        return waitingChunks(event)
    }
    if (!isRunEnd(event)) return ''
    const failure = toRunFailure(event)
    // SDKs throw the error of such a frame.
    if (failure) return `data: ${JSON.stringify(renderFailureBody(failure))}\n\n${end(event)}`
    return `${chunk(role(), resolveFinishReason(event))}${end(event)}`
  }
}

const renderChunk = ({ id, created, model }: CompletionHead, fields: object): string =>
  `data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model, ...fields })}\n\n`

type ClientCallEvent = Extract<SessionEvent, { type: 'client_call.request' }>
type WaitingEvent = Extract<SessionEvent, { type: 'run.waiting' }>

/** Renders the progress of a tool. It is added to a chunk, because SDKs parse every event as a chunk. */
function renderToolProgress(event: ToolEvent): object {
  const { tool, call_id } = event
  if (event.type === 'tool.completed') return { tool, call_id, status: event.failed ? 'failed' : 'completed' }
  return { tool, call_id, status: 'running', ...(event.type === 'tool.progress' && { output: event.delta }) }
}

type ToolEvent = Extract<SessionEvent, { type: 'tool.started' | 'tool.progress' | 'tool.completed' }>

/** A part of a run that has ended, because the run has ended or waits for its caller. */
export type CompletedPart = {
  readonly output: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly usage: Usage
  readonly end?: RunEnded
  /** The text that says what the run waits for, and how to answer. */
  readonly notice?: string
}

export function renderChatCompletion(head: CompletionHead, part: CompletedPart): object {
  const { output, calls, usage, end, notice } = part
  const tool_calls = calls.map(({ id, name, arguments: json }) => ({
    id,
    type: 'function',
    function: { name, arguments: json },
  }))
  const content = [output, calls.length ? '' : notice].filter(Boolean).join('\n\n')
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: calls.length ? content || null : content,
          refusal: null,
          ...(calls.length && { tool_calls }),
        },
        logprobs: null,
        finish_reason: calls.length ? 'tool_calls' : end ? resolveFinishReason(end) : 'stop',
      },
    ],
    usage: toOpenAiUsage(usage),
  }
}

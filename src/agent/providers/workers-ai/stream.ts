/**
 * Parses the stream of the `AI` binding. Newer models send chunks of chat completions. Older models have a native format:
 * text in `response`, complete calls in `tool_calls`, and often no finish reason.
 */

import { toText } from '../openai/chat-content.ts'
import type { ChatChunk } from '../openai/chat-stream.ts'
import { toProviderError } from './binding-error.ts'

type NativeToolCall = {
  readonly id?: string | null
  readonly name?: string | null
  readonly arguments?: unknown
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown }
}
type NativeChunk = {
  readonly response?: unknown
  readonly tool_calls?: readonly NativeToolCall[] | null
  readonly finish_reason?: string | null
  readonly usage?: ChatChunk['usage']
  readonly errors?: readonly { readonly message?: string; readonly code?: number }[]
}

/**
 * Creates the parser of one stream. `maxTokens`: the requested limit; a reply that reaches it is truncated.
 */
export function createChunkParser(maxTokens?: number): (data: string) => ChatChunk {
  let callCount = 0
  return (data) => {
    const parsed = JSON.parse(data) as ChatChunk & NativeChunk
    const error = parsed.error ?? parsed.errors?.[0]
    if (error) throw toProviderError(error)
    if (parsed.choices) return parsed
    const chunk = convertNativeChunk(parsed, callCount, maxTokens)
    callCount += parsed.tool_calls?.length ?? 0
    return chunk
  }
}

/** Converts a complete answer, which some models send although a stream was requested. */
export function toChatChunk(answer: unknown): ChatChunk {
  const parsed = (typeof answer === 'object' && answer !== null ? answer : { response: answer }) as ChatChunk &
    NativeChunk
  if (parsed.choices) return parsed
  const { choices, usage } = convertNativeChunk(parsed, 0)
  return { choices: (choices ?? []).map((choice) => ({ finish_reason: 'stop', ...choice })), ...(usage && { usage }) }
}

function convertNativeChunk(parsed: NativeChunk, previousCalls: number, maxTokens?: number): ChatChunk {
  const { response, tool_calls: calls, usage } = parsed
  const isTruncated = maxTokens !== undefined && (usage?.completion_tokens ?? 0) >= maxTokens
  const finishReason = parsed.finish_reason ?? (isTruncated ? 'length' : undefined)
  const delta = {
    content: toText(response),
    ...(calls?.length && { tool_calls: calls.map((call, at) => toCallFragment(call, previousCalls + at)) }),
  }
  return { choices: [{ delta, ...(finishReason && { finish_reason: finishReason }) }], ...(usage && { usage }) }
}

/** A native call is complete but often has no id. Its position in the reply becomes the id. */
function toCallFragment({ id, name, arguments: args, function: calledFunction }: NativeToolCall, index: number) {
  const json = calledFunction?.arguments ?? args ?? {}
  return {
    index,
    id: id || `call_${index + 1}`,
    function: {
      name: calledFunction?.name ?? name ?? '',
      arguments: typeof json === 'string' ? json : JSON.stringify(json),
    },
  }
}

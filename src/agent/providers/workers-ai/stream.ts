/**
 * Answers of the models behind the `AI` binding. Newer ones send chunks of chat completions, older ones their
 * own form: pieces under `response`, whole calls under `tool_calls`, and no word on why they ended.
 */

import { textOf } from '../openai/chat-content.ts'
import type { Chunk } from '../openai/chat-stream.ts'
import { workersAiFailure } from './binding-error.ts'

type NativeCall = {
  readonly id?: string | null
  readonly name?: string | null
  readonly arguments?: unknown
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown }
}
type Native = {
  readonly response?: unknown
  readonly tool_calls?: readonly NativeCall[] | null
  readonly finish_reason?: string | null
  readonly usage?: Chunk['usage']
  readonly errors?: readonly { readonly message?: string; readonly code?: number }[]
}

/** Reads one event after the other. `limit`: tokens that were asked for at most. */
export function chunkReader(limit?: number): (data: string) => Chunk {
  let calls = 0
  return (data) => {
    const said = JSON.parse(data) as Chunk & Native
    const failure = said.error ?? said.errors?.[0]
    if (failure) throw workersAiFailure(failure)
    if (said.choices) return said
    const chunk = chunkOf(said, calls, limit)
    calls += said.tool_calls?.length ?? 0
    return chunk
  }
}

/** An answer that came in one piece although a stream was asked for. */
export function wholeAnswer(answer: unknown): Chunk {
  const said = (typeof answer === 'object' && answer !== null ? answer : { response: answer }) as Chunk & Native
  if (said.choices) return said
  const { choices, usage } = chunkOf(said, 0)
  return { choices: (choices ?? []).map((choice) => ({ finish_reason: 'stop', ...choice })), ...(usage && { usage }) }
}

function chunkOf(said: Native, before: number, limit?: number): Chunk {
  const { response, tool_calls: calls, usage } = said
  const isCut = limit !== undefined && (usage?.completion_tokens ?? 0) >= limit
  const finish = said.finish_reason ?? (isCut ? 'length' : undefined)
  const delta = {
    content: textOf(response),
    ...(calls?.length && { tool_calls: calls.map((call, at) => fragmentOf(call, before + at)) }),
  }
  return { choices: [{ delta, ...(finish && { finish_reason: finish }) }], ...(usage && { usage }) }
}

/** A call comes whole, often without an id: then its place in the answer is its id. */
function fragmentOf({ id, name, arguments: given, function: called }: NativeCall, index: number) {
  const json = called?.arguments ?? given ?? {}
  return {
    index,
    id: id || `call_${index + 1}`,
    function: {
      name: called?.name ?? name ?? '',
      arguments: typeof json === 'string' ? json : JSON.stringify(json),
    },
  }
}
